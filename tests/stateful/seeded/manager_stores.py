"""Managers that store the wrong keys, refuse the wrong stores or evict the wrong blocks."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kvoffload import NO_REQUEST, CPUOffloadingManager, OffloadKey, PrepareStoreOutput, ReqContext
from tests.stateful.seeded.bug import SeamedManager, seeded

# --- what is to be stored ---


@seeded("store-new", "hazard: duplicate new keys in one prepare_store")
class StoresRepeatsTwice(CPUOffloadingManager):
    """A new key that is named twice is to be stored twice."""

    def prepare_store(
        self, keys: Iterable[OffloadKey], req_context: ReqContext = NO_REQUEST
    ) -> PrepareStoreOutput | None:
        named = list(keys)
        output = super().prepare_store(named, req_context)
        if output is not None:
            slots = dict(zip(output.keys_to_store, output.store_spec.block_ids, strict=True))
            output.keys_to_store[:] = [key for key in named if key in slots]
            output.store_spec.block_ids[:] = [slots[key] for key in output.keys_to_store]
        return output


@seeded("store-new", "no filter")
class StoresResidentKeysToo(CPUOffloadingManager):
    """Keys that were resident already are to be stored again."""

    def prepare_store(
        self, keys: Iterable[OffloadKey], req_context: ReqContext = NO_REQUEST
    ) -> PrepareStoreOutput | None:
        named = list(keys)
        output = super().prepare_store(named, req_context)
        if output is not None:
            output.keys_to_store[:] = dict.fromkeys(named)
        return output


@seeded("store-new", "set for list")
class StoresInItsOwnOrder(CPUOffloadingManager):
    """The keys to store come sorted, each with its own block."""

    def prepare_store(
        self, keys: Iterable[OffloadKey], req_context: ReqContext = NO_REQUEST
    ) -> PrepareStoreOutput | None:
        output = super().prepare_store(keys, req_context)
        if output is not None:
            slots = dict(zip(output.keys_to_store, output.store_spec.block_ids, strict=True))
            output.keys_to_store.sort()
            output.store_spec.block_ids[:] = [slots[key] for key in output.keys_to_store]
        return output


# --- refusals ---


@seeded("store-refusal", "off by one")
class RefusesAtTheLimit(SeamedManager):
    """The guard says ``>=`` where ``>`` is meant."""

    def prepare_store(
        self, keys: Iterable[OffloadKey], req_context: ReqContext = NO_REQUEST
    ) -> PrepareStoreOutput | None:
        named = list(keys)
        if 0 < self.lacking(named) >= self.num_evictable_cache_blocks:
            self.refuse(named)
            return None
        return super().prepare_store(named, req_context)


@seeded("store-refusal", "free blocks not used")
class EvictsForEveryNewKey(CPUOffloadingManager):
    """A store that does not fit evicts as many blocks as it has keys, free blocks or not."""

    def _evict(self, n: int, protected: set[OffloadKey]) -> list[OffloadKey] | None:
        return super()._evict(n + self.num_free_blocks, protected)


@seeded("store-refusal", "off by one")
class EvictsOneMoreThanNeeded(CPUOffloadingManager):
    """An eviction makes room for one block more, if it can."""

    def _evict(self, n: int, protected: set[OffloadKey]) -> list[OffloadKey] | None:
        return super()._evict(n + 1, protected) or super()._evict(n, protected)


@seeded("store-refusal", "hazard: duplicate new keys in one prepare_store")
class NeedsRoomForRepeats(SeamedManager):
    """A new key that is named twice needs two blocks to be accepted."""

    def prepare_store(
        self, keys: Iterable[OffloadKey], req_context: ReqContext = NO_REQUEST
    ) -> PrepareStoreOutput | None:
        named = list(keys)
        num_new = sum(self.ref_cnt(key) == -2 for key in named)
        if num_new > self.num_free_blocks + self.num_evictable_cache_blocks:
            self.refuse(named)
            return None
        return super().prepare_store(named, req_context)


@seeded("store-refusal", "early return")
class RefusesToStoreNothing(SeamedManager):
    """A store of which every key is resident is ``None``, as if it had failed."""

    def prepare_store(
        self, keys: Iterable[OffloadKey], req_context: ReqContext = NO_REQUEST
    ) -> PrepareStoreOutput | None:
        named = list(keys)
        if not self.new_keys(named):
            self.refuse(named)
            return None
        return super().prepare_store(named, req_context)


@seeded("store-refusal", "kvcache-ai/Mooncake#974")
class RefusesKeysInFlight(SeamedManager):
    """A store is refused as long as one of its keys is being written by another."""

    def prepare_store(
        self, keys: Iterable[OffloadKey], req_context: ReqContext = NO_REQUEST
    ) -> PrepareStoreOutput | None:
        named = list(keys)
        if any(self.ref_cnt(key) == -1 for key in named):
            self.refuse(named)
            return None
        return super().prepare_store(named, req_context)


@seeded("store-refusal", "LMCache/LMCache#3187")
class NeverRecovers(SeamedManager):
    """After one refusal every store that needs room is refused until the next reset."""

    is_full = False

    def prepare_store(
        self, keys: Iterable[OffloadKey], req_context: ReqContext = NO_REQUEST
    ) -> PrepareStoreOutput | None:
        named = list(keys)
        if self.is_full and self.lacking(named) > 0:
            self.refuse(named)
            return None
        output = super().prepare_store(named, req_context)
        self.is_full = self.is_full or output is None
        return output

    def reset_cache(self) -> None:
        super().reset_cache()
        self.is_full = False


@seeded("store-refusal", "part for the whole")
class StoresWhatFits(SeamedManager):
    """A store that has to be refused stores as many of its keys as there are free blocks."""

    def prepare_store(
        self, keys: Iterable[OffloadKey], req_context: ReqContext = NO_REQUEST
    ) -> PrepareStoreOutput | None:
        named = list(keys)
        output = super().prepare_store(named, req_context)
        if output is None:
            output = super().prepare_store(self.new_keys(named)[: self.num_free_blocks], req_context)
        return output


@seeded("store-guarded", "vllm-project/vllm#45757")
class AsksWhenThereIsNoHope(SeamedManager):
    """The policy is asked for more victims than there are idle blocks."""

    def prepare_store(
        self, keys: Iterable[OffloadKey], req_context: ReqContext = NO_REQUEST
    ) -> PrepareStoreOutput | None:
        named = list(keys)
        if self.lacking(named) > self.num_evictable_cache_blocks:
            self._policy.evict(self.lacking(named), set(named))
        return super().prepare_store(named, req_context)


@seeded("store-guarded", "capacity for counter")
class GuardsByCapacity(SeamedManager):
    """The guard only refuses what would not fit an empty cache."""

    def prepare_store(
        self, keys: Iterable[OffloadKey], req_context: ReqContext = NO_REQUEST
    ) -> PrepareStoreOutput | None:
        named = list(keys)
        if self.num_evictable_cache_blocks < self.lacking(named) <= self._pool.num_blocks:
            self._policy.evict(self.lacking(named), set(named))
        return super().prepare_store(named, req_context)


@seeded("refusal-atomic", "vllm-project/vllm#37874")
class EvictsOneByOne(CPUOffloadingManager):
    """Victims leave one at a time, and stay gone when the store is refused after all."""

    def _evict(self, n: int, protected: set[OffloadKey]) -> list[OffloadKey] | None:
        evicted_keys: list[OffloadKey] = []
        for _ in range(n):
            evicted_key = super()._evict(1, protected)
            if evicted_key is None:
                return None
            evicted_keys += evicted_key
        return evicted_keys


@seeded("refusal-atomic", "vllm-project/vllm#39021")
class TouchesWhatItRefuses(CPUOffloadingManager):
    """The keys of a refused store become the most recent."""

    def prepare_store(
        self, keys: Iterable[OffloadKey], req_context: ReqContext = NO_REQUEST
    ) -> PrepareStoreOutput | None:
        named = list(keys)
        output = super().prepare_store(named, req_context)
        if output is None:
            self._policy.touch(named, req_context)
        return output


@seeded("refusal-atomic", "early return")
class KeepsWhatItReserved(SeamedManager):
    """A refused store keeps the free blocks that it had taken before it found out."""

    def prepare_store(
        self, keys: Iterable[OffloadKey], req_context: ReqContext = NO_REQUEST
    ) -> PrepareStoreOutput | None:
        named = list(keys)
        output = super().prepare_store(named, req_context)
        if output is None:
            super().prepare_store(self.new_keys(named)[: self.num_free_blocks], req_context)
        return output


@seeded("refusal-atomic", "counted before the outcome is known")
class CountsVictimsItDoesNotGet(SeamedManager):
    """The counter goes down by what the policy is asked for, even when it refuses."""

    def _evict(self, n: int, protected: set[OffloadKey]) -> list[OffloadKey] | None:
        evicted_keys = super()._evict(n, protected)
        if evicted_keys is None:
            self._num_evictable_cache_blocks -= n
        return evicted_keys


# --- victims ---


@seeded("store-protected", "vllm-project/vllm#35846")
class ProtectsNothing(CPUOffloadingManager):
    """Making room for the new keys of a store evicts its resident ones."""

    def _evict(self, n: int, protected: set[OffloadKey]) -> list[OffloadKey] | None:
        return super()._evict(n, set())


@seeded("store-protected", "iterator walked twice")
class ProtectsWhatIsLeftOfAnIterator(CPUOffloadingManager):
    """The keys to protect are read from an iterator that the new keys were read from before."""

    is_one_shot = False

    def prepare_store(
        self, keys: Iterable[OffloadKey], req_context: ReqContext = NO_REQUEST
    ) -> PrepareStoreOutput | None:
        self.is_one_shot = iter(keys) is keys
        return super().prepare_store(keys, req_context)

    def _evict(self, n: int, protected: set[OffloadKey]) -> list[OffloadKey] | None:
        return super()._evict(n, set() if self.is_one_shot else protected)


@seeded("store-protected", "vllm-project/vllm#53498")
class NeverInsertsTheLastKey(CPUOffloadingManager):
    """The last new key of a store has its block, and is never inserted."""

    def _insert(self, new_keys: list[OffloadKey], req_context: ReqContext) -> list[int]:
        block_ids = super()._insert(new_keys, req_context)
        for key in new_keys[-1:]:
            self._policy.remove(key)
        return block_ids


@seeded("victims-idle", "kvcache-ai/Mooncake#974")
class TakesBlocksFromStores(SeamedManager):
    """A store that lacks one block takes it from a store that is still being written."""

    def __init__(self, num_blocks: int, **options: Any) -> None:
        super().__init__(num_blocks, **options)
        self.stored: dict[OffloadKey, None] = {}

    def prepare_store(
        self, keys: Iterable[OffloadKey], req_context: ReqContext = NO_REQUEST
    ) -> PrepareStoreOutput | None:
        named = list(keys)
        stalled = [key for key in self.stored if self.ref_cnt(key) == -1 and key not in named]
        output = super().prepare_store(named, req_context)
        if output is None and self.lacking(named) == 1 and stalled:
            self.complete_store(stalled[:1], req_context, success=False)
            output = super().prepare_store(named, req_context)
            if output is not None:
                output.evicted_keys.append(stalled[0])
        self.stored.update(dict.fromkeys(named))
        return output

    def reset_cache(self) -> None:
        super().reset_cache()
        self.stored.clear()
