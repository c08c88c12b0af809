"""The exact orders: which victims a policy that declares one has to choose, and in which sequence.

One file per order, each a frozen value with one method per policy call. Nothing is kept up by hand that could be
derived: what a policy maintains in lists and counters, an order works out anew.
"""

from collections.abc import Callable
from typing import Any

from kvoffload_spec.order.arc import Arc
from kvoffload_spec.order.fifo import Fifo
from kvoffload_spec.order.lfu import LfuAging
from kvoffload_spec.order.list_lru import ListLru
from kvoffload_spec.order.protocol import Order
from kvoffload_spec.order.s3fifo import S3Fifo
from kvoffload_spec.order.slru import Slru

__all__ = ["ORDERS", "WITH_SHARE", "Arc", "Fifo", "LfuAging", "ListLru", "Order", "S3Fifo", "Slru"]

ORDERS: dict[str, Callable[..., Any]] = {
    "arc": Arc,
    "fifo": Fifo,
    "lfu": LfuAging,
    "lru": lambda capacity: ListLru(),
    "s3fifo": S3Fifo,
    "slru": Slru,
}
"""Every order by its name: what makes it for a capacity in blocks, with a share after it for those that have one."""

WITH_SHARE = ("s3fifo", "slru")
"""The orders that take the share of the capacity that their first or protected segment may hold."""
