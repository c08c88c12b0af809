"""What a manager shows of its inside, whatever it calls it. What it does not show is ``None``."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, Literal, NamedTuple

from kvoffload.contract.targets.drivers import FaultInPolicyError
from kvoffload.contract.targets.time_limit import CallHangsError, watched
from kvoffload.stats import OffloadingStats
from kvoffload.types import OffloadKey

COUNTERS = (
    "hits",
    "pending_hits",
    "misses",
    "blocks_offered",
    "blocks_skipped",
    "stores_refused",
    "blocks_stored",
    "blocks_failed",
    "blocks_loaded",
    "blocks_evicted",
    "stale_completions",
    "lookups",
)
"""The counters that statistics have to have, whatever the class of the counters has."""

GAUGES = ("num_blocks", "pending", "pinned", "idle", "free", "used", "used_write", "used_read")
EVICTABLE = ("num_evictable_cache_blocks", "_num_evictable_cache_blocks", "_num_evictable_cache_chunks")
FREE = ("num_free_blocks", "_get_num_free_blocks", "_get_num_free_chunks")


def has(it: Any, name: str) -> bool:
    """Whether it has such an attribute; one that cannot be read is there, and for a clause to judge."""
    try:
        return hasattr(it, name)
    except Exception:
        return True


class ShownBlock(NamedTuple):
    """What a block shows; all of it ``None`` if there is no block."""

    ref_cnt: int | None = None
    slot: int | None = None
    is_ready: bool | None = None


class ManagerView:
    """Reads a manager: its policy, its counter, its free blocks, its evictable list.

    Attributes:
        manager: the manager.
        counter: the name of its evictable counter, or ``None``.
        free: the name of what tells its free blocks, or ``None``.
    """

    def __init__(self, manager: Any) -> None:
        self.manager = manager
        self.counter = next((name for name in EVICTABLE if has(manager, name)), None)
        self.free = next((name for name in FREE if has(manager, name)), None)

    @property
    def policy(self) -> Any:
        """The manager's policy."""
        policy = getattr(self.manager, "_policy", None)
        return policy if callable(getattr(policy, "get", None)) and callable(getattr(policy, "evict", None)) else None

    def counts(self) -> dict[Literal["counter", "free"], Any]:
        """The evictable counter and the number of free blocks, as far as the manager shows them."""
        counts: dict[Literal["counter", "free"], Any] = {}
        if self.counter is not None:
            counts["counter"] = getattr(self.manager, self.counter)
        if self.free is not None:
            free = getattr(self.manager, self.free)
            if free is not None:
                counts["free"] = free() if callable(free) else free
        return counts

    def stats(self) -> dict[str, float | None]:
        """Every counter and gauge of ``get_stats``, by name; ``None`` for one that is missing.

        Nothing if the manager has no statistics of this form.
        """
        stats = self.manager.get_stats() if hasattr(self.manager, "get_stats") else None
        if not isinstance(stats, OffloadingStats):
            return {}
        counters = {name: getattr(stats.counters, name, None) for name in COUNTERS}
        return {**counters, **{name: getattr(stats, name, None) for name in GAUGES}}

    def evictable(self) -> list[OffloadKey] | None:
        """The keys in the policy's evictable list."""
        return shown_evictable(self.policy)

    def eviction_order(self, most: int) -> tuple[OffloadKey, ...] | None:
        """The idle keys in the order in which they would be evicted."""
        return None if self.policy is None else eviction_order(self.policy, most)

    def block(self, key: OffloadKey) -> ShownBlock:
        """What the key's block shows."""
        policy = self.policy
        block = None if policy is None else policy.get(key)
        if block is None:
            return ShownBlock()
        id, is_ready = getattr(block, "block_id", None), getattr(block, "is_ready", None)
        return ShownBlock(
            getattr(block, "ref_cnt", None),
            getattr(block, "chunk_id", None) if id is None else id,
            is_ready if isinstance(is_ready, bool) else None,
        )

    @contextmanager
    def counting(self, method: str) -> Iterator[list[None] | None]:
        """Count the calls of one of the policy's methods: the list grows by one for each.

        ``None`` if the policy cannot be watched.
        """
        calls: list[None] = []

        def counted(original: Any, *args: Any, **kwargs: Any) -> Any:
            calls.append(None)
            return original(*args, **kwargs)

        with _replaced(self.policy, method, counted) as is_watched:
            yield calls if is_watched else None

    @contextmanager
    def failing(self, method: str, nth: int, after: bool) -> Iterator[list[None]]:
        """Let the nth call of one of the policy's methods raise; the list is not empty once it has."""
        raised: list[None] = []
        num_calls = 0

        def failed(original: Any, *args: Any, **kwargs: Any) -> Any:
            nonlocal num_calls
            num_calls += 1
            if num_calls != nth + 1:
                return original(*args, **kwargs)
            if after:
                original(*args, **kwargs)
            raised.append(None)
            raise FaultInPolicyError(f"{method} raised")

        with _replaced(self.policy, method, failed):
            yield raised


@contextmanager
def _replaced(policy: Any, method: str, stand_in: Callable[..., Any]) -> Iterator[bool]:
    """Put a stand-in, which is handed the method first, in the place of a method of this one object.

    An object that takes attributes gets it as one of its own; another, as one with ``__slots__``, is of a subclass
    meanwhile. What is neither cannot be watched, and that is told.
    """
    original = getattr(policy, method, None)
    if original is None:
        yield True
        return
    called, kind = partial(stand_in, original), type(policy)
    if hasattr(policy, "__dict__"):
        own = vars(policy).get(method)
        setattr(policy, method, called)
        try:
            yield True
        finally:
            vars(policy).pop(method, None)
            if own is not None:
                setattr(policy, method, own)
        return
    try:
        policy.__class__ = type(kind.__name__, (kind,), {"__slots__": (), method: staticmethod(called)})
    except (TypeError, AttributeError):
        yield False
        return
    try:
        yield True
    finally:
        policy.__class__ = kind


def eviction_order(policy: Any, most: int) -> tuple[OffloadKey, ...] | None:
    """The idle keys in the order in which they would be evicted, found by emptying a copy of the policy.

    Returns:
        At most ``most`` keys; ``None`` if the policy cannot be copied or fails on the way.
    """
    drained: list[OffloadKey] = []

    def empty() -> None:
        emptied = copy.deepcopy(policy)
        while len(drained) < most and (victims := list(emptied.evict(1, set()) or ())):
            drained.extend(key for key, _ in victims)

    try:
        watched(empty)
    except (Exception, CallHangsError, SystemExit):
        return None
    return tuple(drained)


def shown_evictable(policy: Any) -> list[OffloadKey] | None:
    """The keys in the policy's evictable list, or ``None`` if it shows none."""
    shown: Iterable[OffloadKey] | None = getattr(policy, "evictable_blocks", None)
    return None if shown is None else list(shown)
