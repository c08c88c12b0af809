"""A whole eviction policy that keeps the contract and its declared order, list-LRU. It subclasses nothing of kvoffload.

$ kvoffload check good_policy:GoodPolicy --order lru --capability scales
KEPT: good_policy:GoodPolicy, policy contract 2, order lru: 15 clauses
...

Without ``scales`` its evictions may take any time, and ``evict-scales`` is not claimed.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Sequence
from itertools import islice

from kvoffload.contract import BlockStatus


class GoodPolicy:
    """Evicts the blocks that have been idle and untouched for longest."""

    def __init__(self, capacity: int) -> None:
        self.blocks: dict[bytes, BlockStatus] = {}
        self.evictable_blocks: OrderedDict[bytes, BlockStatus] = OrderedDict()  # the next victim first

    def get(self, key: bytes) -> BlockStatus | None:
        """The block under the key."""
        return self.blocks.get(key)

    def insert(self, key: bytes, block: BlockStatus) -> None:
        """The block is resident; it is idle already if nothing has to be written first."""
        self.blocks[key] = block
        if block.ref_cnt == 0:
            self.evictable_blocks[key] = block

    def remove(self, key: bytes) -> None:
        """The key has left without being a victim."""
        del self.blocks[key]
        self.evictable_blocks.pop(key, None)

    def touch(self, keys: Sequence[bytes]) -> None:
        """The keys were used; the head of a prefix ends up as the most recent."""
        for key in reversed(keys):
            if key in self.evictable_blocks:
                self.evictable_blocks.move_to_end(key)

    def mark_evictable(self, key: bytes) -> None:
        """The block has become idle."""
        self.evictable_blocks[key] = self.blocks[key]

    def mark_non_evictable(self, key: bytes) -> None:
        """A load has pinned the block."""
        self.evictable_blocks.pop(key, None)

    def evict(self, n: int, protected: Collection[bytes]) -> list[tuple[bytes, BlockStatus]] | None:
        """Exactly n victims; or ``None``, and then nothing has changed."""
        unprotected = (it for it in self.evictable_blocks.items() if it[0] not in protected)
        victims = list(islice(unprotected, n))
        if len(victims) < n:
            return None
        for key, _ in victims:
            self.remove(key)
        return victims

    def clear(self) -> None:
        """The policy is as new."""
        self.blocks.clear()
        self.evictable_blocks.clear()
