"""The orders that an implementation can declare, by name."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Protocol

from kvoffload.types import OffloadKey
from kvoffload_spec.order import Arc, Fifo, LfuAging, ListLru, S3Fifo, Slru


class Order(Protocol):
    """The model of an order: a value, and what it is after each call on a policy."""

    def insert(self, keys: Collection[OffloadKey], request: str) -> Order:
        """These keys are resident and pending."""

    def mark_evictable(self, *keys: OffloadKey) -> Order:
        """These keys have become idle, one after the other."""

    def mark_non_evictable(self, *keys: OffloadKey) -> Order:
        """These keys are pinned."""

    def touch(self, keys: Iterable[OffloadKey], request: str) -> Order:
        """These keys were used, the head of the prefix first."""

    def victims(self, n: int, protected: Collection[OffloadKey]) -> tuple[OffloadKey, ...]:
        """What ``evict(n, protected)`` has to choose, fewer than n if there are not as many."""

    def evict(self, *victims: OffloadKey, protected: Collection[OffloadKey]) -> Order:
        """These victims were evicted, by a call that protected these other keys."""

    def remove(self, *keys: OffloadKey) -> Order:
        """These keys were removed."""


ORDERS: dict[str, Callable[[int], Order]] = {
    "arc": Arc,
    "fifo": Fifo,
    "lfu": LfuAging,
    "lru": lambda capacity: ListLru(),
    "s3fifo": S3Fifo,
    "slru": Slru,
}
"""What an implementation may declare as its order: makes the model for a capacity in blocks."""


def start_order(name: str | None, capacity: int) -> Order | None:
    """The model of that order for a new, empty cache; ``None`` if no order is declared."""
    return None if name is None else ORDERS[name](capacity)
