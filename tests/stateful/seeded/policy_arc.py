"""ARC policies whose two sides, ghosts or target are wrong."""

from __future__ import annotations

from collections.abc import Sequence, Set

from kvoffload import NO_REQUEST, ARCCachePolicy, BlockStatus, OffloadKey, ReqContext
from tests.stateful.seeded.bug import seeded, seeded_in_manager


@seeded("evict-complete", "vllm-project/vllm#55461", order="arc")
class LooksAtOneSideOnly(ARCCachePolicy):
    """Below its target ``t1`` is not looked at, even if ``t2`` has too few blocks to give."""

    def evict(self, n: int, protected: Set[OffloadKey]) -> list[tuple[OffloadKey, BlockStatus]] | None:
        if len(self.t1) < self.target_t1_size and n > len(self.evictable_t2.keys() - protected):
            return None
        return super().evict(n, protected)


@seeded_in_manager("touch-pure", "vllm-project/vllm#34576", order="arc")
@seeded("touch-total", "vllm-project/vllm#34576", order="arc")
class RaisesOnTouchedPendingBlocks(ARCCachePolicy):
    """A touched pending block is looked for among the idle ones, after its entry has been popped."""

    def touch(self, keys: Sequence[OffloadKey], req_context: ReqContext = NO_REQUEST) -> None:
        for key in keys:
            if key in self.blocks and self.blocks[key].ref_cnt < 0:
                del self.blocks[key]
                self.evictable_t1.move_to_end(key)
        super().touch(keys, req_context)


@seeded_in_manager("order-arc", "vllm-project/vllm#51787", order="arc")
@seeded("order-arc", "vllm-project/vllm#51787", order="arc")
class CountsEveryTouch(ARCCachePolicy):
    """One request that touches a block twice makes it a frequent one."""

    def touch(self, keys: Sequence[OffloadKey], req_context: ReqContext = NO_REQUEST) -> None:
        super().touch(keys, NO_REQUEST)


@seeded("order-arc", "hazard: repeated touches of one ghost key", order="arc")
class AdaptsToTouchedGhosts(ARCCachePolicy):
    """A touch of a ghost moves the target, and the next touch of it moves it again."""

    def touch(self, keys: Sequence[OffloadKey], req_context: ReqContext = NO_REQUEST) -> None:
        super().touch(keys, req_context)
        step = sum(key in self.b1 for key in keys) - sum(key in self.b2 for key in keys)
        self.target_t1_size = max(0, min(self.cache_capacity, self.target_t1_size + step))


@seeded("order-arc", "hazard: each ghost list trimmed to the capacity on its own", order="arc")
class TrimsEachGhostListAlone(ARCCachePolicy):
    """Residents and ghosts together are up to three times the capacity."""

    def _forget_old_ghosts(self) -> None:
        for ghosts in (self.b1, self.b2):
            while len(ghosts) > self.cache_capacity:
                ghosts.popitem(last=False)


@seeded_in_manager("store-refusal", "vllm-project/vllm#55461", order=None)
class StarvesBelowItsTarget(LooksAtOneSideOnly, AdaptsToTouchedGhosts, TrimsEachGhostListAlone):
    """As it was released: touches of many ghosts raise the target, and below it ``t1`` is not looked at."""


@seeded("memory-bounded", "vllm-project/vllm#27039", order=None)
class TrimsGhostsAtTenThousand(ARCCachePolicy):
    """The ghost lists are as long as they would be for a capacity of 10,000."""

    def _forget_old_ghosts(self) -> None:
        for ghosts in (self.b1, self.b2):
            while len(ghosts) > 10_000:
                ghosts.popitem(last=False)


@seeded("clear-fresh", "forgotten adaptive state", order="arc")
class ClearKeepsTheTarget(ARCCachePolicy):
    """``clear`` empties all lists and leaves the target where it was."""

    def clear(self) -> None:
        target_t1_size = self.target_t1_size
        super().clear()
        self.target_t1_size = target_t1_size
