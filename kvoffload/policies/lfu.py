"""Least frequently used, with an age that lets old favourites go."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import filterfalse, islice

from kvoffload.policies.base import BlockStatus
from kvoffload.policies.per_request import PerRequestPolicy
from kvoffload.types import NO_REQUEST, OffloadKey, ReqContext


@dataclass(slots=True)
class Usage:
    """How often a resident block was used, that plus the age of the cache at the last use, and who used it then."""

    count: int
    priority: int
    used_by: str


class LFUCachePolicy(PerRequestPolicy):
    """Evicts the blocks of the lowest priority: how often a block was used, plus how old the cache was the last time.

    LFU with dynamic aging (LFU-DA; Arlitt, Cherkasova, Dilley, Friedrich and Jin, SIGMETRICS PER 2000), for batches of
    blocks that may be pinned:

    * A use is a store of the key or a touch of its block once that is written, one per key and request: a request that
      touches again what it stored or touched last changes nothing. Without a request's name every touch counts. A
      pending block that is touched stays what it is.
    * A use sets the block's priority to the number of its uses since it was stored, this one included, plus the age of
      the cache.
    * The age is 0 at first, and rises to the priority of each victim. It never falls: a block that was pinned or
      protected while others of higher priority were evicted does not turn it back.
    * Victims are the idle unprotected blocks of the lowest priority; of equal ones the least recent first, that is the
      one that became idle, or was used while idle, longest ago.
    * A victim, and what is removed, leaves nothing behind: stored again, it starts with one use.

    Only the idle blocks stand in the buckets, one for each priority, so that ``evict`` costs O(n) however many are
    pinned. An emptied bucket stays until an eviction comes upon it, or the buckets are twice as many as those in use
    were: its opening has paid for that. To open or visit one also costs the logarithm of their number, for the heap.

    Attributes:
        blocks: every resident block by key.
        usage: how each was used.
        buckets: the idle blocks by priority, least recent first; empty ones may be among them.
        age: the highest priority of any victim so far.
    """

    def __init__(self, cache_capacity: int) -> None:
        super().__init__(cache_capacity)
        self.usage: dict[OffloadKey, Usage] = {}
        self.buckets: dict[int, OrderedDict[OffloadKey, BlockStatus]] = {}
        self.age = 0
        self._priorities: list[int] = []  # a heap of the keys of ``buckets``, each once
        self._most_buckets = 1

    @property
    def evictable_blocks(self) -> Mapping[OffloadKey, BlockStatus]:
        """The idle blocks, next victim first; made anew on each use."""
        return {key: block for priority in sorted(self.buckets) for key, block in self.buckets[priority].items()}

    def insert(self, key: OffloadKey, block: BlockStatus) -> None:
        self.blocks[key] = block
        self.usage[key] = Usage(1, self.age + 1, self._storing_request)
        if block.ref_cnt == 0:
            self.mark_evictable(key)

    def remove(self, key: OffloadKey) -> None:
        self.mark_non_evictable(key)
        del self.blocks[key], self.usage[key]

    def touch(self, keys: Sequence[OffloadKey], req_context: ReqContext = NO_REQUEST) -> None:
        request = req_context.req_id
        # Tail first, each key once: the head of a prefix ends up the most recent.
        for key in reversed(dict.fromkeys(keys)):
            block = self.blocks.get(key)
            if block is None or block.ref_cnt < 0:
                continue
            usage = self.usage[key]
            if request and usage.used_by == request:
                continue
            self.mark_non_evictable(key)
            usage.count += 1
            usage.priority = usage.count + self.age
            usage.used_by = request
            if block.ref_cnt == 0:
                self.mark_evictable(key)

    def evict(self, n: int, protected: Set[OffloadKey]) -> list[tuple[OffloadKey, BlockStatus]] | None:
        self.check_eviction_count(n)
        chosen: list[OffloadKey] = []
        visited: list[int] = []
        while self._priorities and len(chosen) < n:
            priority = heappop(self._priorities)
            if bucket := self.buckets[priority]:
                visited.append(priority)
                chosen += islice(filterfalse(protected.__contains__, bucket), n - len(chosen))
            else:
                del self.buckets[priority]
        for priority in visited:
            heappush(self._priorities, priority)
        if len(chosen) < n:
            return None
        victims = [(key, self.blocks[key]) for key in chosen]
        for key in chosen:
            self.age = max(self.age, self.usage[key].priority)
            self.remove(key)
        return victims

    def clear(self) -> None:
        for part in (self.blocks, self.usage, self.buckets):
            part.clear()
        self._drop_empty_buckets()
        self.age = 0

    def mark_evictable(self, key: OffloadKey) -> None:
        priority = self.usage[key].priority
        if priority not in self.buckets:
            if len(self.buckets) > self._most_buckets:
                self._drop_empty_buckets()
            self.buckets[priority] = OrderedDict()
            heappush(self._priorities, priority)
        self.buckets[priority][key] = self.blocks[key]

    def mark_non_evictable(self, key: OffloadKey) -> None:
        if bucket := self.buckets.get(self.usage[key].priority):
            bucket.pop(key, None)

    def _drop_empty_buckets(self) -> None:
        self.buckets = {priority: bucket for priority, bucket in self.buckets.items() if bucket}
        self._priorities = sorted(self.buckets)
        self._most_buckets = 2 * len(self.buckets) + 1

    def __repr__(self) -> str:
        return f"LFUCachePolicy({len(self.blocks)} of {self.cache_capacity} blocks; age {self.age})"
