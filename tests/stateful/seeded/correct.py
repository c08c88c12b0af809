"""Correct but unusual: what the contract must not take for a bug."""

from __future__ import annotations

import random
import threading
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence, Set
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
from kvoffload.contract import Report, check_manager, check_policy
from kvoffload.contract.clauses import Subject
from kvoffload.contract.targets.target import Target
from tests.stateful.seeded.bug import ChoosingPolicy
from tests.stateful.seeded.shapes import (
    Event,
    InProcessLru,
    MultiProcessLru,
    NewVllmPolicy,
    OldVllmManager,
    OldVllmPolicy,
    Output,
    Spec,
    VllmManager,
)

Victims = list[tuple[OffloadKey, BlockStatus]]


@dataclass(frozen=True)
class Unusual:
    """One correct implementation that is not like ours."""

    name: str
    subject: Subject
    make: Callable[[int], Any]
    capabilities: tuple[str, ...] = ()

    @property
    def target(self) -> Target:
        """What to search; it declares no order."""
        return Target(self.subject, self.make, capabilities=self.capabilities)

    def check(self, seed: int = 0) -> Report:
        """The report that its owner would get."""
        check = check_policy if self.subject == "policy" else check_manager
        return check(self.make, capabilities=self.capabilities, seed=seed)


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


class RandomPolicy(ChoosingPolicy):
    """Victims are drawn from the interpreter's own source; it says that it is not deterministic."""

    def candidates(self, n: int, protected: Set[OffloadKey]) -> Iterator[OffloadKey]:
        idle = list(super().candidates(n, protected))
        return iter(random.sample(idle, len(idle)))


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


class StrictPolicy(LRUCachePolicy):
    """Raises on every call that does not keep the protocol, and gives its victims as a tuple."""

    def _ref_cnt(self, key: OffloadKey) -> int:
        return self.blocks[key].ref_cnt

    def insert(self, key: OffloadKey, block: BlockStatus) -> None:
        if key in self.blocks or len(self.blocks) >= self.cache_capacity or block.ref_cnt > 0:
            raise AssertionError(f"{key!r} cannot be inserted")
        super().insert(key, block)

    def remove(self, key: OffloadKey) -> None:
        if self._ref_cnt(key) > 0:
            raise AssertionError(f"{key!r} is being read")
        super().remove(key)

    def mark_evictable(self, key: OffloadKey) -> None:
        if self._ref_cnt(key) != 0 or key in self.evictable_blocks:
            raise AssertionError(f"{key!r} has not become idle")
        super().mark_evictable(key)

    def mark_non_evictable(self, key: OffloadKey) -> None:
        if self._ref_cnt(key) != 1 or key not in self.evictable_blocks:
            raise AssertionError(f"{key!r} was not idle")
        super().mark_non_evictable(key)

    def evict(self, n: int, protected: Set[OffloadKey]) -> Any:
        victims = super().evict(n, protected)
        return None if victims is None else tuple(victims)


class SealedPolicy:
    """Takes no attributes, cannot be copied, shows no list, and is of no class of ours."""

    __slots__ = ("_blocks", "_lock")

    def __init__(self, cache_capacity: int) -> None:
        self._blocks: dict[OffloadKey, Any] = {}
        self._lock = threading.Lock()

    def get(self, key: OffloadKey) -> Any:
        with self._lock:
            return self._blocks.get(key)

    def insert(self, key: OffloadKey, block: Any) -> None:
        with self._lock:
            self._blocks[key] = block

    def remove(self, key: OffloadKey) -> None:
        with self._lock:
            del self._blocks[key]

    def touch(self, keys: Sequence[OffloadKey]) -> None:
        pass

    def evict(self, n: int, protected: Set[OffloadKey]) -> Any:
        with self._lock:
            idle = [key for key, block in self._blocks.items() if block.ref_cnt == 0 and key not in protected]
            return [(key, self._blocks.pop(key)) for key in idle[:n]] if n <= len(idle) else None

    def clear(self) -> None:
        self._blocks.clear()


class GhostlyPolicy(ChoosingPolicy):
    """Takes those first that come back soon after they were evicted: it remembers as many as it holds."""

    def __init__(self, cache_capacity: int) -> None:
        super().__init__(cache_capacity)
        self.ghosts: deque[OffloadKey] = deque(maxlen=cache_capacity)

    def candidates(self, n: int, protected: Set[OffloadKey]) -> Iterator[OffloadKey]:
        return iter(sorted(super().candidates(n, protected), key=lambda key: key not in self.ghosts))

    def evict(self, n: int, protected: Set[OffloadKey]) -> Victims | None:
        victims = super().evict(n, protected)
        self.ghosts.extend(key for key, _ in victims or ())
        return victims

    def clear(self) -> None:
        super().clear()
        self.ghosts.clear()


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


class LazyManager:
    """Evicts lazily: it says at once who is evicted, and takes them out of its table when somebody asks for events.

    Its events are what has changed since they were asked for last: nothing of a key that came and went meanwhile.
    """

    def __init__(self, num_blocks: int) -> None:
        self._num_blocks = num_blocks
        self._told: set[OffloadKey] = set()
        self.reset_cache()

    def reset_cache(self) -> None:
        self._table: dict[OffloadKey, list[int]] = {}
        self._gone: set[OffloadKey] = set()
        self._free = list(range(self._num_blocks))

    def _at(self, key: OffloadKey) -> list[int] | None:
        return None if key in self._gone else self._table.get(key)

    def lookup(self, key: OffloadKey) -> bool | None:
        entry = self._at(key)
        return False if entry is None else None if entry[1] < 0 else True

    def touch(self, keys: Collection[OffloadKey]) -> None:
        for key in keys:
            if key in self._table and key not in self._gone:
                self._table[key] = self._table.pop(key)

    def prepare_store(self, keys: Collection[OffloadKey]) -> Output | None:
        new = [key for key in dict.fromkeys(keys) if self._at(key) is None]
        idle = [key for key, it in self._table.items() if it[1] == 0 and key not in keys and key not in self._gone]
        victims = idle[: max(0, len(new) - len(self._free))]
        if len(new) > len(self._free) + len(victims):
            return None
        self._free += [self._table[key][0] for key in victims]
        self._gone.update(victims)
        block_ids = [self._free.pop(0) for _ in new]
        self._gone.difference_update(new)
        self._table.update({key: [block_id, -1] for key, block_id in zip(new, block_ids, strict=True)})
        return Output(new, Spec(block_ids), victims)

    def complete_store(self, keys: Collection[OffloadKey], success: bool = True) -> None:
        for key in keys:
            entry = self._at(key)
            if entry is not None and entry[1] < 0:
                entry[1] = 0
                if not success:
                    self._free.append(entry[0])
                    self._gone.add(key)

    def prepare_load(self, keys: Collection[OffloadKey]) -> Spec:
        for key in keys:
            self._table[key][1] += 1
        return Spec([self._table[key][0] for key in keys])

    def complete_load(self, keys: Collection[OffloadKey]) -> None:
        for key in keys:
            self._table[key][1] -= 1

    def take_events(self) -> list[Event]:
        for key in self._gone:
            del self._table[key]
        self._gone.clear()
        ready = {key for key, (_, ref_cnt) in self._table.items() if ref_cnt >= 0}
        events = [Event([key], "CPU", removed=True) for key in self._told - ready]
        events += [Event([key], "CPU", removed=False) for key in ready - self._told]
        self._told = ready
        return events


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


def _without_capacity(policy: type[Any]) -> Callable[[int], Any]:
    return lambda _: policy()


def _managed(policy: Callable[[int], CachePolicy]) -> Callable[[int], CPUOffloadingManager]:
    return lambda num_blocks: CPUOffloadingManager(num_blocks, policy, enable_events=True)


_POLICIES: tuple[type[Any], ...] = (
    FifoPolicy,
    MruPolicy,
    LargestKeyPolicy,
    SeededRandomPolicy,
    ScanningPolicy,
    CopyingPolicy,
    SecondChancePolicy,
    StrictPolicy,
    SealedPolicy,
    GhostlyPolicy,
    OldVllmPolicy,
    NewVllmPolicy,
)
_IN_MANAGER = (FifoPolicy, CopyingPolicy, StrictPolicy, ScanningPolicy)
_MANAGERS: tuple[type[Any], ...] = (
    OpaqueManager,
    TopDownManager,
    StrictManager,
    LazyManager,
    VllmManager,
    OldVllmManager,
)
_FAMILIES = (InProcessLru, MultiProcessLru)
RANDOM = ("no-deterministic",)

CORRECT = (
    *(Unusual(policy.__name__, "policy", policy) for policy in _POLICIES),
    *(Unusual(policy.__name__, "policy", _without_capacity(policy)) for policy in _FAMILIES),
    Unusual("RandomPolicy", "policy", RandomPolicy, RANDOM),
    *(Unusual(f"{policy.__name__}InManager", "manager", _managed(policy)) for policy in _IN_MANAGER),
    Unusual("RandomPolicyInManager", "manager", _managed(RandomPolicy), RANDOM),
    *(Unusual(manager.__name__, "manager", manager) for manager in _MANAGERS),
)
"""All of them."""
