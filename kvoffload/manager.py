"""The production manager: reference counts, the evictable counter and its guard."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Reversible
from contextlib import suppress
from dataclasses import replace

from kvoffload.admission import AdmissionTracker
from kvoffload.block_pool import BlockPool
from kvoffload.errors import BlockNotFoundError, BlockNotReadyError, UnbalancedReleaseError
from kvoffload.interface import CachePolicy, OffloadingManager
from kvoffload.policies.base import BlockStatus
from kvoffload.policies.factory import make_cache_policy
from kvoffload.stats import OffloadingCounters, OffloadingStats
from kvoffload.transfers import Transfers
from kvoffload.types import (
    NO_REQUEST,
    EventKind,
    LoadStoreSpec,
    LookupResult,
    OffloadingEvent,
    OffloadKey,
    PrepareStoreOutput,
    ReqContext,
)

# Bound once: on Python 3.11, reading a member off its class costs as much as the rest of a lookup.
_MISS, _HIT_PENDING, _HIT = LookupResult.MISS, LookupResult.HIT_PENDING, LookupResult.HIT


class CPUOffloadingManager(OffloadingManager):
    """Keeps reference counts, block ids and the evictable counter; the policy keeps the blocks and their order.

    The counter makes a hopeless store cheap: ``prepare_store`` that lacks more blocks than are evictable is refused
    without asking the policy (vLLM PR 45757). Both the counter and the policy's evictable list follow three transitions
    only: pending -> idle, idle -> pinned and pinned -> idle.

    If the policy raises, the exception reaches the caller: a ``prepare_*`` is then undone, a ``complete_*`` or a reset
    is carried out as far as the policy let it, and no block id is lost and no counter is off.

    Args:
        num_blocks: the capacity, in blocks.
        cache_policy: a policy's name, or what makes one from a capacity.
        cache_policy_module_path: a module to find the class ``cache_policy`` in; the module is run.
        enable_events: whether ``take_events`` has anything to tell.
        store_threshold: how many requests have to offer a block before it is stored; 0 and 1 store every block.
        max_tracker_size: how many offered keys are remembered for that.

    Raises:
        ValueError: if a number is out of range or no policy has that name; the message lists the known ones.
    """

    def __init__(
        self,
        num_blocks: int,
        cache_policy: str | Callable[[int], CachePolicy] = "lru",
        cache_policy_module_path: str | None = None,
        enable_events: bool = False,
        store_threshold: int = 0,
        max_tracker_size: int = 64_000,
    ) -> None:
        self._pool = BlockPool(num_blocks)
        self._admission = AdmissionTracker(store_threshold, max_tracker_size)
        self._policy = make_cache_policy(cache_policy, num_blocks, cache_policy_module_path)
        self._counters = OffloadingCounters()
        self._transfers = Transfers()
        self._events: list[OffloadingEvent] | None = [] if enable_events else None
        self._num_evictable_cache_blocks = 0
        self._num_pending_cache_blocks = 0
        # What lies in each slot, by block id: read only to find what a policy that raised has dropped.
        self._slot_keys: list[OffloadKey] = []
        self._slot_blocks: list[BlockStatus | None] = []

    @property
    def num_evictable_cache_blocks(self) -> int:
        return self._num_evictable_cache_blocks

    @property
    def num_free_blocks(self) -> int:
        return self._pool.num_free

    @property
    def policy(self) -> CachePolicy:
        return self._policy

    def lookup(self, key: OffloadKey, req_context: ReqContext = NO_REQUEST) -> LookupResult:
        block = self._policy.get(key)
        if block is None:
            self._counters.misses += 1
            return _MISS
        if block.ref_cnt < 0:
            self._counters.pending_hits += 1
            return _HIT_PENDING
        self._counters.hits += 1
        return _HIT

    def prepare_store(
        self, keys: Iterable[OffloadKey], req_context: ReqContext = NO_REQUEST
    ) -> PrepareStoreOutput | None:
        named = dict.fromkeys(keys)
        get = self._policy.get
        offered = [key for key in named if get(key) is None]
        new_keys = self._admission.admit(offered, req_context.req_id)
        self._counters.blocks_offered += len(offered)
        self._counters.blocks_skipped += len(offered) - len(new_keys)
        need = len(new_keys) - self._pool.num_free
        # Necessary, not sufficient: some of the idle blocks may be protected.
        if need > self._num_evictable_cache_blocks:
            self._counters.stores_refused += 1
            return None
        try:
            evicted_keys = self._evict(need, set(named)) if need > 0 else []
            if evicted_keys is None:
                self._counters.stores_refused += 1
                return None
            block_ids = self._insert(new_keys, req_context)
        except BaseException:
            self._take_back(new_keys)
            raise
        transfer_id = self._transfers.open(block_ids)
        return PrepareStoreOutput(new_keys, LoadStoreSpec(block_ids, transfer_id), evicted_keys)

    def complete_store(
        self,
        keys: Iterable[OffloadKey],
        req_context: ReqContext = NO_REQUEST,
        success: bool = True,
        *,
        transfer_id: int | None = None,
    ) -> None:
        if transfer_id is not None and not self._transfers.is_outstanding(transfer_id):
            self._counters.stale_completions += 1
            return
        get = self._policy.get
        completed: dict[OffloadKey, BlockStatus] = {}
        for key in keys:
            block = get(key)
            if (
                block is not None
                and block.ref_cnt < 0
                and (transfer_id is None or self._transfers.holds(transfer_id, block.block_id))
            ):
                completed[key] = block
        if success:
            for block in completed.values():
                block.ref_cnt = 0  # pending -> idle
            self._transfers.release([block.block_id for block in completed.values()], transfer_id)
            self._num_pending_cache_blocks -= len(completed)
            self._num_evictable_cache_blocks += len(completed)
            self._counters.blocks_stored += len(completed)
            self._announce(EventKind.STORED, completed)
            self._tell_policy(self._policy.mark_evictable, completed)
        else:
            try:
                self._tell_policy(self._policy.remove, completed)  # pending -> gone
            except BaseException:
                self._reconcile()
                raise
            block_ids = [block.block_id for block in completed.values()]
            self._transfers.release(block_ids, transfer_id)
            self._num_pending_cache_blocks -= len(completed)
            self._counters.blocks_failed += len(completed)
            self._free(block_ids)

    def prepare_load(self, keys: Iterable[OffloadKey], req_context: ReqContext = NO_REQUEST) -> LoadStoreSpec:
        get = self._policy.get
        blocks: dict[OffloadKey, BlockStatus] = {}
        block_ids = []
        for key in keys:
            block = get(key)
            if block is None:
                raise BlockNotFoundError(key)
            if block.ref_cnt < 0:
                raise BlockNotReadyError(key)
            blocks[key] = block
            block_ids.append(block.block_id)
        pinned = {}
        try:
            for key, block in blocks.items():
                pinned[key] = block
                block.ref_cnt += 1
                if block.ref_cnt == 1:  # idle -> pinned
                    self._num_evictable_cache_blocks -= 1
                    self._policy.mark_non_evictable(key)
        except BaseException:
            with suppress(Exception):  # the first exception is the one to tell
                self._unpin(pinned)
            raise
        self._counters.blocks_loaded += len(blocks)
        return LoadStoreSpec(block_ids, self._transfers.open([block.block_id for block in blocks.values()]))

    def complete_load(
        self, keys: Iterable[OffloadKey], req_context: ReqContext = NO_REQUEST, *, transfer_id: int | None = None
    ) -> None:
        if transfer_id is not None and not self._transfers.is_outstanding(transfer_id):
            self._counters.stale_completions += 1
            return
        get = self._policy.get
        blocks: dict[OffloadKey, BlockStatus] = {}
        for key in keys:
            block = get(key)
            if (
                block is None
                or block.ref_cnt <= 0
                or (transfer_id is not None and not self._transfers.holds(transfer_id, block.block_id))
            ):
                raise UnbalancedReleaseError(key, transfer_id)
            blocks[key] = block
        self._transfers.release([block.block_id for block in blocks.values()], transfer_id)
        self._unpin(blocks)

    def touch(self, keys: Iterable[OffloadKey], req_context: ReqContext = NO_REQUEST) -> None:
        self._policy.touch(list(keys), req_context)

    def reset_cache(self) -> None:
        try:
            self._policy.clear()
        except BaseException:
            self._reconcile()
            raise
        self._pool.reset()
        self._slot_keys.clear()
        self._slot_blocks.clear()
        self._transfers.clear()
        self._admission.clear()
        self._counters = OffloadingCounters()
        self._num_evictable_cache_blocks = 0
        self._num_pending_cache_blocks = 0
        self._announce(EventKind.CLEARED)

    def take_events(self) -> list[OffloadingEvent]:
        if self._events is None:
            return []
        events, self._events = self._events, []
        return events

    def get_stats(self) -> OffloadingStats:
        idle, pending = self._num_evictable_cache_blocks, self._num_pending_cache_blocks
        pinned = self._pool.num_blocks - self._pool.num_free - idle - pending
        return OffloadingStats(replace(self._counters), self._pool.num_blocks, pending, pinned, idle)

    def _evict(self, n: int, protected: set[OffloadKey]) -> list[OffloadKey] | None:
        victims = self._policy.evict(n, protected)
        if victims is None:
            return None
        self._num_evictable_cache_blocks -= len(victims)
        self._counters.blocks_evicted += len(victims)
        self._free([block.block_id for _, block in victims])
        evicted_keys = [key for key, _ in victims]
        self._announce(EventKind.REMOVED, evicted_keys)
        return evicted_keys

    def _insert(self, new_keys: list[OffloadKey], req_context: ReqContext) -> list[int]:
        block_ids = self._pool.allocate(len(new_keys))
        first_used = max(block_ids, default=-1) + 1 - len(self._slot_keys)
        self._slot_keys.extend(new_keys[:1] * first_used)
        self._slot_blocks.extend([None] * first_used)
        blocks = [BlockStatus(block_id) for block_id in block_ids]  # gone -> pending
        self._num_pending_cache_blocks += len(blocks)
        for key, block in zip(new_keys, blocks, strict=True):
            self._slot_keys[block.block_id] = key
            self._slot_blocks[block.block_id] = block
        self._policy.on_store_miss(new_keys, req_context)
        for key, block in zip(new_keys, blocks, strict=True):
            self._policy.insert(key, block)
        return block_ids

    def _free(self, block_ids: list[int]) -> None:
        for block_id in block_ids:
            self._slot_blocks[block_id] = None
        self._pool.free(block_ids)

    def _unpin(self, blocks: dict[OffloadKey, BlockStatus]) -> None:
        idle = []
        for key, block in blocks.items():
            block.ref_cnt -= 1
            if block.ref_cnt == 0:  # pinned -> idle
                idle.append(key)
        self._num_evictable_cache_blocks += len(idle)
        self._tell_policy(self._policy.mark_evictable, idle)

    def _announce(self, kind: EventKind, keys: Iterable[OffloadKey] = ()) -> None:
        if self._events is not None:
            keys = tuple(keys)
            if keys or kind is EventKind.CLEARED:
                self._events.append(OffloadingEvent(kind, keys))

    @staticmethod
    def _tell_policy(call: Callable[[OffloadKey], None], keys: Reversible[OffloadKey]) -> None:
        """Make a policy call for every key, last key first; the first exception waits until all are made."""
        raised: Exception | None = None
        for key in reversed(keys):
            try:
                call(key)
            except Exception as exception:
                raised = raised or exception
        if raised is not None:
            raise raised

    def _take_back(self, new_keys: list[OffloadKey]) -> None:
        with suppress(Exception):  # the exception that brought us here is the one to tell
            for key in new_keys:
                if self._policy.get(key) is not None:
                    self._policy.remove(key)  # pending -> gone
        self._reconcile()

    def _reconcile(self) -> None:
        """Make the books agree with what a policy that raised still holds."""
        dropped = [
            (key, block)
            for key, block in zip(self._slot_keys, self._slot_blocks, strict=True)
            if block is not None and self._policy.get(key) is not block
        ]
        for _, block in dropped:
            self._transfers.forget(block.block_id)
        self._free([block.block_id for _, block in dropped])
        evicted_keys = [key for key, block in dropped if block.ref_cnt >= 0]
        self._counters.blocks_evicted += len(evicted_keys)
        self._announce(EventKind.REMOVED, evicted_keys)
        held = [block.ref_cnt for block in self._slot_blocks if block is not None]
        self._num_evictable_cache_blocks = held.count(0)
        self._num_pending_cache_blocks = held.count(-1)
