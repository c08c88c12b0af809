"""What every order has in common: the calls on a policy that it follows, and the victims that it says."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Protocol, TypeVar

K = TypeVar("K")


class Order(Protocol[K]):
    """A frozen value; each method but ``victims`` gives the order after a call."""

    def insert(self, keys: Collection[K], request: str = "") -> Order[K]:
        """These keys are resident and pending, stored for this request."""

    def mark_evictable(self, *keys: K) -> Order[K]:
        """These keys have become idle, one after the other."""

    def mark_non_evictable(self, *keys: K) -> Order[K]:
        """These keys are pinned."""

    def touch(self, keys: Iterable[K], request: str = "") -> Order[K]:
        """These keys were used, the head of the prefix first."""

    def victims(self, n: int, protected: Collection[K]) -> tuple[K, ...]:
        """What ``evict(n, protected)`` has to choose, fewer than n if there are not as many."""

    def evict(self, *victims: K, protected: Collection[K] = ()) -> Order[K]:
        """These victims were evicted, by a call that protected these other keys."""

    def remove(self, *keys: K) -> Order[K]:
        """These keys were removed."""
