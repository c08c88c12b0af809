"""Managers and policies of vLLM's and LMCache's shapes with one bug each: an adapter must not hide it."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection
from typing import Any

from kvoffload import OffloadKey, ReqContext
from tests.stateful.seeded.bug import seeded_foreign
from tests.stateful.seeded.shapes import (
    InProcessLru,
    MultiProcessLru,
    NewVllmPolicy,
    OldVllmManager,
    OldVllmPolicy,
    Victims,
    VllmManager,
)

# --- managers ---


@seeded_foreign("manager", "store-protected", "vllm-project/vllm#35846")
class VllmProtectsNothing(VllmManager):
    """Making room for the new keys of a store evicts its resident ones."""

    def _protected(self, keys: Collection[OffloadKey]) -> set[OffloadKey]:
        return set()


@seeded_foreign("manager", "counter-exact", "kvcache-ai/Mooncake#2286")
class VllmForgetsToCountReleases(VllmManager):
    """A block that was loaded is idle again, and is not counted."""

    def complete_load(self, keys: Collection[OffloadKey], req_context: ReqContext) -> None:
        num_evictable = self._num_evictable_cache_blocks
        super().complete_load(keys, req_context)
        self._num_evictable_cache_blocks = num_evictable


@seeded_foreign("manager", "complete-pending-only", "vllm-project/vllm#37874, the code before it")
class VllmFailureDropsReadyKeys(VllmManager):
    """A failed store removes the idle keys that it names, and their blocks are lost."""

    def complete_store(self, keys: Collection[OffloadKey], req_context: ReqContext, success: bool = True) -> None:
        ready = [key for key in keys if (block := self._policy.get(key)) is not None and block.ref_cnt == 0]
        super().complete_store(keys, req_context, success)
        for key in ready if not success else ():
            self._policy.remove(key)


@seeded_foreign("manager", "events-replay", "vllm-project/vllm#47923")
class VllmTellsRemovalsAsStores(VllmManager):
    """Every event says that its keys are there."""

    def take_events(self) -> Any:
        return [event._replace(removed=False) for event in super().take_events() if not event.removed]


@seeded_foreign("manager", "lookup-truth", "vllm-project/vllm#53498")
class OldVllmNeverHits(OldVllmManager):
    """Stored blocks are there, and no lookup finds them."""

    def lookup(self, key: OffloadKey) -> bool:
        return False


@seeded_foreign("manager", "victims-idle", "vllm-project/vllm#39702")
class OldVllmReadsWithoutPinning(OldVllmManager):
    """A load pins nothing, and its completion releases nothing."""

    def prepare_load(self, keys: Collection[OffloadKey]) -> Any:
        spec = super().prepare_load(keys)
        super().complete_load(keys)
        return spec

    def complete_load(self, keys: Collection[OffloadKey]) -> None:
        pass


# --- policies ---


@seeded_foreign("policy", "evict-atomic", "vllm-project/vllm#37874")
class OldVllmDropsVictimsBeforeItGivesUp(OldVllmPolicy):
    """Victims go one by one, and stay gone when there turn out to be too few."""

    def evict(self, n: int, protected: set[OffloadKey]) -> Victims | None:
        victims: Victims = []
        while len(victims) < n:
            victim = super().evict(1, protected)
            if victim is None:
                return None
            victims += victim
        return victims


@seeded_foreign("policy", "evict-exact", "vllm-project/vllm 0.33, duplicate heap entries")
class NewVllmChoosesOncePerEntry(NewVllmPolicy):
    """A chunk that became idle twice is in the heap twice, and can be two of the victims."""

    def __init__(self, cache_capacity: int) -> None:
        super().__init__(cache_capacity)
        self.heap: list[OffloadKey] = []

    def mark_evictable(self, key: OffloadKey) -> None:
        super().mark_evictable(key)
        self.heap.append(key)

    def remove(self, key: OffloadKey) -> None:
        super().remove(key)
        self.heap = [held for held in self.heap if held != key]

    def evict(self, n: int, protected: set[OffloadKey]) -> Victims | None:
        victims = [key for key in self.heap if key in self._evictable and key not in protected][:n]
        if len(victims) < n:
            return None
        pairs = [(key, self.chunks[key]) for key in victims]
        for key in set(victims):
            self.remove(key)
        return pairs


@seeded_foreign("policy", "touch-total", "the end of a request for the end of its chunks")
class NewVllmDropsWhatAFinishedRequestReused(NewVllmPolicy):
    """When a request finishes, idle chunks that it has used again go with it."""

    def on_request_finished(
        self, key_groups: Any, insertion_only_keys: Any, reused_keys: Any, req_context: Any
    ) -> None:
        for key in self._evictable & reused_keys:
            self.remove(key)


# A policy that shows no list is looked at by emptying a copy of it, which is the first to show who may go.
@seeded_foreign("policy", "evictable-exact", "LMCache/LMCache#222", lambda cls: lambda _: cls())
class InProcessEvictsWhatIsRead(InProcessLru):
    """A chunk that is being read may be chosen as well."""

    def get_evict_candidates(
        self, cache_dict: OrderedDict[OffloadKey, Any], num_candidates: int = 1
    ) -> list[OffloadKey]:
        some = [key for key, entry in cache_dict.items() if entry.can_evict or entry.block.ref_cnt > 0]
        return some[:num_candidates]


@seeded_foreign("policy", "evict-exact", "off by one", lambda cls: lambda _: cls())
class MultiProcessProposesOneMore(MultiProcessLru):
    """The share that is asked for is rounded up."""

    def get_eviction_actions(self, expected_ratio: float, *args: Any, **kwargs: Any) -> Any:
        return super().get_eviction_actions(expected_ratio + 1 / max(len(self.tracked), 1), *args, **kwargs)
