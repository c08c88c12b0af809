"""The exact orders: which victims a policy that declares one has to choose, and in which sequence.

An order is a frozen value with one method per policy call. ``idle`` keys only are ever in it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

K = TypeVar("K")


@dataclass(frozen=True)
class ListLru(Generic[K]):
    """``order-lru``: the idle keys, in the order in which they became idle or were last touched while idle.

    Attributes:
        queue: the idle keys, next victim first.
    """

    queue: tuple[K, ...] = ()

    def mark_evictable(self, *keys: K) -> ListLru[K]:
        """The keys become the last to go, the last named last of all; an insert of an idle block does the same."""
        return ListLru(self.mark_non_evictable(*keys).queue + keys)

    def mark_non_evictable(self, *keys: K) -> ListLru[K]:
        """The keys are out of the queue: pinned, removed or evicted."""
        gone = frozenset(keys)
        return ListLru(tuple(key for key in self.queue if key not in gone))

    def touch(self, keys: Iterable[K]) -> ListLru[K]:
        """The idle ones become the last to go, the first named last of all."""
        idle = frozenset(self.queue)
        return self.mark_evictable(*(key for key in reversed(tuple(dict.fromkeys(keys))) if key in idle))

    def victims(self, n: int, protected: Collection[K]) -> tuple[K, ...]:
        """The next n that are not protected."""
        return tuple(key for key in self.queue if key not in protected)[:n]
