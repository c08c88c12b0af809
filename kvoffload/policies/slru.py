"""Segmented least recently used: a block has to be used again before it is kept at the cost of others."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence, Set
from itertools import chain, filterfalse, islice

from kvoffload.policies.base import BlockStatus
from kvoffload.policies.per_request import PerRequestPolicy
from kvoffload.types import NO_REQUEST, OffloadKey, ReqContext


class SLRUCachePolicy(PerRequestPolicy):
    """Evicts what was not used again, or not lately, before what was; of either the least recent block first.

    SLRU (Karedla, Love and Wherry, IEEE Computer 1994), for batches of blocks that may be pinned:

    * An access is a store of the key or a touch of its block once that is written, one per key and request: a request
      that touches again what it stored or touched last changes nothing. Without a request's name every touch counts.
    * A key that is stored enters the probationary segment. An access by another request moves it to the protected
      segment. A pending block that is touched stays where it is.
    * A block moves to the most recent end of its segment when it becomes idle, and on an access.
    * The protected segment should hold at most its share of the capacity, rounded down; pinned blocks count. While it
      holds more, its least recent idle block goes back to the most recent end of the probationary segment. A pinned
      block stays: if no block of the segment is idle, it holds too many until one becomes idle, which then goes back
      (as does a block that is accessed while idle), or until one leaves. So no call moves more than one block back for
      each key it names.
    * Victims are the idle unprotected blocks of the probationary segment, then those of the protected one, the least
      recent first. A victim, and what is removed, leaves nothing behind.

    Only the idle blocks stand in the lists that ``evict`` walks, so that it costs O(n) however many are pinned.

    Args:
        cache_capacity: the most blocks that will be resident at a time.
        protected_share: how much of the capacity the protected segment may hold, 0 to 1. With 0, whatever is idle
            stands in one queue, least recent first; with 1, nothing ever goes back to the probationary segment.

    Attributes:
        blocks: every resident block by key.
        probationary_segment: its keys, each with the request that used it last.
        protected_segment: its keys; nothing to do with the keys that a call of ``evict`` protects.
        evictable_probationary: the idle blocks of the probationary segment, least recent first.
        evictable_protected: those of the protected segment.
        most_protected: how many blocks the protected segment should hold at most.

    Raises:
        ValueError: if ``cache_capacity`` is negative or ``protected_share`` is not between 0 and 1.
    """

    def __init__(self, cache_capacity: int, protected_share: float = 0.8) -> None:
        super().__init__(cache_capacity)
        if not 0 <= protected_share <= 1:
            raise ValueError(f"protected_share is {protected_share}; it is a share of the capacity, from 0 to 1.")
        self.probationary_segment: dict[OffloadKey, str] = {}
        self.protected_segment: dict[OffloadKey, str] = {}
        self.evictable_probationary: OrderedDict[OffloadKey, BlockStatus] = OrderedDict()
        self.evictable_protected: OrderedDict[OffloadKey, BlockStatus] = OrderedDict()
        self.most_protected = int(cache_capacity * protected_share)

    @property
    def evictable_blocks(self) -> Mapping[OffloadKey, BlockStatus]:
        """The idle blocks, next victim first; made anew on each use."""
        return {**self.evictable_probationary, **self.evictable_protected}

    def insert(self, key: OffloadKey, block: BlockStatus) -> None:
        self.blocks[key] = block
        self.probationary_segment[key] = self._storing_request
        if block.ref_cnt == 0:
            self.evictable_probationary[key] = block

    def remove(self, key: OffloadKey) -> None:
        del self.blocks[key]
        for segment in (self.probationary_segment, self.protected_segment):
            segment.pop(key, None)
        self.mark_non_evictable(key)

    def touch(self, keys: Sequence[OffloadKey], req_context: ReqContext = NO_REQUEST) -> None:
        request = req_context.req_id
        # Tail first, each key once: the head of a prefix ends up the most recent.
        for key in reversed(dict.fromkeys(keys)):
            block = self.blocks.get(key)
            if block is None or block.ref_cnt < 0:
                continue
            on_probation = key in self.probationary_segment
            used_by = self.probationary_segment[key] if on_probation else self.protected_segment[key]
            if request and used_by == request:
                continue
            if on_probation:  # probationary -> protected
                del self.probationary_segment[key]
                self.evictable_probationary.pop(key, None)
            self.protected_segment[key] = request
            if block.ref_cnt == 0:
                self.evictable_protected[key] = block
                self.evictable_protected.move_to_end(key)
            self._keep_to_share()

    def evict(self, n: int, protected: Set[OffloadKey]) -> list[tuple[OffloadKey, BlockStatus]] | None:
        self.check_eviction_count(n)
        in_order = chain(self.evictable_probationary, self.evictable_protected)
        victims = [(key, self.blocks[key]) for key in islice(filterfalse(protected.__contains__, in_order), n)]
        if len(victims) < n:
            return None
        for key, _ in victims:
            self.remove(key)
        return victims

    def clear(self) -> None:
        for part in (self.blocks, self.probationary_segment, self.protected_segment):
            part.clear()
        self.evictable_probationary.clear()
        self.evictable_protected.clear()

    def mark_evictable(self, key: OffloadKey) -> None:
        if key in self.probationary_segment:
            self.evictable_probationary[key] = self.blocks[key]
        else:
            self.evictable_protected[key] = self.blocks[key]
            self._keep_to_share()

    def mark_non_evictable(self, key: OffloadKey) -> None:
        self.evictable_probationary.pop(key, None)
        self.evictable_protected.pop(key, None)

    def _keep_to_share(self) -> None:
        # One block is enough, since this follows every block that joins the segment or becomes idle in it: before that
        # one, the segment held no more than its share, or had no idle block.
        if len(self.protected_segment) > self.most_protected and self.evictable_protected:  # protected -> probationary
            key, block = self.evictable_protected.popitem(last=False)
            self.probationary_segment[key] = self.protected_segment.pop(key)
            self.evictable_probationary[key] = block

    def __repr__(self) -> str:
        return (
            f"SLRUCachePolicy({len(self.blocks)} of {self.cache_capacity} blocks; "
            f"probationary {len(self.probationary_segment)}, "
            f"protected {len(self.protected_segment)} of {self.most_protected})"
        )
