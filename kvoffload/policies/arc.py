"""Adaptive replacement: what was used once, what was used again, and ghosts that say which of the two to keep."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence, Set
from itertools import filterfalse, islice

from kvoffload.policies.base import BlockStatus
from kvoffload.policies.per_request import PerRequestPolicy
from kvoffload.types import NO_REQUEST, OffloadKey, ReqContext


class ARCCachePolicy(PerRequestPolicy):
    """Evicts from what one request has used, or from what several have, whichever its ghosts say is worth less.

    ARC (Megiddo and Modha, FAST 2003), for batches of blocks that may be pinned:

    * An access is a store of the key or a touch of its block once that is written, one per key and request: a request
      that touches again what it stored or touched last changes nothing. Without a request's name every touch counts.
    * A key that is stored for the first time enters ``t1``. An access by another request moves it to ``t2``. A pending
      block that is touched stays where it is.
    * A victim becomes a ghost: of ``b1`` if it leaves ``t1``, of ``b2`` if it leaves ``t2``. A ghost that is stored
      again enters ``t2``, and moves the target for the size of ``t1`` up (``b1``) or down (``b2``) by the integer ratio
      of the other ghost list to its own, at least 1. A touch of a ghost changes nothing.
    * The victims of a batch are chosen one by one: from ``t1`` while that is above its target, else from ``t2``; from
      the other side where one has no idle unprotected block left. The least recent goes first: a block moves to the
      most recent end when it becomes idle, and on an access.
    * ``t1`` and ``b1`` together hold at most the capacity, all four at most twice as much; the oldest ghosts go.

    Only the idle blocks stand in the lists that ``evict`` walks, so that it costs O(n) however many are pinned.

    Attributes:
        blocks: every resident block by key.
        t1: the resident keys on the side of recency, each with the request that used it last.
        t2: those on the side of frequency.
        evictable_t1: the idle blocks of ``t1``, least recent first.
        evictable_t2: the idle blocks of ``t2``.
        b1: the ghosts of ``t1``, oldest first.
        b2: the ghosts of ``t2``.
        target_t1_size: how many blocks ``t1`` should have, 0 to the capacity.
    """

    def __init__(self, cache_capacity: int) -> None:
        super().__init__(cache_capacity)
        self.t1: dict[OffloadKey, str] = {}
        self.t2: dict[OffloadKey, str] = {}
        self.evictable_t1: OrderedDict[OffloadKey, BlockStatus] = OrderedDict()
        self.evictable_t2: OrderedDict[OffloadKey, BlockStatus] = OrderedDict()
        self.b1: OrderedDict[OffloadKey, None] = OrderedDict()
        self.b2: OrderedDict[OffloadKey, None] = OrderedDict()
        self.target_t1_size = 0

    @property
    def evictable_blocks(self) -> Mapping[OffloadKey, BlockStatus]:
        """The idle blocks of both sides, those of ``t1`` first; made anew on each use."""
        return {**self.evictable_t1, **self.evictable_t2}

    def insert(self, key: OffloadKey, block: BlockStatus) -> None:
        self.blocks[key] = block
        if key in self.b1:
            step = max(1, len(self.b2) // len(self.b1))
            self.target_t1_size = min(self.cache_capacity, self.target_t1_size + step)
            del self.b1[key]
            self.t2[key] = self._storing_request
        elif key in self.b2:
            step = max(1, len(self.b1) // len(self.b2))
            self.target_t1_size = max(0, self.target_t1_size - step)
            del self.b2[key]
            self.t2[key] = self._storing_request
        else:
            self.t1[key] = self._storing_request
        if block.ref_cnt == 0:
            self.mark_evictable(key)
        self._forget_old_ghosts()

    def remove(self, key: OffloadKey) -> None:
        del self.blocks[key]
        for side in (self.t1, self.t2, self.evictable_t1, self.evictable_t2):
            side.pop(key, None)

    def touch(self, keys: Sequence[OffloadKey], req_context: ReqContext = NO_REQUEST) -> None:
        request = req_context.req_id
        # Tail first, each key once: the head of a prefix ends up the most recent.
        for key in reversed(dict.fromkeys(keys)):
            block = self.blocks.get(key)
            if block is None or block.ref_cnt < 0:
                continue
            used_by = self.t1.get(key) if key in self.t1 else self.t2[key]
            if request and used_by == request:
                continue
            if key in self.t1:  # recency -> frequency
                del self.t1[key]
                self.evictable_t1.pop(key, None)
            self.t2[key] = request
            if block.ref_cnt == 0:
                self.evictable_t2[key] = block
                self.evictable_t2.move_to_end(key)

    def evict(self, n: int, protected: Set[OffloadKey]) -> list[tuple[OffloadKey, BlockStatus]] | None:
        self.check_eviction_count(n)
        from_t1 = list(islice(filterfalse(protected.__contains__, self.evictable_t1), n))
        from_t2 = list(islice(filterfalse(protected.__contains__, self.evictable_t2), n))
        if len(from_t1) + len(from_t2) < n:
            return None
        num_above_target = min(n, len(from_t1), max(0, len(self.t1) - self.target_t1_size))
        num_from_t2 = min(n - num_above_target, len(from_t2))
        num_from_t1 = n - num_from_t2
        chosen = from_t1[:num_above_target] + from_t2[:num_from_t2] + from_t1[num_above_target:num_from_t1]
        for key in from_t1[:num_from_t1]:
            del self.t1[key], self.evictable_t1[key]
            self.b1[key] = None
        for key in from_t2[:num_from_t2]:
            del self.t2[key], self.evictable_t2[key]
            self.b2[key] = None
        return [(key, self.blocks.pop(key)) for key in chosen]

    def clear(self) -> None:
        for part in (self.blocks, self.t1, self.t2, self.evictable_t1, self.evictable_t2, self.b1, self.b2):
            part.clear()
        self.target_t1_size = 0

    def mark_evictable(self, key: OffloadKey) -> None:
        side = self.evictable_t1 if key in self.t1 else self.evictable_t2
        side[key] = self.blocks[key]

    def mark_non_evictable(self, key: OffloadKey) -> None:
        side = self.evictable_t1 if key in self.t1 else self.evictable_t2
        side.pop(key, None)

    def _forget_old_ghosts(self) -> None:
        # After an insert only: an eviction moves keys to their ghosts, which leaves both sums as they are.
        while len(self.t1) + len(self.b1) > self.cache_capacity:
            self.b1.popitem(last=False)
        while len(self.blocks) + len(self.b1) + len(self.b2) > 2 * self.cache_capacity:
            self.b2.popitem(last=False)

    def __repr__(self) -> str:
        sizes = ", ".join(f"{name} {len(getattr(self, name))}" for name in ("t1", "t2", "b1", "b2"))
        return (
            f"ARCCachePolicy({len(self.blocks)} of {self.cache_capacity} blocks; {sizes}; target {self.target_t1_size})"
        )
