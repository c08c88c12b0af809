"""List-LRU: by when a key became idle or was last touched while idle."""

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

    def insert(self, keys: Iterable[K], request: str = "") -> ListLru[K]:
        """Pending keys are not in the queue."""
        return self

    def mark_evictable(self, *keys: K) -> ListLru[K]:
        """The keys, each named once, become the last to go, the last named last of all."""
        return ListLru(self.mark_non_evictable(*keys).queue + keys)

    def mark_non_evictable(self, *keys: K) -> ListLru[K]:
        """The keys are out of the queue."""
        gone = frozenset(keys)
        return ListLru(tuple(key for key in self.queue if key not in gone))

    def touch(self, keys: Iterable[K], request: str = "") -> ListLru[K]:
        """The idle ones become the last to go, the first named last of all."""
        idle = frozenset(self.queue)
        return self.mark_evictable(*(key for key in reversed(tuple(dict.fromkeys(keys))) if key in idle))

    def victims(self, n: int, protected: Collection[K]) -> tuple[K, ...]:
        """The next n that are not protected."""
        return tuple(key for key in self.queue if key not in protected)[:n]

    def evict(self, *victims: K, protected: Collection[K] = ()) -> ListLru[K]:
        """The victims are out of the queue."""
        return self.mark_non_evictable(*victims)

    def remove(self, *keys: K) -> ListLru[K]:
        """The keys are out of the queue."""
        return self.mark_non_evictable(*keys)
