"""Calls that never come back, that return something else than they should, or that raise where they must not."""

from __future__ import annotations

import time
from collections.abc import Iterable, Set
from typing import Any

from kvoffload import (
    NO_REQUEST,
    BlockStatus,
    CPUOffloadingManager,
    LookupResult,
    LRUCachePolicy,
    OffloadKey,
    OutOfBlocksError,
    ReqContext,
)
from tests.stateful.seeded.bug import SeamedManager, seeded

Victims = list[tuple[OffloadKey, BlockStatus]]

# --- that never come back ---


@seeded("evict-exact", "loop without an end", hangs=True)
class WaitsForAVictim(LRUCachePolicy):
    """The loop goes on until there are enough victims, and all that is left is protected."""

    def evict(self, n: int, protected: Set[OffloadKey]) -> Victims | None:
        while (victims := super().evict(n, protected)) is None:
            time.sleep(0.001)
        return victims


@seeded("get-agrees", "loop without an end", hangs=True)
class FollowsAChainRound(LRUCachePolicy):
    """A removed key is looked for along a chain that leads back to its start."""

    removed: OffloadKey | None = None

    def remove(self, key: OffloadKey) -> None:
        super().remove(key)
        self.removed = key

    def get(self, key: OffloadKey) -> BlockStatus | None:
        while key == self.removed and key not in self.blocks:
            time.sleep(0.001)
        return super().get(key)


@seeded("touch-pure", "waits for itself", hangs=True)
class WaitsForTouchedStores(SeamedManager):
    """A touch waits until its keys are written, and nobody else can complete the store meanwhile."""

    def touch(self, keys: Iterable[OffloadKey], req_context: ReqContext = NO_REQUEST) -> None:
        named = list(keys)
        while any(self.ref_cnt(key) == -1 for key in named):
            time.sleep(0.001)
        super().touch(named, req_context)


@seeded("load-ready-only", "waits for itself", hangs=True)
class WaitsForStoresToLoad(SeamedManager):
    """A load waits until its keys are written instead of raising."""

    def prepare_load(self, keys: Iterable[OffloadKey], req_context: ReqContext = NO_REQUEST) -> Any:
        named = list(keys)
        while any(self.ref_cnt(key) == -1 for key in named):
            time.sleep(0.001)
        return super().prepare_load(named, req_context)


# --- that return something else ---


@seeded("evict-exact", "keys for pairs")
class EvictsKeysOnly(LRUCachePolicy):
    """The victims come without their blocks."""

    def evict(self, n: int, protected: Set[OffloadKey]) -> Any:
        victims = super().evict(n, protected)
        return victims and [key for key, _ in victims]


@seeded("evict-exact", "columns for rows")
class EvictsTwoLists(LRUCachePolicy):
    """The victims are a list of keys and a list of blocks."""

    def evict(self, n: int, protected: Set[OffloadKey]) -> Any:
        victims = super().evict(n, protected)
        return victims and ([key for key, _ in victims], [block for _, block in victims])


# What stands where a key should is taken for one, and is not resident.
@seeded("evict-exact", "columns for rows", also=("evict-forgets",))
class ZipsItsVictims(LRUCachePolicy):
    """The victims are a tuple of keys and a tuple of blocks, which for two of them looks like two pairs."""

    def evict(self, n: int, protected: Set[OffloadKey]) -> Any:
        victims = super().evict(n, protected)
        return victims and list(zip(*victims, strict=True))


@seeded("evict-exact", "count for list")
class EvictsANumber(LRUCachePolicy):
    """The answer is how many were evicted."""

    def evict(self, n: int, protected: Set[OffloadKey]) -> Any:
        victims = super().evict(n, protected)
        return victims and len(victims)


@seeded("get-agrees", "key for value")
class GetsTheKey(LRUCachePolicy):
    """``get`` says that a key is there, and not where."""

    def get(self, key: OffloadKey) -> Any:
        return key if key in self.blocks else None


@seeded("lookup-truth", "name for member")
class LooksUpAString(CPUOffloadingManager):
    """The answer is the result's name."""

    def lookup(self, key: OffloadKey, req_context: ReqContext = NO_REQUEST) -> Any:
        return super().lookup(key, req_context).name


@seeded("store-refusal", "part for the whole")
class StoresABareList(CPUOffloadingManager):
    """The answer is the list of keys to store."""

    def prepare_store(self, keys: Iterable[OffloadKey], req_context: ReqContext = NO_REQUEST) -> Any:
        output = super().prepare_store(keys, req_context)
        return None if output is None else output.keys_to_store


@seeded("store-refusal", "None for an empty list")
class EvictsNone(CPUOffloadingManager):
    """Where nothing is evicted, the evicted keys are ``None``."""

    def prepare_store(self, keys: Iterable[OffloadKey], req_context: ReqContext = NO_REQUEST) -> Any:
        output: Any = super().prepare_store(keys, req_context)
        if output is not None:
            output.evicted_keys = output.evicted_keys or None
        return output


@seeded("load-ready-only", "part for the whole")
class LoadsABareList(CPUOffloadingManager):
    """The answer is the list of block ids."""

    def prepare_load(self, keys: Iterable[OffloadKey], req_context: ReqContext = NO_REQUEST) -> Any:
        return super().prepare_load(keys, req_context).block_ids


@seeded("load-ready-only", "block for its id")
class LoadsBlocks(CPUOffloadingManager):
    """The block ids are the blocks themselves."""

    def prepare_load(self, keys: Iterable[OffloadKey], req_context: ReqContext = NO_REQUEST) -> Any:
        named = list(keys)
        spec: Any = super().prepare_load(named, req_context)
        spec.block_ids = [self._policy.get(key) for key in named]
        return spec


@seeded("events-once", "None for an empty list")
class TakesNone(CPUOffloadingManager):
    """Where nothing has happened, the events are ``None``."""

    def take_events(self) -> Any:
        return super().take_events() or None


@seeded("events-once", "key for keys")
class TellsOneKey(CPUOffloadingManager):
    """An event holds pairs of a kind and a key instead of being one."""

    def take_events(self) -> Any:
        return [(event.kind, key) for event in super().take_events() for key in event.keys]


# --- that raise ---


# What get() answers is looked at after every call, which is blamed for it if it can have changed the answer.
@seeded("get-agrees", "[] for get()", also=("touch-total", "evict-forgets", "evict-atomic", "clear-fresh"))
class GetRaisesOnMisses(LRUCachePolicy):
    """A key that is not there is looked for as if it were."""

    def get(self, key: OffloadKey) -> BlockStatus | None:
        return self.blocks[key]


@seeded("get-agrees", "wrong table")
class RaisesOnRemovedPendingBlocks(LRUCachePolicy):
    """``remove`` takes every block for an idle one."""

    def remove(self, key: OffloadKey) -> None:
        del self.evictable_blocks[key], self.blocks[key]


@seeded("get-agrees", "off by one")
class RaisesOnTheLastBlock(LRUCachePolicy):
    """``>=`` where ``>`` is meant: the last block that fits is refused."""

    def insert(self, key: OffloadKey, block: BlockStatus) -> None:
        super().insert(key, block)
        if len(self.blocks) >= self.cache_capacity:
            raise OverflowError("the cache is full")


@seeded("clear-fresh", "assertion for a rule")
class RaisesOnClearedBusyBlocks(LRUCachePolicy):
    """``clear`` takes it for an error that a block is in use."""

    def clear(self) -> None:
        if len(self.evictable_blocks) < len(self.blocks):
            raise AssertionError("blocks are in use")
        super().clear()


@seeded("lookup-truth", "[] for get()")
class LookupRaisesOnMisses(SeamedManager):
    """A lookup of a key that is not resident raises."""

    def lookup(self, key: OffloadKey, req_context: ReqContext = NO_REQUEST) -> LookupResult:
        if self.ref_cnt(key) == -2:
            raise KeyError(key)
        return super().lookup(key, req_context)


@seeded("store-refusal", "LMCache/LMCache#1132")
class RaisesInsteadOfRefusing(CPUOffloadingManager):
    """A store that cannot be made raises instead of returning ``None``."""

    def prepare_store(self, keys: Iterable[OffloadKey], req_context: ReqContext = NO_REQUEST) -> Any:
        output = super().prepare_store(keys, req_context)
        if output is None:
            raise OutOfBlocksError(1, self.num_free_blocks)
        return output


@seeded("load-ready-only", "first of an empty list")
class RaisesOnEmptyLoads(CPUOffloadingManager):
    """A load looks at its first key, and there may be none."""

    def prepare_load(self, keys: Iterable[OffloadKey], req_context: ReqContext = NO_REQUEST) -> Any:
        named = list(keys)
        spec = super().prepare_load(named, req_context)
        return named[0] and spec


@seeded("reset-fresh", "vllm-project/vllm#41956")
class RaisesOnResetsInFlight(CPUOffloadingManager):
    """A reset takes it for an error that a block is in flight."""

    def reset_cache(self) -> None:
        if self._num_pending_cache_blocks:
            raise AssertionError("stores are in flight")
        super().reset_cache()


@seeded("events-once", "pop from an empty list")
class RaisesWithoutEvents(CPUOffloadingManager):
    """A drain takes the first event out before it looks whether there is one."""

    def take_events(self) -> Any:
        events = super().take_events()
        return [events.pop(0), *events]
