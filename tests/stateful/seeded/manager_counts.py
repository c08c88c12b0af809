"""Managers that lose, share or mix up blocks, miscount the idle ones or list the wrong ones."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kvoffload import (
    NO_REQUEST,
    BlockStatus,
    CPUOffloadingManager,
    LoadStoreSpec,
    OffloadKey,
    PrepareStoreOutput,
    ReqContext,
)
from kvoffload.block_pool import BlockPool
from tests.stateful.seeded.bug import SeamedManager, seeded
from tests.stateful.seeded.correct import FifoPolicy

# --- blocks ---


@seeded("slots-conserved", "hazard: duplicate new keys in one prepare_store")
class AllocatesForRepeats(SeamedManager):
    """A new key that is named twice takes two blocks, and one of them is lost."""

    def prepare_store(
        self, keys: Iterable[OffloadKey], req_context: ReqContext = NO_REQUEST
    ) -> PrepareStoreOutput | None:
        named = list(keys)
        output = super().prepare_store(named, req_context)
        if output is not None:
            surplus = sum(named.count(key) - 1 for key in output.keys_to_store)
            self._pool.allocate(min(surplus, self.num_free_blocks))
        return output


@seeded("slots-conserved", "vllm-project/vllm#42571")
class FreesVictimsTwice(CPUOffloadingManager):
    """The block of the last victim is put on the free list twice."""

    def _evict(self, n: int, protected: set[OffloadKey]) -> list[OffloadKey] | None:
        evicted_keys = super()._evict(n, protected)
        if evicted_keys:
            last = self._pool.allocate(1)
            self._pool.free(last + last)
        return evicted_keys


class PoolFromOne(BlockPool):
    """Blocks 1 to n."""

    def allocate(self, n: int) -> list[int]:
        return [block_id + 1 for block_id in super().allocate(n)]

    def free(self, block_ids: list[int]) -> None:
        super().free([block_id - 1 for block_id in block_ids])


@seeded("slots-conserved", "off by one")
class NumbersBlocksFromOne(CPUOffloadingManager):
    """The last block lies behind the end of the memory."""

    def __init__(self, num_blocks: int, **options: Any) -> None:
        super().__init__(num_blocks, **options)
        self._pool = PoolFromOne(num_blocks)


class PoolWithTwoEnds(BlockPool):
    """Takes blocks from one end of the free list and crosses them off at the other."""

    def allocate(self, n: int) -> list[int]:
        first = self._returned[:n]
        block_ids = super().allocate(n)
        return first if len(first) == n else block_ids


@seeded("slots-conserved", "sgl-project/sglang#13483")
class HandsOutTakenBlocks(CPUOffloadingManager):
    """A block is handed out that another key lies in."""

    def __init__(self, num_blocks: int, **options: Any) -> None:
        super().__init__(num_blocks, **options)
        self._pool = PoolWithTwoEnds(num_blocks)


@seeded("slots-stable", "built from the end")
class GivesBlocksBackwards(CPUOffloadingManager):
    """The blocks of a store come in the opposite order to its keys."""

    def prepare_store(
        self, keys: Iterable[OffloadKey], req_context: ReqContext = NO_REQUEST
    ) -> PrepareStoreOutput | None:
        output = super().prepare_store(keys, req_context)
        if output is not None:
            output.store_spec.block_ids.reverse()
        return output


@seeded("slots-stable", "order of slots for order of keys")
class LoadsInOrderOfSlots(CPUOffloadingManager):
    """The blocks of a load come sorted, as a copy engine likes them, and not as its keys."""

    def prepare_load(self, keys: Iterable[OffloadKey], req_context: ReqContext = NO_REQUEST) -> LoadStoreSpec:
        spec = super().prepare_load(keys, req_context)
        spec.block_ids.sort()
        return spec


@seeded("slots-stable", "set for list")
class LoadsEachBlockOnce(CPUOffloadingManager):
    """A key that is named twice has one block in the answer."""

    def prepare_load(self, keys: Iterable[OffloadKey], req_context: ReqContext = NO_REQUEST) -> LoadStoreSpec:
        spec = super().prepare_load(keys, req_context)
        return LoadStoreSpec(list(dict.fromkeys(spec.block_ids)), spec.transfer_id)


@seeded("slots-stable", "compaction without telling anybody")
class SwapsStoredBlocks(CPUOffloadingManager):
    """When a store completes, its first two blocks change places."""

    def complete_store(self, keys: Iterable[OffloadKey], *args: Any, **kwargs: Any) -> None:
        named = list(keys)
        super().complete_store(named, *args, **kwargs)
        blocks = [block for key in dict.fromkeys(named) if (block := self._policy.get(key)) and block.ref_cnt == 0]
        if len(blocks) >= 2:
            first, second = blocks[:2]
            first.block_id, second.block_id = second.block_id, first.block_id


# --- the counter ---


@seeded("counter-exact", "every pin for the first")
class CountsEveryPin(SeamedManager):
    """A second load of a block takes it off the counter once more."""

    def prepare_load(self, keys: Iterable[OffloadKey], req_context: ReqContext = NO_REQUEST) -> LoadStoreSpec:
        named = list(keys)
        spec = super().prepare_load(named, req_context)
        self._num_evictable_cache_blocks -= sum(self.ref_cnt(key) > 1 for key in set(named))
        return spec


@seeded("counter-exact", "every release for the last")
class CountsEveryRelease(CPUOffloadingManager):
    """A block counts as idle as soon as one of its loads completes."""

    def _unpin(self, blocks: dict[OffloadKey, BlockStatus]) -> None:
        super()._unpin(blocks)
        self._num_evictable_cache_blocks += sum(block.ref_cnt > 0 for block in blocks.values())


@seeded("counter-exact", "every key for the pending ones")
class CountsEveryKeyOfAStore(SeamedManager):
    """A completed store adds all keys that it names, those that were resident before it too."""

    def complete_store(
        self,
        keys: Iterable[OffloadKey],
        req_context: ReqContext = NO_REQUEST,
        success: bool = True,
        *,
        transfer_id: int | None = None,
    ) -> None:
        named = list(keys)
        resident = sum(self.ref_cnt(key) >= 0 for key in set(named))
        super().complete_store(named, req_context, success, transfer_id=transfer_id)
        self._num_evictable_cache_blocks += resident if success else 0


@seeded("counter-exact", "kvcache-ai/Mooncake#2286")
class ForgetsToCountVictims(CPUOffloadingManager):
    """An eviction does not lower the counter."""

    def _evict(self, n: int, protected: set[OffloadKey]) -> list[OffloadKey] | None:
        evicted_keys = super()._evict(n, protected)
        self._num_evictable_cache_blocks += len(evicted_keys or ())
        return evicted_keys


@seeded("counter-exact", "counted before the outcome is known")
class CountsFailedStores(SeamedManager):
    """A store that completes raises the counter, failed or not."""

    def complete_store(
        self,
        keys: Iterable[OffloadKey],
        req_context: ReqContext = NO_REQUEST,
        success: bool = True,
        *,
        transfer_id: int | None = None,
    ) -> None:
        num_free = self.num_free_blocks
        super().complete_store(keys, req_context, success, transfer_id=transfer_id)
        self._num_evictable_cache_blocks += self.num_free_blocks - num_free


# --- the list ---


@seeded("list-exact", "every release for the last")
class ListsStillPinnedBlocks(CPUOffloadingManager):
    """A block is listed as soon as one of its loads completes."""

    def _unpin(self, blocks: dict[OffloadKey, BlockStatus]) -> None:
        super()._unpin(blocks)
        for key, block in blocks.items():
            if block.ref_cnt > 0:
                self._policy.mark_evictable(key)


@seeded("list-exact", "LMCache/LMCache#1130")
class ForgetsToListReleasedBlocks(CPUOffloadingManager):
    """A block that was loaded counts as idle again, but the policy is not told."""

    def _unpin(self, blocks: dict[OffloadKey, BlockStatus]) -> None:
        super()._unpin(blocks)
        for key in blocks:
            self._policy.mark_non_evictable(key)


@seeded("list-exact", "hook called too early")
class ListsReservedBlocks(CPUOffloadingManager):
    """The policy is told that blocks are evictable when they are reserved."""

    def _insert(self, new_keys: list[OffloadKey], req_context: ReqContext) -> list[int]:
        block_ids = super()._insert(new_keys, req_context)
        for key in new_keys:
            self._policy.mark_evictable(key)
        return block_ids


@seeded("list-exact", "hook called twice", order=None)
class ListsReleasedBlocksTwice(CPUOffloadingManager):
    """The policy is told twice that a block is idle again, and its list is a plain one."""

    def __init__(self, num_blocks: int, **options: Any) -> None:
        super().__init__(num_blocks, FifoPolicy, **options)

    def _unpin(self, blocks: dict[OffloadKey, BlockStatus]) -> None:
        super()._unpin(blocks)
        for key, block in blocks.items():
            if block.ref_cnt == 0:
                self._policy.mark_evictable(key)
