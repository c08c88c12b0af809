"""Full managers, fresh keys, and the policy that everything is compared with."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence, Set
from hashlib import blake2b

from kvoffload import (
    NO_REQUEST,
    BlockStatus,
    CachePolicy,
    CPUOffloadingManager,
    LRUCachePolicy,
    OffloadKey,
    ReqContext,
    make_offload_key,
)

BATCH = 64
"""How many blocks one call names."""


def fresh_keys(first: int, num_keys: int) -> list[OffloadKey]:
    """The keys of blocks ``first`` onwards as new objects, whose hashes are not cached: a scheduler makes such keys."""
    return [
        make_offload_key(blake2b(index.to_bytes(8, "big"), digest_size=32).digest(), 0)
        for index in range(first, first + num_keys)
    ]


def _batches(num_keys: int) -> Iterator[list[OffloadKey]]:
    for first in range(0, num_keys, BATCH):
        yield fresh_keys(first, min(BATCH, num_keys - first))


class FullTier:
    """A manager without a free block, and the next blocks to store.

    Block 0 was stored first, so that the blocks nearest the victim end have the lowest indices.

    Args:
        num_blocks: the capacity.
        policy: makes the policy.
        num_pinned: how many blocks loads read, those nearest the victim end.
    """

    def __init__(
        self, num_blocks: int, policy: Callable[[int], CachePolicy] = LRUCachePolicy, num_pinned: int = 0
    ) -> None:
        self.manager = CPUOffloadingManager(num_blocks, policy)
        self.num_blocks = num_blocks
        self.next_index = num_blocks
        for keys in _batches(num_blocks):
            self.manager.prepare_store(keys)
            self.manager.complete_store(keys)
        for keys in _batches(num_pinned):
            self.manager.prepare_load(keys)

    def new_keys(self) -> list[OffloadKey]:
        """The keys of the next blocks, which were never stored."""
        self.next_index += BATCH
        return fresh_keys(self.next_index - BATCH, BATCH)


class WalkingLRU(CachePolicy):
    """Evicts the least recent idle blocks, walking over every busy one on its way.

    The comparison: one list of all blocks in order of use, and no list of the idle ones.
    """

    def __init__(self, cache_capacity: int) -> None:
        super().__init__(cache_capacity)
        self.blocks: OrderedDict[OffloadKey, BlockStatus] = OrderedDict()

    def get(self, key: OffloadKey) -> BlockStatus | None:
        return self.blocks.get(key)

    def insert(self, key: OffloadKey, block: BlockStatus) -> None:
        self.blocks[key] = block

    def remove(self, key: OffloadKey) -> None:
        del self.blocks[key]

    def touch(self, keys: Sequence[OffloadKey], req_context: ReqContext = NO_REQUEST) -> None:
        for key in reversed(keys):
            if key in self.blocks:
                self.blocks.move_to_end(key)

    def evict(self, n: int, protected: Set[OffloadKey]) -> list[tuple[OffloadKey, BlockStatus]] | None:
        self.check_eviction_count(n)
        victims: list[tuple[OffloadKey, BlockStatus]] = []
        for key, block in self.blocks.items():
            if len(victims) == n:
                break
            if block.ref_cnt == 0 and key not in protected:
                victims.append((key, block))
        if len(victims) < n:
            return None
        for key, _ in victims:
            del self.blocks[key]
        return victims

    def clear(self) -> None:
        self.blocks.clear()
