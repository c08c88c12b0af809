"""The orders that an implementation can declare, by name."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from typing import Protocol

from kvoffload.types import OffloadKey
from kvoffload_spec.order import ORDERS, WITH_SHARE


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


def start_order(order: str | None, capacity: int) -> Order | None:
    """The model of a declared order for a new, empty cache; ``None`` if none is declared."""
    if order is None:
        return None
    name, _, share = order.partition(":")
    made: Order = ORDERS[name](capacity, float(share)) if share else ORDERS[name](capacity)
    return made


def check_order(order: str | None) -> None:
    """Refuse an order that cannot be declared.

    Raises:
        ValueError: if its name is unknown, or its share is none; the message lists the known names.
    """
    if order is None:
        return
    name, colon, share = order.partition(":")
    if name not in ORDERS:
        raise ValueError(f"order is {name!r}; known are {', '.join(ORDERS)}. Leave it out to have no order checked.")
    if colon and (name not in WITH_SHARE or not re.fullmatch(r"[01]|[01]?\.[0-9]+", share) or float(share) > 1):
        raise ValueError(
            f"order is {order!r}; a share goes with {' and '.join(WITH_SHARE)} only, from 0 to 1: slru:0.5."
        )


def order_clause(order: str | None) -> str:
    """The id of the clause about a declared order."""
    return f"order-{(order or '').partition(':')[0]}"
