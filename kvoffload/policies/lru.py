"""Least recently used, as a list of the idle blocks only."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence, Set
from itertools import filterfalse, islice

from kvoffload.interface import CachePolicy
from kvoffload.policies.base import BlockStatus
from kvoffload.types import NO_REQUEST, OffloadKey, ReqContext


class LRUCachePolicy(CachePolicy):
    """Evicts the blocks that have been idle and untouched for longest ("list-LRU").

    A block enters at the most recent end when it becomes idle, and moves there when it is touched while idle. Pending
    and pinned blocks are not in the list at all, so ``evict(n)`` looks at n entries and the protected ones it skips,
    whatever the number of blocks that are resident or pinned (the idea of vLLM PR 46216).

    Attributes:
        blocks: every resident block by key.
        evictable_blocks: the idle ones, least recent first. An ``OrderedDict``, because a plain dict that is emptied
            from its head walks over the holes it leaves there.
    """

    def __init__(self, cache_capacity: int) -> None:
        super().__init__(cache_capacity)
        self.blocks: dict[OffloadKey, BlockStatus] = {}
        self.evictable_blocks: OrderedDict[OffloadKey, BlockStatus] = OrderedDict()

    def get(self, key: OffloadKey) -> BlockStatus | None:
        return self.blocks.get(key)

    def insert(self, key: OffloadKey, block: BlockStatus) -> None:
        self.blocks[key] = block
        if block.ref_cnt == 0:
            self.evictable_blocks[key] = block

    def remove(self, key: OffloadKey) -> None:
        del self.blocks[key]
        self.evictable_blocks.pop(key, None)

    def touch(self, keys: Sequence[OffloadKey], req_context: ReqContext = NO_REQUEST) -> None:
        # Tail first: the head of a prefix ends up the most recent, since a tail is of no use without it.
        for key in reversed(keys):
            if key in self.evictable_blocks:
                self.evictable_blocks.move_to_end(key)

    def evict(self, n: int, protected: Set[OffloadKey]) -> list[tuple[OffloadKey, BlockStatus]] | None:
        self.check_eviction_count(n)
        unprotected = filterfalse(protected.__contains__, self.evictable_blocks)
        victims = [(key, self.blocks[key]) for key in islice(unprotected, n)]
        if len(victims) < n:
            return None
        for key, _ in victims:
            del self.evictable_blocks[key]
            del self.blocks[key]
        return victims

    def clear(self) -> None:
        self.blocks.clear()
        self.evictable_blocks.clear()

    def mark_evictable(self, key: OffloadKey) -> None:
        self.evictable_blocks[key] = self.blocks[key]

    def mark_non_evictable(self, key: OffloadKey) -> None:
        self.evictable_blocks.pop(key, None)

    def __repr__(self) -> str:
        order = ", ".join(key.hex() for key in self.evictable_blocks)
        return (
            f"LRUCachePolicy({len(self.blocks)} of {self.cache_capacity} blocks; idle, least recent first: [{order}])"
        )
