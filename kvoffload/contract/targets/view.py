"""What a manager shows of its inside, whatever it calls it. What it does not show is ``None``."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import fields
from typing import Any, Literal

from kvoffload.contract.targets.drivers import FaultInPolicyError
from kvoffload.contract.targets.time_limit import CallHangsError, watched
from kvoffload.stats import OffloadingCounters, OffloadingStats
from kvoffload.types import OffloadKey

GAUGES = ("num_blocks", "pending", "pinned", "idle", "free", "used", "used_write", "used_read")
COUNTERS = ("num_evictable_cache_blocks", "_num_evictable_cache_blocks", "_num_evictable_cache_chunks")
FREE = ("num_free_blocks", "_get_num_free_blocks", "_get_num_free_chunks")


def has(it: Any, name: str) -> bool:
    """Whether it has such an attribute; one that cannot be read is there, and for a clause to judge."""
    try:
        return hasattr(it, name)
    except Exception:
        return True


class ManagerView:
    """Reads a manager: its policy, its counter, its free blocks, its evictable list.

    Attributes:
        manager: the manager.
        counter: the name of its evictable counter, or ``None``.
        free: the name of what tells its free blocks, or ``None``.
    """

    def __init__(self, manager: Any) -> None:
        self.manager = manager
        self.counter = next((name for name in COUNTERS if has(manager, name)), None)
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

    def stats(self) -> dict[str, float]:
        """Every counter and gauge of ``get_stats``, by name, or nothing if the manager has no such statistics."""
        stats = self.manager.get_stats() if hasattr(self.manager, "get_stats") else None
        if not isinstance(stats, OffloadingStats):
            return {}
        counters = {counter.name: getattr(stats.counters, counter.name) for counter in fields(OffloadingCounters)}
        gauges = {name: getattr(stats, name) for name in GAUGES}
        return {**counters, "lookups": stats.counters.lookups, **gauges}

    def evictable(self) -> list[OffloadKey] | None:
        """The keys in the policy's evictable list."""
        return shown_evictable(self.policy)

    def eviction_order(self, most: int) -> tuple[OffloadKey, ...] | None:
        """The idle keys in the order in which they would be evicted."""
        return None if self.policy is None else eviction_order(self.policy, most)

    def block(self, key: OffloadKey) -> tuple[int | None, int | None]:
        """The key's ``ref_cnt`` and block id."""
        policy = self.policy
        block = None if policy is None else policy.get(key)
        if block is None:
            return None, None
        id = getattr(block, "block_id", None)
        return getattr(block, "ref_cnt", None), getattr(block, "chunk_id", None) if id is None else id

    @contextmanager
    def counting(self, method: str) -> Iterator[list[None]]:
        """Count the calls of one of the policy's methods: the list grows by one for each."""
        calls: list[None] = []
        original: Any = getattr(self.policy, method, None)

        def counted(*args: Any, **kwargs: Any) -> Any:
            calls.append(None)
            return original(*args, **kwargs)

        with _replaced(self.policy, method, counted if original is not None else None):
            yield calls

    @contextmanager
    def failing(self, method: str, nth: int, after: bool) -> Iterator[list[None]]:
        """Let the nth call of one of the policy's methods raise; the list is not empty once it has."""
        raised: list[None] = []
        original: Any = getattr(self.policy, method, None)
        num_calls = 0

        def failed(*args: Any, **kwargs: Any) -> Any:
            nonlocal num_calls
            num_calls += 1
            if num_calls != nth + 1:
                return original(*args, **kwargs)
            if after:
                original(*args, **kwargs)
            raised.append(None)
            raise FaultInPolicyError(f"{method} raised")

        with _replaced(self.policy, method, failed if original is not None else None):
            yield raised


@contextmanager
def _replaced(policy: Any, method: str, stand_in: Any) -> Iterator[None]:
    """Put a stand-in in the place of a method of this one object, if it takes attributes at all."""
    if stand_in is None or not hasattr(policy, "__dict__"):
        yield
        return
    own = vars(policy).get(method)
    setattr(policy, method, stand_in)
    try:
        yield
    finally:
        if own is None:
            delattr(policy, method)
        else:
            setattr(policy, method, own)


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
