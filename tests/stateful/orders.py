"""The order that each policy of ours declares, as the specification's."""

from collections.abc import Callable

from kvoffload import OffloadKey
from kvoffload_spec.order import Arc, Fifo, LfuAging, ListLru, Order, S3Fifo, Slru

ORDERS: dict[str, Callable[[int], Order[OffloadKey]]] = {
    "arc": Arc,
    "fifo": Fifo,
    "lfu": LfuAging,
    "lru": lambda capacity: ListLru(),
    "s3fifo": S3Fifo,
    "slru": Slru,
}
