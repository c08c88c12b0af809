"""The orders that an implementation can declare, by name."""

from __future__ import annotations

from typing import TypeAlias

from kvoffload.types import OffloadKey
from kvoffload_spec.order import ListLru

Order: TypeAlias = ListLru[OffloadKey]


def start_order(name: str | None, capacity: int) -> Order | None:
    """The model of that order for a new, empty cache; ``None`` if no order is declared.

    Raises:
        ValueError: if no order has that name.
    """
    if name is None:
        return None
    if name != "lru":
        raise ValueError(f"order is {name!r}; known are lru. Leave it out to have everything but the order checked.")
    return ListLru()
