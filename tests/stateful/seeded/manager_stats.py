"""Managers whose statistics count wrongly."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from kvoffload import NO_REQUEST, CPUOffloadingManager, LoadStoreSpec, LookupResult, OffloadKey, ReqContext
from kvoffload.stats import OffloadingStats
from tests.stateful.seeded.bug import seeded


@seeded("stats-exact", "vllm-project/vllm#45737")
class CountsIdleAsUsed(CPUOffloadingManager):
    """Idle blocks count as pinned, so that a warm cache looks full."""

    def get_stats(self) -> OffloadingStats:
        stats = super().get_stats()
        return replace(stats, pinned=stats.pinned + stats.idle)


@seeded("stats-exact", "vllm-project/vllm#53893")
class CountsEvictionsOnce(CPUOffloadingManager):
    """An eviction counts as one, however many blocks it takes."""

    def _evict(self, n: int, protected: set[OffloadKey]) -> list[OffloadKey] | None:
        evicted_keys = super()._evict(n, protected)
        if evicted_keys:
            self._counters.blocks_evicted -= len(evicted_keys) - 1
        return evicted_keys


@seeded("stats-exact", "ai-dynamo/dynamo#4549")
class NeverCountsLoads(CPUOffloadingManager):
    """One direction of the transfers is not counted."""

    def prepare_load(self, keys: Iterable[OffloadKey], req_context: ReqContext = NO_REQUEST) -> LoadStoreSpec:
        blocks_loaded = self._counters.blocks_loaded
        try:
            return super().prepare_load(keys, req_context)
        finally:
            self._counters.blocks_loaded = blocks_loaded


@seeded("stats-exact", "truth for equality")
class CountsPendingHitsAsHits(CPUOffloadingManager):
    """Whatever is not a miss counts as a hit."""

    def lookup(self, key: OffloadKey, req_context: ReqContext = NO_REQUEST) -> LookupResult:
        result = super().lookup(key, req_context)
        self._counters.hits += self._counters.pending_hits
        self._counters.pending_hits = 0
        return result


@seeded("stats-exact", "forgotten part")
class ForgetsToResetTotals(CPUOffloadingManager):
    """A reset leaves the totals as they were."""

    def reset_cache(self) -> None:
        counters = self._counters
        super().reset_cache()
        self._counters = counters
