"""Correct managers and policies of the shapes that vLLM and LMCache have given theirs."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Sequence, Set
from dataclasses import dataclass
from typing import Any, NamedTuple

from kvoffload import LookupResult, OffloadKey, ReqContext

Victims = list[tuple[OffloadKey, Any]]


# --- vLLM's policies ---


class OldVllmPolicy:
    """As of vLLM 0.23: no request, no ``mark_*``, no ``clear``; the eviction walks past the blocks that are busy."""

    def __init__(self, cache_capacity: int) -> None:
        self.cache_capacity = cache_capacity
        self.blocks: OrderedDict[OffloadKey, Any] = OrderedDict()

    def get(self, key: OffloadKey) -> Any:
        return self.blocks.get(key)

    def insert(self, key: OffloadKey, block: Any) -> None:
        self.blocks[key] = block

    def remove(self, key: OffloadKey) -> None:
        del self.blocks[key]

    def touch(self, keys: Collection[OffloadKey]) -> None:
        for key in reversed(list(keys)):
            if key in self.blocks:
                self.blocks.move_to_end(key)

    def evict(self, n: int, protected: set[OffloadKey]) -> Victims | None:
        victims = [(key, block) for key, block in self.blocks.items() if block.ref_cnt == 0 and key not in protected]
        if len(victims) < n:
            return None
        for key, _ in victims[:n]:
            del self.blocks[key]
        return victims[:n]


class NewVllmPolicy:
    """As of vLLM 0.33: every hook is told the request, and a chunk ranks as its latest request does."""

    def __init__(self, cache_capacity: int) -> None:
        self.chunks: dict[OffloadKey, Any] = {}
        self._ranks: dict[OffloadKey, tuple[int, int]] = {}
        self._evictable: set[OffloadKey] = set()
        self._num_uses = 0

    def get(self, key: OffloadKey) -> Any:
        return self.chunks.get(key)

    def insert(self, key: OffloadKey, chunk: Any, req_context: ReqContext) -> None:
        self.chunks[key] = chunk
        self._rank(key, req_context)
        if chunk.ref_cnt == 0:
            self.mark_evictable(key)

    def remove(self, key: OffloadKey) -> None:
        del self.chunks[key], self._ranks[key]
        self._evictable.discard(key)

    def touch(self, keys: Collection[OffloadKey], req_context: ReqContext) -> None:
        for key in keys:
            if key in self.chunks:
                self._rank(key, req_context)

    def evict(self, n: int, protected: set[OffloadKey]) -> Victims | None:
        victims = sorted(self._evictable - protected, key=self._ranks.__getitem__)[:n]
        if len(victims) < n:
            return None
        pairs = [(key, self.chunks[key]) for key in victims]
        for key in victims:
            self.remove(key)
        return pairs

    def clear(self) -> None:
        self.__init__(0)  # type: ignore[misc]

    def mark_evictable(self, key: OffloadKey) -> None:
        self._evictable.add(key)

    def mark_non_evictable(self, key: OffloadKey) -> None:
        self._evictable.discard(key)

    def on_store_miss(self, keys: Collection[OffloadKey], req_context: ReqContext) -> None:
        self.touch(keys, req_context)

    def on_request_access(self, keys: Collection[OffloadKey], req_context: ReqContext) -> None:
        pass

    def on_request_finished(
        self,
        key_groups: Sequence[Sequence[OffloadKey]],
        insertion_only_keys: Set[OffloadKey],
        reused_keys: Set[OffloadKey],
        req_context: ReqContext,
    ) -> None:
        for keys in key_groups:
            self.touch(keys, req_context)

    def _rank(self, key: OffloadKey, req_context: Any) -> None:
        self._num_uses += 1
        self._ranks[key] = (self._num_uses, -(req_context.get_offload_key_position(key) or 0))


# --- vLLM's managers ---


class Spec(NamedTuple):
    """Where the blocks of a transfer lie."""

    block_ids: list[int]


class Output(NamedTuple):
    """What an accepted store comes to."""

    keys_to_store: list[OffloadKey]
    store_spec: Spec
    evicted_keys: list[OffloadKey]


class Event(NamedTuple):
    """Keys that are stored, or removed."""

    keys: list[OffloadKey]
    medium: str
    removed: bool


@dataclass
class Chunk:
    """A block and its count."""

    block_id: int
    ref_cnt: int = -1


class VllmManager:
    """As of vLLM 0.25 to 0.30: the request comes last and always, no transfer has an id, a reset announces nothing."""

    def __init__(self, num_blocks: int) -> None:
        self._num_blocks = num_blocks
        self.reset_cache()
        self.events: list[Event] = []

    def reset_cache(self) -> None:
        self._policy: Any = OldVllmPolicy(self._num_blocks)
        self._free = list(range(self._num_blocks))
        self._num_evictable_cache_blocks = 0

    def _get_num_free_blocks(self) -> int:
        return len(self._free)

    def lookup(self, key: OffloadKey, req_context: ReqContext) -> Any:
        block = self._policy.get(key)
        if block is None:
            return LookupResult.MISS
        return LookupResult.HIT_PENDING if block.ref_cnt < 0 else LookupResult.HIT

    def touch(self, keys: Collection[OffloadKey], req_context: ReqContext) -> None:
        self._policy.touch(keys)

    def prepare_store(self, keys: Collection[OffloadKey], req_context: ReqContext) -> Output | None:
        new_keys = [key for key in keys if self._policy.get(key) is None]
        need = len(new_keys) - len(self._free)
        if need > self._num_evictable_cache_blocks:
            return None
        evicted = self._policy.evict(need, self._protected(keys)) if need > 0 else []
        if evicted is None:
            return None
        self._num_evictable_cache_blocks -= len(evicted)
        self._free += [block.block_id for _, block in evicted]
        if evicted:
            self.events.append(Event([key for key, _ in evicted], "CPU", removed=True))
        block_ids, self._free = self._free[: len(new_keys)], self._free[len(new_keys) :]
        for key, block_id in zip(new_keys, block_ids, strict=True):
            self._policy.insert(key, Chunk(block_id))
        return Output(new_keys, Spec(block_ids), [key for key, _ in evicted])

    def _protected(self, keys: Collection[OffloadKey]) -> set[OffloadKey]:
        return set(keys)

    def complete_store(self, keys: Collection[OffloadKey], req_context: ReqContext, success: bool = True) -> None:
        stored = []
        for key in keys:
            block = self._policy.get(key)
            if block is None or block.ref_cnt >= 0:
                continue
            if success:
                block.ref_cnt = 0
                self._num_evictable_cache_blocks += 1
                stored.append(key)
            else:
                self._policy.remove(key)
                self._free.append(block.block_id)
        if stored:
            self.events.append(Event(stored, "CPU", removed=False))

    def prepare_load(self, keys: Collection[OffloadKey], req_context: ReqContext) -> Spec:
        blocks = [self._policy.get(key) for key in keys]
        for block in blocks:
            block.ref_cnt += 1
            self._num_evictable_cache_blocks -= block.ref_cnt == 1
        return Spec([block.block_id for block in blocks])

    def complete_load(self, keys: Collection[OffloadKey], req_context: ReqContext) -> None:
        for key in keys:
            block = self._policy.get(key)
            block.ref_cnt -= 1
            self._num_evictable_cache_blocks += block.ref_cnt == 0

    def take_events(self) -> Iterable[Event]:
        events, self.events = self.events, []
        yield from events


class OldVllmManager:
    """As of vLLM 0.20: no request, no reset, no events, no counter; a lookup is true or false."""

    def __init__(self, num_blocks: int) -> None:
        self.manager = VllmManager(num_blocks)

    def lookup(self, key: OffloadKey) -> bool:
        return self.manager.lookup(key, ReqContext("")) is LookupResult.HIT

    def touch(self, keys: Collection[OffloadKey]) -> None:
        self.manager.touch(keys, ReqContext(""))

    def prepare_store(self, keys: Collection[OffloadKey]) -> Output | None:
        return self.manager.prepare_store(keys, ReqContext(""))

    def complete_store(self, keys: Collection[OffloadKey], success: bool = True) -> None:
        self.manager.complete_store(keys, ReqContext(""), success)

    def prepare_load(self, keys: Collection[OffloadKey]) -> Spec:
        return self.manager.prepare_load(keys, ReqContext(""))

    def complete_load(self, keys: Collection[OffloadKey]) -> None:
        self.manager.complete_load(keys, ReqContext(""))


# --- LMCache's policies ---


class InProcessLru:
    """As of LMCache 0.5, in process: the caller keeps the cache, and the policy orders it."""

    def init_mutable_mapping(self) -> OrderedDict[OffloadKey, Any]:
        return OrderedDict()

    def update_on_hit(self, key: OffloadKey, cache_dict: OrderedDict[OffloadKey, Any]) -> None:
        cache_dict.move_to_end(key)

    def update_on_put(self, key: OffloadKey) -> None:
        pass

    def update_on_force_evict(self, key: OffloadKey) -> None:
        pass

    def get_evict_candidates(
        self, cache_dict: OrderedDict[OffloadKey, Any], num_candidates: int = 1
    ) -> list[OffloadKey]:
        return [key for key, entry in cache_dict.items() if entry.can_evict][:num_candidates]


class Action(NamedTuple):
    """Keys that should go."""

    keys: list[OffloadKey]


class MultiProcessLru:
    """As of LMCache 0.5, with its own process: the policy proposes, and is told what has gone."""

    def __init__(self) -> None:
        self.tracked: OrderedDict[OffloadKey, None] = OrderedDict()

    def on_keys_created(self, keys: list[OffloadKey]) -> None:
        self.tracked.update(dict.fromkeys(keys))

    def on_keys_touched(self, keys: list[OffloadKey]) -> None:
        for key in keys:
            if key in self.tracked:
                self.tracked.move_to_end(key)

    def on_keys_removed(self, keys: list[OffloadKey]) -> None:
        for key in keys:
            self.tracked.pop(key, None)

    def get_eviction_actions(
        self,
        expected_ratio: float,
        key_eligible_filter: Callable[[OffloadKey], bool] | None = None,
        cache_salt: str | None = None,
    ) -> list[Action]:
        eligible = [key for key in self.tracked if key_eligible_filter is None or key_eligible_filter(key)]
        return [Action(eligible[: int(expected_ratio * len(self.tracked))])]
