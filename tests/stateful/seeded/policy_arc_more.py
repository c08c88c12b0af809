"""More ARC policies: with the classic slips that a policy of one list cannot make."""

from __future__ import annotations

from collections.abc import Sequence, Set

from kvoffload import NO_REQUEST, ARCCachePolicy, BlockStatus, OffloadKey, ReqContext
from tests.stateful.seeded.bug import seeded, seeded_in_manager

Victims = list[tuple[OffloadKey, BlockStatus]]

# --- ghosts and the target ---


@seeded("order-arc", "wrong list", order="arc")
class SwapsGhosts(ARCCachePolicy):
    """The ghosts of one side are taken for those of the other."""

    def evict(self, n: int, protected: Set[OffloadKey]) -> Victims | None:
        self.b1, self.b2 = self.b2, self.b1
        victims = super().evict(n, protected)
        self.b1, self.b2 = self.b2, self.b1
        return victims


@seeded("order-arc", "wrong sign", order="arc")
class AdaptsTheWrongWay(ARCCachePolicy):
    """A ghost that is stored again moves the target away from its side."""

    def insert(self, key: OffloadKey, block: BlockStatus) -> None:
        before = self.target_t1_size
        super().insert(key, block)
        self.target_t1_size = max(0, min(self.cache_capacity, 2 * before - self.target_t1_size))


@seeded("order-arc", "off by one", order="arc")
class EvictsAtTheTarget(ARCCachePolicy):
    """``>=`` where ``>`` is meant: ``t1`` gives way when it has just the size it should have."""

    def evict(self, n: int, protected: Set[OffloadKey]) -> Victims | None:
        target = self.target_t1_size
        self.target_t1_size = max(0, target - 1)
        victims = super().evict(n, protected)
        self.target_t1_size = target
        return victims


@seeded("order-arc", "failure for eviction", order="arc")
class RemembersRemovedKeys(ARCCachePolicy):
    """A removed key leaves a ghost, as if it had been evicted."""

    def remove(self, key: OffloadKey) -> None:
        ghosts = self.b1 if key in self.t1 else self.b2
        super().remove(key)
        ghosts[key] = None


@seeded("touch-total", "[] for get()", order="arc")
class RaisesOnTouchedGhosts(ARCCachePolicy):
    """A touched ghost is looked for among the blocks."""

    def touch(self, keys: Sequence[OffloadKey], req_context: ReqContext = NO_REQUEST) -> None:
        for key in keys:
            if key in self.b1 or key in self.b2:
                raise KeyError(key)
        super().touch(keys, req_context)


@seeded("touch-total", "ghost hit taken for an insert", order="arc")
class RevivesTouchedGhosts(ARCCachePolicy):
    """A touched ghost is put among the blocks again, without one of its own."""

    def touch(self, keys: Sequence[OffloadKey], req_context: ReqContext = NO_REQUEST) -> None:
        super().touch(keys, req_context)
        for key in keys:
            if key in self.b1:
                self.blocks[key] = BlockStatus(0)


# --- two sides ---


@seeded("evict-atomic", "vllm-project/vllm#37874", order="arc")
class DropsOneSideBeforeItGivesUp(ARCCachePolicy):
    """What ``t1`` has to give is gone when ``t2`` turns out to have too little."""

    def evict(self, n: int, protected: Set[OffloadKey]) -> Victims | None:
        victims = super().evict(n, protected)
        if victims is None:
            super().evict(len(self.evictable_t1.keys() - protected), protected | self.t2.keys())
        return victims


# Where the new target does not change whom a copy evicts next, it shows later, in the order.
@seeded("evict-atomic", "a refusal that adapts, vllm-project/vllm 0.31 to 0.33", order="arc", also=("order-arc",))
class AdaptsBeforeItGivesUp(ARCCachePolicy):
    """An eviction that is refused moves the target all the same."""

    def evict(self, n: int, protected: Set[OffloadKey]) -> Victims | None:
        victims = super().evict(n, protected)
        if victims is None:
            self.target_t1_size = 0 if self.target_t1_size else self.cache_capacity
        return victims


@seeded("evict-protected", "one case of two", order="arc")
class ProtectsOneSideOnly(ARCCachePolicy):
    """Frequent blocks are taken from ``t2`` whether protected or not."""

    def evict(self, n: int, protected: Set[OffloadKey]) -> Victims | None:
        return super().evict(n, protected - self.t2.keys())


@seeded("evictable-exact", "one case of two", order="arc")
class KeepsPinnedFrequentBlocks(ARCCachePolicy):
    """``mark_non_evictable`` looks in one list only."""

    def mark_non_evictable(self, key: OffloadKey) -> None:
        self.evictable_t1.pop(key, None)


@seeded("touch-total", "forgotten test", order="arc")
class ListsPromotedBusyBlocks(ARCCachePolicy):
    """A block that moves to ``t2`` is listed there as idle, pinned or not."""

    def touch(self, keys: Sequence[OffloadKey], req_context: ReqContext = NO_REQUEST) -> None:
        super().touch(keys, req_context)
        for key in keys:
            if key in self.t2 and self.blocks[key].ref_cnt > 0:
                self.evictable_t2[key] = self.blocks[key]


@seeded("clear-fresh", "forgotten list", order="arc")
class ClearKeepsArcGhosts(ARCCachePolicy):
    """``clear`` empties both sides and remembers who has left."""

    def clear(self) -> None:
        ghosts = list(self.b1)
        super().clear()
        self.b1.update(dict.fromkeys(ghosts))


# --- in a manager ---

seeded_in_manager("order-arc", "wrong list", order="arc")(SwapsGhosts)
seeded_in_manager("touch-pure", "[] for get()", order="arc")(RaisesOnTouchedGhosts)
seeded_in_manager("list-exact", "one case of two", order="arc")(KeepsPinnedFrequentBlocks)
seeded_in_manager("store-protected", "one case of two", order="arc")(ProtectsOneSideOnly)
