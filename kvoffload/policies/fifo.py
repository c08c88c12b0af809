"""First in, first out: the baseline, for which it does not matter whether a block is used."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence, Set

from kvoffload.interface import CachePolicy
from kvoffload.policies.base import BlockStatus
from kvoffload.types import NO_REQUEST, OffloadKey, ReqContext


class FIFOCachePolicy(CachePolicy):
    """Evicts the blocks in the order in which they became ready, whether they were used since or not.

    FIFO, for batches of blocks that may be pinned:

    * A block enters at the end of the queue when it becomes idle for the first time. No touch moves it.
    * A block that is pinned keeps its place, and has it still when it becomes idle again.
    * Victims are the first idle unprotected blocks of the queue. A protected block before them keeps its place. A
      pinned one before them is passed over: it leaves the queue, and enters it anew at the end when it becomes idle.
    * A victim, and what is removed, leaves nothing behind.

    If a load put its blocks at the end, this would be list-LRU under another name, for a block is loaded whenever it is
    used. To give back a place that was passed over would be to sort, which no list does in O(1).

    So ``evict`` costs O(n + protected keys), and O(1) for each block that it passes over; the load that pins the block
    has paid for that, since it is passed over once. A refused one passes over nothing.

    Attributes:
        blocks: every resident block by key.
        evictable_blocks: the idle ones, in no order.
        queue: the blocks that have become ready and were not passed over since they were last idle, next victim first.
            An ``OrderedDict``, because a plain dict that is emptied from its head walks over the holes it leaves there.
    """

    def __init__(self, cache_capacity: int) -> None:
        super().__init__(cache_capacity)
        self.blocks: dict[OffloadKey, BlockStatus] = {}
        self.evictable_blocks: dict[OffloadKey, BlockStatus] = {}
        self.queue: OrderedDict[OffloadKey, None] = OrderedDict()

    def get(self, key: OffloadKey) -> BlockStatus | None:
        return self.blocks.get(key)

    def insert(self, key: OffloadKey, block: BlockStatus) -> None:
        self.blocks[key] = block
        if block.ref_cnt == 0:
            self.mark_evictable(key)

    def remove(self, key: OffloadKey) -> None:
        del self.blocks[key]
        self.evictable_blocks.pop(key, None)
        self.queue.pop(key, None)

    def touch(self, keys: Sequence[OffloadKey], req_context: ReqContext = NO_REQUEST) -> None:
        """Changes nothing."""

    def evict(self, n: int, protected: Set[OffloadKey]) -> list[tuple[OffloadKey, BlockStatus]] | None:
        self.check_eviction_count(n)
        if len(self.evictable_blocks) - sum(map(self.evictable_blocks.__contains__, protected)) < n:
            return None
        victims: list[tuple[OffloadKey, BlockStatus]] = []
        kept: list[OffloadKey] = []
        while len(victims) < n:
            key, _ = self.queue.popitem(last=False)
            if key not in self.evictable_blocks:  # pinned: passed over
                continue
            if key in protected:
                kept.append(key)
            else:
                victims.append((key, self.blocks.pop(key)))
                del self.evictable_blocks[key]
        for key in reversed(kept):
            self.queue[key] = None
            self.queue.move_to_end(key, last=False)
        return victims

    def clear(self) -> None:
        self.blocks.clear()
        self.evictable_blocks.clear()
        self.queue.clear()

    def mark_evictable(self, key: OffloadKey) -> None:
        self.evictable_blocks[key] = self.blocks[key]
        self.queue.setdefault(key)

    def mark_non_evictable(self, key: OffloadKey) -> None:
        self.evictable_blocks.pop(key, None)

    def __repr__(self) -> str:
        order = ", ".join(key.hex() for key in self.queue if key in self.evictable_blocks)
        return f"FIFOCachePolicy({len(self.blocks)} of {self.cache_capacity} blocks; idle, first in first: [{order}])"
