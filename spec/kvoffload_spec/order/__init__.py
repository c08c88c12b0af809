"""The exact orders: which victims a policy that declares one has to choose, and in which sequence.

One file per order, each a frozen value with one method per policy call. Nothing is kept up by hand that could be
derived: what a policy maintains in lists and counters, an order works out anew.
"""

from kvoffload_spec.order.arc import Arc
from kvoffload_spec.order.fifo import Fifo
from kvoffload_spec.order.lfu import LfuAging
from kvoffload_spec.order.list_lru import ListLru
from kvoffload_spec.order.protocol import Order
from kvoffload_spec.order.s3fifo import S3Fifo
from kvoffload_spec.order.slru import Slru

__all__ = ["Arc", "Fifo", "LfuAging", "ListLru", "Order", "S3Fifo", "Slru"]
