"""Managers that mind completions of transfers that are over, or remember what was before a reset."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kvoffload import (
    NO_REQUEST,
    CPUOffloadingManager,
    EventKind,
    OffloadKey,
    ReqContext,
)
from kvoffload.stats import OffloadingCounters
from kvoffload.transfers import Transfers
from tests.stateful.seeded.bug import SeamedManager, seeded

# --- transfers that are over ---


@seeded("stale-ignored", "hazard: late completion after a reset")
class CompletesStaleStores(SeamedManager):
    """A store that is not outstanding completes whatever it names that is pending now."""

    def complete_store(
        self,
        keys: Iterable[OffloadKey],
        req_context: ReqContext = NO_REQUEST,
        success: bool = True,
        *,
        transfer_id: int | None = None,
    ) -> None:
        if self.is_stale(transfer_id):
            self._counters.stale_completions += 1
            transfer_id = None
        super().complete_store(keys, req_context, success, transfer_id=transfer_id)


@seeded("stale-ignored", "LMCache/LMCache#2738")
class ReleasesForStaleLoads(SeamedManager):
    """A load that is not outstanding lets go of another one's pins."""

    def complete_load(
        self, keys: Iterable[OffloadKey], req_context: ReqContext = NO_REQUEST, *, transfer_id: int | None = None
    ) -> None:
        if self.is_stale(transfer_id):
            self._counters.stale_completions += 1
            keys, transfer_id = [key for key in dict.fromkeys(keys) if self.ref_cnt(key) > 0], None
        super().complete_load(keys, req_context, transfer_id=transfer_id)


@seeded("stale-ignored", "error for no-op")
class RaisesOnStaleLoads(SeamedManager):
    """A load that is not outstanding is an error."""

    def complete_load(
        self, keys: Iterable[OffloadKey], req_context: ReqContext = NO_REQUEST, *, transfer_id: int | None = None
    ) -> None:
        was_stale = self.is_stale(transfer_id)
        super().complete_load(keys, req_context, transfer_id=transfer_id)
        if was_stale:
            raise KeyError(transfer_id)


@seeded("stale-ignored", "vllm-project/vllm#41956")
class ReusesTransferIds(CPUOffloadingManager):
    """A reset starts the transfer ids anew, so that a late completion is taken for a new transfer's.

    It has no statistics, which would count that as one stale completion less.
    """

    def get_stats(self) -> Any:
        return None

    def reset_cache(self) -> None:
        super().reset_cache()
        self._transfers = Transfers()


# --- resets ---


@seeded("reset-fresh", "forgotten part")
class ForgetsToResetThePool(CPUOffloadingManager):
    """A reset drops the keys and keeps their blocks."""

    def reset_cache(self) -> None:
        num_taken = self._pool.num_blocks - self.num_free_blocks
        super().reset_cache()
        self._pool.allocate(num_taken)


@seeded("reset-fresh", "free list not in its first order")
class FreesBlocksBackwards(CPUOffloadingManager):
    """After a reset the blocks are handed out in another order than at first."""

    def reset_cache(self) -> None:
        super().reset_cache()
        self._pool.free(self._pool.allocate(self._pool.num_blocks))


@seeded("reset-fresh", "forgotten part")
class ForgetsToResetTheCounter(CPUOffloadingManager):
    """A reset leaves the counter where it was."""

    def reset_cache(self) -> None:
        num_evictable = self.num_evictable_cache_blocks
        super().reset_cache()
        self._num_evictable_cache_blocks = num_evictable


@seeded("reset-fresh", "vllm-project/vllm#57727")
class ResetsNothing(CPUOffloadingManager):
    """A reset reports success, and the same blocks are served as before."""

    def reset_cache(self) -> None:
        self._counters = OffloadingCounters()
        self._announce(EventKind.CLEARED)


@seeded("reset-fresh", "early return")
class ResetsOnlyAtRest(CPUOffloadingManager):
    """A reset is left out while a block is in flight."""

    def reset_cache(self) -> None:
        if self.num_free_blocks + self.num_evictable_cache_blocks == self._pool.num_blocks:
            super().reset_cache()
