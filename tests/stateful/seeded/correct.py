"""Correct but unusual: what the contract must not take for a bug."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from typing import Any

from kvoffload import (
    NO_REQUEST,
    BlockNotFoundError,
    BlockStatus,
    CachePolicy,
    CPUOffloadingManager,
    EventKind,
    LoadStoreSpec,
    LookupResult,
    LRUCachePolicy,
    OffloadKey,
    PrepareStoreOutput,
    ReqContext,
)
from kvoffload.block_pool import BlockPool
from kvoffload.contract.clauses import Subject
from kvoffload.contract.target import Target
from tests.stateful.seeded.bug import ChoosingPolicy

Victims = list[tuple[OffloadKey, BlockStatus]]


@dataclass(frozen=True)
class Unusual:
    """One correct implementation that is not like ours."""

    name: str
    subject: Subject
    make: Callable[[int], Any]

    @property
    def target(self) -> Target:
        """What to search; it declares no order."""
        return Target(self.subject, self.make)


# --- policies ---


class FifoPolicy(CachePolicy):
    """First idle, first out, whatever is touched; the idle keys are in a plain list."""

    def __init__(self, cache_capacity: int) -> None:
        super().__init__(cache_capacity)
        self.blocks: dict[OffloadKey, BlockStatus] = {}
        self.evictable_blocks: list[OffloadKey] = []

    def get(self, key: OffloadKey) -> BlockStatus | None:
        return self.blocks.get(key)

    def insert(self, key: OffloadKey, block: BlockStatus) -> None:
        self.blocks[key] = block
        if block.ref_cnt == 0:
            self.evictable_blocks.append(key)

    def remove(self, key: OffloadKey) -> None:
        del self.blocks[key]
        self.mark_non_evictable(key)

    def touch(self, keys: Sequence[OffloadKey], req_context: ReqContext = NO_REQUEST) -> None:
        pass

    def evict(self, n: int, protected: Set[OffloadKey]) -> Victims | None:
        victims = [key for key in self.evictable_blocks if key not in protected][:n]
        if len(victims) < n:
            return None
        self.evictable_blocks = [key for key in self.evictable_blocks if key not in victims]
        return [(key, self.blocks.pop(key)) for key in victims]

    def clear(self) -> None:
        self.blocks.clear()
        self.evictable_blocks.clear()

    def mark_evictable(self, key: OffloadKey) -> None:
        self.evictable_blocks.append(key)

    def mark_non_evictable(self, key: OffloadKey) -> None:
        if key in self.evictable_blocks:
            self.evictable_blocks.remove(key)


class MruPolicy(ChoosingPolicy):
    """The most recent goes first."""

    def candidates(self, n: int, protected: Set[OffloadKey]) -> Iterator[OffloadKey]:
        return (key for key in reversed(self.evictable_blocks) if key not in protected)


class LargestKeyPolicy(ChoosingPolicy):
    """The largest key goes first, and the victims are given smallest first."""

    def candidates(self, n: int, protected: Set[OffloadKey]) -> Iterator[OffloadKey]:
        return reversed(sorted(super().candidates(n, protected), reverse=True)[:n])


class SeededRandomPolicy(ChoosingPolicy):
    """Victims are drawn from a source of its own, which a new policy and a cleared one start with."""

    def __init__(self, cache_capacity: int) -> None:
        super().__init__(cache_capacity)
        self.source = random.Random(0)

    def candidates(self, n: int, protected: Set[OffloadKey]) -> Iterator[OffloadKey]:
        idle = list(super().candidates(n, protected))
        return iter(self.source.sample(idle, n) if n <= len(idle) else ())

    def clear(self) -> None:
        super().clear()
        self.source = random.Random(0)


class ScanningPolicy(CachePolicy):
    """Has no ``mark_*`` and no list: walks over the blocks and tests their ``ref_cnt``."""

    def __init__(self, cache_capacity: int) -> None:
        super().__init__(cache_capacity)
        self._blocks: dict[OffloadKey, BlockStatus] = {}

    def get(self, key: OffloadKey) -> BlockStatus | None:
        return self._blocks.get(key)

    def insert(self, key: OffloadKey, block: BlockStatus) -> None:
        self._blocks[key] = block

    def remove(self, key: OffloadKey) -> None:
        del self._blocks[key]

    def touch(self, keys: Sequence[OffloadKey], req_context: ReqContext = NO_REQUEST) -> None:
        for key in keys:
            if key in self._blocks:
                self._blocks[key] = self._blocks.pop(key)

    def evict(self, n: int, protected: Set[OffloadKey]) -> Victims | None:
        victims = [key for key, block in self._blocks.items() if block.ref_cnt == 0 and key not in protected][:n]
        return [(key, self._blocks.pop(key)) for key in victims] if len(victims) == n else None

    def clear(self) -> None:
        self._blocks.clear()


class CopyingPolicy(CachePolicy):
    """Keeps copies of the keys, gives copies out, and shows none of its tables."""

    def __init__(self, cache_capacity: int) -> None:
        super().__init__(cache_capacity)
        self._policy = LRUCachePolicy(cache_capacity)

    @staticmethod
    def _copy(key: OffloadKey) -> OffloadKey:
        return OffloadKey(bytes(bytearray(key)))

    def get(self, key: OffloadKey) -> BlockStatus | None:
        return self._policy.get(key)

    def insert(self, key: OffloadKey, block: BlockStatus) -> None:
        self._policy.insert(self._copy(key), block)

    def remove(self, key: OffloadKey) -> None:
        self._policy.remove(key)

    def touch(self, keys: Sequence[OffloadKey], req_context: ReqContext = NO_REQUEST) -> None:
        self._policy.touch([self._copy(key) for key in keys])

    def evict(self, n: int, protected: Set[OffloadKey]) -> Victims | None:
        victims = self._policy.evict(n, protected)
        return None if victims is None else [(self._copy(key), block) for key, block in victims]

    def clear(self) -> None:
        self._policy = LRUCachePolicy(self.cache_capacity)

    def mark_evictable(self, key: OffloadKey) -> None:
        self._policy.mark_evictable(key)

    def mark_non_evictable(self, key: OffloadKey) -> None:
        self._policy.mark_non_evictable(key)


class SecondChancePolicy(ChoosingPolicy):
    """CLOCK: a block that was touched is passed over once; a refusal costs nobody its second chance."""

    def __init__(self, cache_capacity: int) -> None:
        super().__init__(cache_capacity)
        self.touched: set[OffloadKey] = set()

    def touch(self, keys: Sequence[OffloadKey], req_context: ReqContext = NO_REQUEST) -> None:
        self.touched.update(key for key in keys if key in self.evictable_blocks)

    def candidates(self, n: int, protected: Set[OffloadKey]) -> Iterator[OffloadKey]:
        idle = list(super().candidates(n, protected))
        if n > len(idle):
            return
        for key in [key for key in idle if key not in self.touched] + [key for key in idle if key in self.touched]:
            yield key
            self.touched.clear()

    def remove(self, key: OffloadKey) -> None:
        super().remove(key)
        self.touched.discard(key)

    def clear(self) -> None:
        super().clear()
        self.touched.clear()


# --- managers ---


class OpaqueManager:
    """Shows the calls that a scheduler makes and nothing else: no counter, no policy, no free blocks, no events."""

    def __init__(self, num_blocks: int) -> None:
        manager = CPUOffloadingManager(num_blocks, MruPolicy)
        self.lookup = manager.lookup
        self.prepare_store = manager.prepare_store
        self.complete_store = manager.complete_store
        self.prepare_load = manager.prepare_load
        self.complete_load = manager.complete_load
        self.touch = manager.touch
        self.reset_cache = manager.reset_cache


class PoolFromTheTop(BlockPool):
    """Hands the highest block out first."""

    def allocate(self, n: int) -> list[int]:
        return [self.num_blocks - 1 - block_id for block_id in super().allocate(n)]

    def free(self, block_ids: list[int]) -> None:
        super().free([self.num_blocks - 1 - block_id for block_id in block_ids])


class TopDownManager(CPUOffloadingManager):
    """Fills the memory from its end, and tells a removal for each key when it is reset."""

    def __init__(self, num_blocks: int) -> None:
        super().__init__(num_blocks, ScanningPolicy, enable_events=True)
        self._pool = PoolFromTheTop(num_blocks)
        self.ready: dict[OffloadKey, None] = {}

    def reset_cache(self) -> None:
        super().reset_cache()
        if self._events:
            del self._events[-1]
        super()._announce(EventKind.REMOVED, self.ready)
        self.ready.clear()

    def _announce(self, kind: EventKind, keys: Iterable[OffloadKey] = ()) -> None:
        keys = tuple(keys)
        super()._announce(kind, keys)
        for key in keys:
            if kind is EventKind.STORED:
                self.ready[key] = None
            else:
                self.ready.pop(key, None)


class StrictManager(CPUOffloadingManager):
    """Raises errors of its own, tells every key of a store by itself, and gives tuples where ours gives lists."""

    def __init__(self, num_blocks: int) -> None:
        super().__init__(num_blocks, SecondChancePolicy, enable_events=True)

    def lookup(self, key: OffloadKey, req_context: ReqContext = NO_REQUEST) -> LookupResult:
        return super().lookup(OffloadKey(bytes(key)), req_context)

    def prepare_store(
        self, keys: Iterable[OffloadKey], req_context: ReqContext = NO_REQUEST
    ) -> PrepareStoreOutput | None:
        output: Any = super().prepare_store(keys, req_context)
        if output is not None:
            output.keys_to_store, output.evicted_keys = tuple(output.keys_to_store), tuple(output.evicted_keys)
        return output  # type: ignore[no-any-return]

    def prepare_load(self, keys: Iterable[OffloadKey], req_context: ReqContext = NO_REQUEST) -> LoadStoreSpec:
        try:
            return super().prepare_load(keys, req_context)
        except BlockNotFoundError as error:
            raise KeyError(error.key) from error

    def _announce(self, kind: EventKind, keys: Iterable[OffloadKey] = ()) -> None:
        named = tuple(keys)
        for key in named:
            super()._announce(kind, (key,))
        if not named:
            super()._announce(kind)


def _managed(policy: Callable[[int], CachePolicy]) -> Callable[[int], CPUOffloadingManager]:
    return lambda num_blocks: CPUOffloadingManager(num_blocks, policy, enable_events=True)


_POLICIES: tuple[type[CachePolicy], ...] = (
    FifoPolicy,
    MruPolicy,
    LargestKeyPolicy,
    SeededRandomPolicy,
    ScanningPolicy,
    CopyingPolicy,
    SecondChancePolicy,
)

CORRECT = (
    *(Unusual(policy.__name__, "policy", policy) for policy in _POLICIES),
    *(Unusual(f"{policy.__name__}InManager", "manager", _managed(policy)) for policy in (FifoPolicy, CopyingPolicy)),
    *(Unusual(manager.__name__, "manager", manager) for manager in (OpaqueManager, TopDownManager, StrictManager)),
)
"""All of them."""
