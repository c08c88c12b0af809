"""Policies that lose a block, or find one that is gone."""

from __future__ import annotations

from collections.abc import Set

from kvoffload import BlockStatus, LRUCachePolicy, OffloadKey
from tests.stateful.seeded.bug import seeded, seeded_in_manager


@seeded("get-agrees", "looks in the wrong table")
class FindsOnlyIdleBlocks(LRUCachePolicy):
    """``get`` looks in the evictable list, so that no pending or pinned block is found."""

    def get(self, key: OffloadKey) -> BlockStatus | None:
        return self.evictable_blocks.get(key)


@seeded("get-agrees", "forgotten table")
class FindsRemovedBlocks(LRUCachePolicy):
    """``remove`` takes the key off the list and leaves it in the table."""

    def remove(self, key: OffloadKey) -> None:
        self.evictable_blocks.pop(key, None)


@seeded("get-agrees", "identity for equality")
class ComparesKeysByIdentity(LRUCachePolicy):
    """A key is found only if it is the very object that was inserted."""

    def get(self, key: OffloadKey) -> BlockStatus | None:
        return next((block for held, block in self.blocks.items() if held is key), None)


@seeded("get-agrees", "copy for reference")
class CopiesBlocks(LRUCachePolicy):
    """``insert`` keeps a copy, which the manager's counts never reach."""

    def insert(self, key: OffloadKey, block: BlockStatus) -> None:
        super().insert(key, BlockStatus(block.block_id, block.ref_cnt))


@seeded("get-agrees", "vllm-project/vllm#53498")
class StampsWithoutInserting(LRUCachePolicy):
    """A block that comes in idle is put on the list and never into the table."""

    def insert(self, key: OffloadKey, block: BlockStatus) -> None:
        super().insert(key, block)
        if block.ref_cnt == 0:
            del self.blocks[key]


@seeded("get-agrees", "off by one")
class EvictsByItselfWhenFull(LRUCachePolicy):
    """``insert`` makes room for the next block as soon as the last one is taken, which nobody asked for."""

    def insert(self, key: OffloadKey, block: BlockStatus) -> None:
        super().insert(key, block)
        if len(self.blocks) >= self.cache_capacity:
            super().evict(1, {key})


@seeded("get-agrees", "early return")
class TurnsAwayWhatItEvicted(LRUCachePolicy):
    """A key that was evicted once is never taken in again."""

    def __init__(self, cache_capacity: int) -> None:
        super().__init__(cache_capacity)
        self.evicted: set[OffloadKey] = set()

    def insert(self, key: OffloadKey, block: BlockStatus) -> None:
        if key not in self.evicted:
            super().insert(key, block)

    def evict(self, n: int, protected: Set[OffloadKey]) -> list[tuple[OffloadKey, BlockStatus]] | None:
        victims = super().evict(n, protected)
        self.evicted.update(key for key, _ in victims or ())
        return victims

    def clear(self) -> None:
        super().clear()
        self.evicted.clear()


@seeded("clear-fresh", "forgotten list")
class ClearForgetsTheList(LRUCachePolicy):
    """``clear`` empties the table and leaves the idle keys on the list."""

    def clear(self) -> None:
        self.blocks.clear()


@seeded("clear-fresh", "LMCache/LMCache#4993")
class ClearDoesNothing(LRUCachePolicy):
    """``clear`` falls through to an empty default."""

    def clear(self) -> None:
        pass


@seeded("clear-fresh", "early return")
class ClearKeepsBusyBlocks(LRUCachePolicy):
    """``clear`` drops only what it could evict as well."""

    def clear(self) -> None:
        for key in list(self.evictable_blocks):
            self.remove(key)


@seeded_in_manager("reset-fresh", "forgotten adaptive state", order=None)
@seeded("clear-fresh", "forgotten adaptive state", order=None)
class ClearKeepsGhosts(LRUCachePolicy):
    """A key that comes back soon after its eviction is evicted last, and ``clear`` does not forget who left."""

    def __init__(self, cache_capacity: int) -> None:
        super().__init__(cache_capacity)
        self.ghosts: dict[OffloadKey, None] = {}

    def mark_evictable(self, key: OffloadKey) -> None:
        super().mark_evictable(key)
        self.evictable_blocks.move_to_end(key, last=key in self.ghosts)

    def evict(self, n: int, protected: Set[OffloadKey]) -> list[tuple[OffloadKey, BlockStatus]] | None:
        victims = super().evict(n, protected)
        for key, _ in victims or ():
            self.ghosts.pop(key, None)
            self.ghosts[key] = None
        while len(self.ghosts) > self.cache_capacity:
            del self.ghosts[next(iter(self.ghosts))]
        return victims
