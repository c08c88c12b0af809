"""Small policies and managers of the shapes that vLLM and LMCache have had, which import neither.

Each behaves; the tests seed a mistake where they need one. The number in a name is the vLLM release of that shape.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

from kvoffload import OffloadKey
from kvoffload.contract import BlockStatus
from kvoffload.contract.search.search import search
from kvoffload.contract.targets.target import Target

Victims = list[tuple[OffloadKey, Any]]


def first_broken(target: Target) -> str:
    """The id of the clause that is seen broken first, in a few histories; empty if none is."""
    violation = search(target, budget=60).violation
    return violation.clause.id if violation else ""


class Policy020:
    """One ordered dict; what is idle is found by looking, and nobody tells when a block becomes so."""

    def __init__(self, cache_capacity: int) -> None:
        self.blocks: OrderedDict[OffloadKey, Any] = OrderedDict()

    def get(self, key: OffloadKey) -> Any:
        return self.blocks.get(key)

    def insert(self, key: OffloadKey, block: Any) -> None:
        self.blocks[key] = block

    def remove(self, key: OffloadKey) -> None:
        del self.blocks[key]

    def touch(self, keys: Iterable[OffloadKey]) -> None:
        for key in reversed(list(keys)):
            if key in self.blocks:
                self.blocks.move_to_end(key)

    def evict(self, n: int, protected: set[OffloadKey]) -> Victims | None:
        idle = [(key, block) for key, block in self.blocks.items() if block.ref_cnt == 0 and key not in protected]
        if len(idle) < n:
            return None
        for key, _ in idle[:n]:
            del self.blocks[key]
        return idle[:n]


class Policy024:
    """A list of what is idle, kept by two hooks; it can be cleared."""

    def __init__(self, cache_capacity: int) -> None:
        self.blocks: dict[OffloadKey, Any] = {}
        self.evictable_blocks: OrderedDict[OffloadKey, None] = OrderedDict()

    def get(self, key: OffloadKey) -> Any:
        return self.blocks.get(key)

    def insert(self, key: OffloadKey, block: Any) -> None:
        self.blocks[key] = block
        if block.ref_cnt == 0:
            self.evictable_blocks[key] = None

    def remove(self, key: OffloadKey) -> None:
        del self.blocks[key]
        self.evictable_blocks.pop(key, None)

    def touch(self, keys: Iterable[OffloadKey]) -> None:
        for key in reversed(list(keys)):
            if key in self.evictable_blocks:
                self.evictable_blocks.move_to_end(key)

    def evict(self, n: int, protected: set[OffloadKey]) -> Victims | None:
        idle = [key for key in self.evictable_blocks if key not in protected][:n]
        if len(idle) < n:
            return None
        for key in idle:
            del self.evictable_blocks[key]
        return [(key, self.blocks.pop(key)) for key in idle]

    def clear(self) -> None:
        self.blocks.clear()
        self.evictable_blocks.clear()

    def mark_evictable(self, key: OffloadKey) -> None:
        self.evictable_blocks[key] = None

    def mark_non_evictable(self, key: OffloadKey) -> None:
        del self.evictable_blocks[key]


class Policy026(Policy024):
    """A touch is told for which request."""

    def touch(self, keys: Iterable[OffloadKey], req_context: Any) -> None:  # type: ignore[override]
        super().touch(keys)


class Policy031:
    """Says chunk for block, shows no list, and is told of misses and of the end of a request."""

    def __init__(self, cache_capacity: int) -> None:
        self.chunks: dict[OffloadKey, Any] = {}
        self._ranks: dict[OffloadKey, tuple[int, int]] = {}
        self._next_rank = 0
        self._idle: set[OffloadKey] = set()

    def get(self, key: OffloadKey) -> Any:
        return self.chunks.get(key)

    def insert(self, key: OffloadKey, chunk: Any) -> None:
        self.chunks[key] = chunk
        self._rank(key)
        if chunk.ref_cnt == 0:
            self._idle.add(key)

    def remove(self, key: OffloadKey) -> None:
        del self.chunks[key]
        del self._ranks[key]
        self._idle.discard(key)

    def touch(self, keys: Iterable[OffloadKey], req_context: Any) -> None:
        for key in reversed(list(keys)):
            if key in self.chunks:
                self._rank(key)

    def on_store_miss(self, keys: Iterable[OffloadKey], req_context: Any) -> None:
        self.touch(keys, req_context)

    def on_request_finished(
        self,
        key_groups: Sequence[Sequence[OffloadKey]],
        insertion_only_keys: set[OffloadKey],
        reused_keys: set[OffloadKey],
        req_context: Any,
    ) -> None:
        for keys in key_groups:
            self.touch(keys, req_context)

    def evict(self, n: int, protected: set[OffloadKey]) -> Victims | None:
        idle = sorted(self._idle - protected, key=self._ranks.__getitem__)[:n]
        if len(idle) < n:
            return None
        victims = [(key, self.chunks[key]) for key in idle]
        for key in idle:
            self.remove(key)
        return victims

    def clear(self) -> None:
        self.chunks.clear()
        self._ranks.clear()
        self._idle.clear()
        self._next_rank = 0

    def mark_evictable(self, key: OffloadKey) -> None:
        self._idle.add(key)

    def mark_non_evictable(self, key: OffloadKey) -> None:
        self._idle.remove(key)

    def _rank(self, key: OffloadKey) -> None:
        self._next_rank += 1
        self._ranks[key] = self._next_rank, 0


@dataclass
class RequestRank:
    """What a policy keeps in a request."""

    owner: object
    rank: int


class Policy033(Policy031):
    """An insert is told for which request, whose rank the keys share, the deepest one first."""

    def insert(self, key: OffloadKey, chunk: Any, req_context: Any) -> None:  # type: ignore[override]
        super().insert(key, chunk)
        position = req_context.get_offload_key_position(key)
        if position is not None:
            self._ranks[key] = self._rank_of(req_context), -position

    def on_request_access(self, keys: Iterable[OffloadKey], req_context: Any) -> None:
        for key in keys:
            position = req_context.get_offload_key_position(key)
            if position is not None and key in self.chunks:
                self._ranks[key] = max(self._ranks[key], (self._rank_of(req_context), -position))

    def clear(self) -> None:
        super().clear()
        self._owner = object()

    _owner: object = object()

    def _rank_of(self, req_context: Any) -> int:
        state = req_context.get_state(RequestRank)
        if state is None or state.owner is not self._owner:
            self._next_rank += 1
            state = RequestRank(self._owner, self._next_rank)
            req_context.set_state(state)
        return int(state.rank)


class Number:
    """A whole number that is no ``int``, as numpy has them."""

    def __init__(self, value: int) -> None:
        self._value = value

    def __int__(self) -> int:
        return self._value


class Array:
    """Is iterable and no sequence; whether it is true cannot be said, as of numpy's."""

    def __init__(self, values: Iterable[int]) -> None:
        self._values = list(values)

    def __iter__(self) -> Iterator[Number]:
        return map(Number, self._values)

    def __bool__(self) -> bool:
        raise ValueError("the truth value of an array is ambiguous")


@dataclass
class Spec:
    block_ids: Any


@dataclass
class Output:
    keys_to_store: list[OffloadKey]
    store_spec: Any
    evicted_keys: list[OffloadKey]


@dataclass
class Event:
    keys: list[OffloadKey]
    medium: str
    removed: bool
    metadata_only: bool = False


class Result(Enum):
    """As vLLM's, whose order is another one and which has one more."""

    MISS = auto()
    HIT = auto()
    HIT_PENDING = auto()
    RETRY = auto()


class Manager020:
    """Completions and touches are told no request; a pending key is looked up as missing; there is no reset."""

    make_policy: Any = Policy020

    def __init__(self, num_blocks: int, enable_events: bool = True) -> None:
        self._num_blocks = num_blocks
        self._policy = type(self).make_policy(num_blocks)
        self._free = list(range(num_blocks))
        self.events: list[Event] | None = [] if enable_events else None

    def lookup(self, key: OffloadKey, req_context: Any) -> Any:
        block = self._policy.get(key)
        return block is not None and block.is_ready

    def prepare_load(self, keys: Iterable[OffloadKey], req_context: Any) -> Any:
        blocks = []
        for key in keys:
            block = self._policy.get(key)
            assert block is not None and block.is_ready
            self._moves(key, block, 1)
            blocks.append(block)
        return self._spec(blocks)

    def touch(self, keys: Iterable[OffloadKey]) -> None:
        self._policy.touch(keys)

    def complete_load(self, keys: Iterable[OffloadKey]) -> None:
        for key in keys:
            block = self._policy.get(key)
            assert block is not None and block.ref_cnt > 0
            self._moves(key, block, -1)

    def prepare_store(self, keys: Iterable[OffloadKey], req_context: Any) -> Any:
        keys = list(keys)
        new = [key for key in keys if self._policy.get(key) is None]
        evicted = self._make_room(len(new) - len(self._free), set(keys))
        if evicted is None:
            return None
        self._free += [block.block_id for _, block in evicted]
        blocks = [BlockStatus(self._free.pop(0)) for _ in new]
        for key, block in zip(new, blocks, strict=True):
            self._insert(key, block, req_context)
        gone = [key for key, _ in evicted]
        self._tell(gone, removed=True)
        return Output(new, self._spec(blocks), gone)

    def complete_store(self, keys: Iterable[OffloadKey], success: bool = True) -> None:
        pending = []
        for key in keys:
            block = self._policy.get(key)
            if block is not None and not block.is_ready:
                pending.append(key)
                if success:
                    self._moves(key, block, 1)
                else:
                    self._policy.remove(key)
                    self._free.append(block.block_id)
        if success:
            self._tell(pending, removed=False)

    def take_events(self) -> Any:
        if self.events is not None:
            yield from self.events
            self.events.clear()

    def _make_room(self, need: int, protected: set[OffloadKey]) -> Any:
        return self._policy.evict(need, protected) if need > 0 else []

    def _insert(self, key: OffloadKey, block: BlockStatus, req_context: Any) -> None:
        self._policy.insert(key, block)

    def _moves(self, key: OffloadKey, block: BlockStatus, by: int) -> None:
        block.ref_cnt += by

    def _spec(self, blocks: Iterable[BlockStatus]) -> Any:
        return Spec(Array(block.block_id for block in blocks))

    def _tell(self, keys: list[OffloadKey], removed: bool) -> None:
        if keys and self.events is not None:
            self.events.append(Event(keys, "CPU", removed))


class Manager024(Manager020):
    """Every call is told the request; it counts what is evictable; a pending key is looked up as ``None``."""

    make_policy: Any = Policy024

    def __init__(self, num_blocks: int, enable_events: bool = True) -> None:
        super().__init__(num_blocks, enable_events)
        self._num_evictable_cache_blocks = 0

    def lookup(self, key: OffloadKey, req_context: Any) -> Any:
        block = self._policy.get(key)
        return False if block is None else True if block.is_ready else None

    def touch(self, keys: Collection[OffloadKey], req_context: Any) -> None:  # type: ignore[override]
        self._policy.touch(keys)

    def complete_load(self, keys: Collection[OffloadKey], req_context: Any) -> None:  # type: ignore[override]
        super().complete_load(keys)

    def complete_store(  # type: ignore[override]
        self, keys: Collection[OffloadKey], req_context: Any, success: bool = True
    ) -> None:
        super().complete_store(keys, success)

    def reset_cache(self) -> None:
        self._policy.clear()
        self._free = list(range(self._num_blocks))
        self._num_evictable_cache_blocks = 0

    def _get_num_free_blocks(self) -> int:
        return len(self._free)

    def _make_room(self, need: int, protected: set[OffloadKey]) -> Any:
        if need > self._num_evictable_cache_blocks:
            return None
        victims = super()._make_room(need, protected)
        self._num_evictable_cache_blocks -= len(victims or ())
        return victims

    def _moves(self, key: OffloadKey, block: BlockStatus, by: int) -> None:
        was_idle = block.ref_cnt == 0
        block.ref_cnt += by
        if was_idle:
            self._num_evictable_cache_blocks -= 1
            self._policy.mark_non_evictable(key)
        elif block.ref_cnt == 0:
            self._num_evictable_cache_blocks += 1
            self._policy.mark_evictable(key)


class Manager025(Manager024):
    """A lookup answers by name."""

    def lookup(self, key: OffloadKey, req_context: Any) -> Any:
        block = self._policy.get(key)
        return Result.MISS if block is None else Result.HIT if block.is_ready else Result.HIT_PENDING


@dataclass
class Chunks:
    chunk_ids: Any


class Chunk(BlockStatus):
    @property
    def chunk_id(self) -> int:
        return self.block_id


class Manager033(Manager025):
    """Says chunk for block; is told of the end of a request; some of its events are for itself only."""

    make_policy: Any = Policy033

    def touch(self, keys: Collection[OffloadKey], req_context: Any) -> None:  # type: ignore[override]
        self._policy.touch(keys, req_context)

    def on_request_finished(self, req_context: Any) -> None:
        self._policy.on_request_finished([], set(), set(), req_context)

    def _insert(self, key: OffloadKey, block: BlockStatus, req_context: Any) -> None:
        self._policy.insert(key, block, req_context)

    def _spec(self, blocks: Iterable[BlockStatus]) -> Any:
        return Chunks([block.block_id for block in blocks])

    def _tell(self, keys: list[OffloadKey], removed: bool) -> None:
        super()._tell(keys, removed)
        if self.events is not None:
            self.events.append(Event(keys, "CPU", removed=True, metadata_only=True))


class InProcess:
    """LMCache's in-process LRU: it orders a cache that its caller keeps."""

    def init_mutable_mapping(self) -> OrderedDict[Any, Any]:
        return OrderedDict()

    def update_on_hit(self, key: Any, cache_dict: OrderedDict[Any, Any]) -> None:
        cache_dict.move_to_end(key)

    def update_on_put(self, key: Any) -> None:
        pass

    def update_on_force_evict(self, key: Any) -> None:
        pass

    def get_evict_candidates(self, cache_dict: OrderedDict[Any, Any], num_candidates: int = 1) -> list[Any]:
        return [key for key, entry in cache_dict.items() if entry.can_evict][:num_candidates]


@dataclass
class Action:
    keys: list[Any]
    destination: str = "discard"


class MultiProcess:
    """LMCache's multi-process LRU: it proposes a share of its keys, and is told which have left."""

    def __init__(self, default_destination: str = "discard") -> None:
        self._order: OrderedDict[Any, None] = OrderedDict()

    def on_keys_created(self, keys: list[Any]) -> None:
        for key in reversed(keys):
            self._order[key] = None

    def on_keys_touched(self, keys: list[Any]) -> None:
        for key in reversed(keys):
            if key in self._order:
                self._order.move_to_end(key)

    def on_keys_removed(self, keys: list[Any]) -> None:
        for key in keys:
            self._order.pop(key, None)

    def get_eviction_actions(
        self,
        expected_ratio: float,
        key_eligible_filter: Callable[[Any], bool] | None = None,
        cache_salt: str | None = None,
    ) -> list[Action]:
        count = int(len(self._order) * min(1.0, expected_ratio))
        eligible = [key for key in self._order if key_eligible_filter is None or key_eligible_filter(key)]
        return [Action(eligible[:count])] if eligible[:count] else []
