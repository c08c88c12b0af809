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

    def mark_evictable(self, key: K) -> ListLru[K]:
        """The key becomes the last to go; an insert of an idle block does the same."""
        return ListLru((*self.mark_non_evictable(key).queue, key))

    def mark_non_evictable(self, *keys: K) -> ListLru[K]:
        """The keys are out of the queue: pinned, removed or evicted."""
        return ListLru(tuple(key for key in self.queue if key not in keys))

    def touch(self, keys: Iterable[K]) -> ListLru[K]:
        """The idle ones become the last to go, the first named last of all."""
        touched = tuple(key for key in reversed(tuple(dict.fromkeys(keys))) if key in self.queue)
        return ListLru(self.mark_non_evictable(*touched).queue + touched)

    def victims(self, n: int, protected: Collection[K]) -> tuple[K, ...]:
        """The next n that are not protected."""
        return tuple(key for key in self.queue if key not in protected)[:n]
