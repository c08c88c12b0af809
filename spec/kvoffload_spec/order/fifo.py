"""FIFO, for blocks that may be pinned: by when a key became idle for the first time."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

K = TypeVar("K")


@dataclass(frozen=True)
class Fifo(Generic[K]):
    """``order-fifo``: the keys that have been idle, in the order in which they became so for the first time.

    Attributes:
        capacity: in blocks; nothing depends on it.
        queue: these keys, next victim first; those that were passed over while pinned are not among them.
        idle: those of them that may be evicted.
    """

    capacity: int
    queue: tuple[K, ...] = ()
    idle: frozenset[K] = frozenset()

    def insert(self, keys: Collection[K], request: str = "") -> Fifo[K]:
        """Pending keys are not in the queue."""
        return self

    def mark_evictable(self, *keys: K) -> Fifo[K]:
        """A key that has a place keeps it; any other becomes the last to go, the last named last of all."""
        new = tuple(key for key in keys if key not in self.queue)
        return replace(self, queue=self.queue + new, idle=self.idle.union(keys))

    def mark_non_evictable(self, *keys: K) -> Fifo[K]:
        """The keys keep their place and may not be evicted."""
        return replace(self, idle=self.idle.difference(keys))

    def touch(self, keys: Iterable[K], request: str = "") -> Fifo[K]:
        """Nothing changes."""
        return self

    def victims(self, n: int, protected: Collection[K]) -> tuple[K, ...]:
        """The next n that are idle and not protected."""
        return tuple(key for key in self.queue if key in self.idle and key not in protected)[:n]

    def evict(self, *victims: K, protected: Collection[K] = ()) -> Fifo[K]:
        """The victims are out of the queue, and so is every pinned key that has its place before one of them."""
        searched = self.queue[: max((self.queue.index(victim) + 1 for victim in victims), default=0)]
        passed_over = tuple(key for key in searched if key not in self.idle)
        return self.remove(*victims, *passed_over)

    def remove(self, *keys: K) -> Fifo[K]:
        """The keys are out of the queue."""
        gone = frozenset(keys)
        return replace(self, queue=tuple(key for key in self.queue if key not in gone), idle=self.idle - gone)
