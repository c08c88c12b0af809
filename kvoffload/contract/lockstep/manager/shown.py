"""What a manager shows after a call, read for those who judge it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, Literal, NamedTuple

from kvoffload.contract.calls.operations import Lookup
from kvoffload.contract.lockstep.reading import read
from kvoffload.contract.targets.drivers import ManagerDriver
from kvoffload.contract.targets.view import ManagerView
from kvoffload.types import OffloadKey


class ShownKey(NamedTuple):
    """What a key is, and what its block shows as far as it does.

    Attributes:
        residency: as a lookup tells it; of a key that the policy shows, pending is told from missing in any case.
        ref_cnt: the block's count.
        slot: the block's id.
        is_ready: whether the block says of itself that it may be read.
    """

    residency: str
    ref_cnt: int | None = None
    slot: int | None = None
    is_ready: bool | None = None


class Shown:
    """Reads a manager through its view, or by lookups where it shows no policy; where it cannot, it is a ``ReadError``.

    Args:
        driver: makes the lookups.
    """

    def __init__(self, driver: ManagerDriver) -> None:
        self._driver = driver
        self.view = ManagerView(driver.manager)

    @property
    def has_policy(self) -> bool:
        """Whether the manager shows its policy."""
        return read(lambda: self.view.policy) is not None

    def key(self, key: OffloadKey) -> ShownKey:
        """What the key is now."""
        return read(self._key, key)

    def _key(self, key: OffloadKey) -> ShownKey:
        if self.view.policy is None:
            return ShownKey(str(self._driver.perform(Lookup(key)).value))
        ref_cnt, slot, is_ready = self.view.block(key)
        pending = ref_cnt is not None and ref_cnt < 0
        return ShownKey("MISS" if slot is None else "HIT_PENDING" if pending else "HIT", ref_cnt, slot, is_ready)

    def counts(self) -> dict[Literal["counter", "free"], Any]:
        """The evictable counter and the number of free blocks, as far as they are shown."""
        return read(self.view.counts)

    def stats(self) -> dict[str, float | None]:
        """Every counter and gauge, by name; ``None`` for one that is not there."""
        return read(self.view.stats)

    def evictable(self) -> list[OffloadKey] | None:
        """The keys in the policy's evictable list, in the order shown."""
        return read(self._evictable)

    def _evictable(self) -> list[OffloadKey] | None:
        evictable = self.view.evictable()
        sorted(set(evictable or ()))  # what is no key can be neither hashed nor compared
        return evictable

    def eviction_order(self, most: int) -> tuple[OffloadKey, ...] | None:
        """The idle keys in the order in which they would be evicted."""
        return read(self.view.eviction_order, most)

    @contextmanager
    def counting(self, method: str) -> Iterator[list[None] | None]:
        """Count the calls of one of the policy's methods; ``None`` if they cannot be watched."""
        with ExitStack() as stack:
            yield read(stack.enter_context, self.view.counting(method))

    @contextmanager
    def failing(self, method: str, nth: int, after: bool) -> Iterator[list[None]]:
        """Let the nth call of one of the policy's methods raise; the list is not empty once it has."""
        with ExitStack() as stack:
            yield read(stack.enter_context, self.view.failing(method, nth, after))
