"""The orders that an implementation can declare, by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from kvoffload.types import OffloadKey
from kvoffload_spec.order import ListLru

Order: TypeAlias = ListLru[OffloadKey]

ORDERS: dict[str, Callable[[], Order]] = {"lru": ListLru}
"""What an implementation may declare as its order."""


def start_order(name: str | None, capacity: int) -> Order | None:
    """The model of that order for a new, empty cache; ``None`` if no order is declared."""
    return None if name is None else ORDERS[name]()
