"""Managers that answer lookups wrongly, change something on the way, or pin and release the wrong blocks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from itertools import takewhile
from typing import cast

from kvoffload import (
    NO_REQUEST,
    BlockNotReadyError,
    BlockStatus,
    CPUOffloadingManager,
    LoadStoreSpec,
    LookupResult,
    OffloadingError,
    OffloadKey,
    ReqContext,
    UnbalancedReleaseError,
)
from tests.stateful.seeded.bug import SeamedManager, seeded

# --- lookups and touches ---


@seeded("lookup-truth", "truth for is not None")
class PendingIsAMiss(CPUOffloadingManager):
    """A key that is being written is not found."""

    def lookup(self, key: OffloadKey, req_context: ReqContext = NO_REQUEST) -> LookupResult:
        result = super().lookup(key, req_context)
        return LookupResult.MISS if result is LookupResult.HIT_PENDING else result


@seeded("lookup-truth", "LMCache/LMCache#5032")
class PendingIsAHit(CPUOffloadingManager):
    """A key that is being written may be read."""

    def lookup(self, key: OffloadKey, req_context: ReqContext = NO_REQUEST) -> LookupResult:
        result = super().lookup(key, req_context)
        return LookupResult.HIT if result is LookupResult.HIT_PENDING else result


@seeded("lookup-truth", "comparison for equality")
class PinnedIsPending(SeamedManager):
    """Only a key that no load reads is a hit."""

    def lookup(self, key: OffloadKey, req_context: ReqContext = NO_REQUEST) -> LookupResult:
        return LookupResult.HIT_PENDING if self.ref_cnt(key) > 0 else super().lookup(key, req_context)


@seeded("lookup-pure", "vllm-project/vllm#35931")
class PinsOnLookup(CPUOffloadingManager):
    """A hit is pinned, for a load that may never come."""

    def lookup(self, key: OffloadKey, req_context: ReqContext = NO_REQUEST) -> LookupResult:
        result = super().lookup(key, req_context)
        if result is LookupResult.HIT:
            self.prepare_load([key], req_context)
        return result


@seeded("lookup-pure", "impatience")
class CompletesOnLookup(CPUOffloadingManager):
    """A key that is asked for while it is being written is taken for written from then on."""

    def lookup(self, key: OffloadKey, req_context: ReqContext = NO_REQUEST) -> LookupResult:
        result = super().lookup(key, req_context)
        if result is LookupResult.HIT_PENDING:
            self.complete_store([key], req_context)
        return result


@seeded("lookup-pure", "a default that inserts")
class ReservesOnLookup(CPUOffloadingManager):
    """A key that is not found is inserted, if there is room, since it will be stored soon."""

    def lookup(self, key: OffloadKey, req_context: ReqContext = NO_REQUEST) -> LookupResult:
        result = super().lookup(key, req_context)
        if result is LookupResult.MISS and self.num_free_blocks:
            self.prepare_store([key], req_context)
        return result


@seeded("order-lru", "a use for a look")
class TouchesOnLookup(CPUOffloadingManager):
    """A key that is looked up becomes the most recent."""

    def lookup(self, key: OffloadKey, req_context: ReqContext = NO_REQUEST) -> LookupResult:
        self.touch([key], req_context)
        return super().lookup(key, req_context)


@seeded("order-lru", "vllm-project/vllm#51787")
class TouchesHeadFirstForThePolicy(CPUOffloadingManager):
    """The policy is given touched keys tail first, and turns them round once more."""

    def touch(self, keys: Iterable[OffloadKey], req_context: ReqContext = NO_REQUEST) -> None:
        super().touch(list(keys)[::-1], req_context)


@seeded("touch-pure", "iterator for sequence")
class TouchesAnIterator(CPUOffloadingManager):
    """The policy is given the keys as they came, and cannot turn an iterator round."""

    def touch(self, keys: Iterable[OffloadKey], req_context: ReqContext = NO_REQUEST) -> None:
        self._policy.touch(cast(Sequence[OffloadKey], keys), req_context)


@seeded("touch-pure", "forgotten test")
class RaisesOnTouchedMisses(SeamedManager):
    """A touch of a key that is not resident raises."""

    def touch(self, keys: Iterable[OffloadKey], req_context: ReqContext = NO_REQUEST) -> None:
        named = list(keys)
        for key in self.new_keys(named):
            raise KeyError(key)
        super().touch(named, req_context)


@seeded("touch-pure", "a use for a load")
class PinsOnTouch(SeamedManager):
    """A touched block is pinned."""

    def touch(self, keys: Iterable[OffloadKey], req_context: ReqContext = NO_REQUEST) -> None:
        named = list(keys)
        super().touch(named, req_context)
        self.prepare_load([key for key in named if self.ref_cnt(key) >= 0], req_context)


# --- what may be loaded ---


@seeded("load-ready-only", "hazard: prepare_load is not atomic")
class PinsBeforeItRaises(SeamedManager):
    """A load that fails leaves the keys before the failing one pinned."""

    def prepare_load(self, keys: Iterable[OffloadKey], req_context: ReqContext = NO_REQUEST) -> LoadStoreSpec:
        named = list(keys)
        try:
            return super().prepare_load(named, req_context)
        except OffloadingError:
            super().prepare_load(takewhile(lambda key: self.ref_cnt(key) >= 0, named), req_context)
            raise


@seeded("load-ready-only", "LMCache/LMCache#5032")
class LoadsPending(SeamedManager):
    """A block that is being written may be read."""

    def prepare_load(self, keys: Iterable[OffloadKey], req_context: ReqContext = NO_REQUEST) -> LoadStoreSpec:
        named = list(keys)
        blocks = [block for key in named if (block := self._policy.get(key))]
        if any(block.ref_cnt == -1 for block in blocks):
            return LoadStoreSpec([block.block_id for block in blocks], self._transfers.open(()))
        return super().prepare_load(named, req_context)


@seeded("load-ready-only", "vllm-project/vllm#39702")
class LoadsWhatIsLeft(SeamedManager):
    """A load leaves out the keys that were evicted since they were looked up."""

    def prepare_load(self, keys: Iterable[OffloadKey], req_context: ReqContext = NO_REQUEST) -> LoadStoreSpec:
        return super().prepare_load([key for key in keys if self.ref_cnt(key) != -2], req_context)


@seeded("load-ready-only", "comparison for equality")
class LoadsOnlyIdleBlocks(SeamedManager):
    """A block that is being read cannot be read a second time."""

    def prepare_load(self, keys: Iterable[OffloadKey], req_context: ReqContext = NO_REQUEST) -> LoadStoreSpec:
        named = list(keys)
        for key in named:
            if self.ref_cnt(key) > 0:
                raise BlockNotReadyError(key)
        return super().prepare_load(named, req_context)


# --- pins and releases ---


@seeded("load-pinned", "vllm-project/vllm#39702")
class ReadsWithoutPinning(CPUOffloadingManager):
    """A load gives the blocks and pins none of them."""

    def prepare_load(self, keys: Iterable[OffloadKey], req_context: ReqContext = NO_REQUEST) -> LoadStoreSpec:
        named = list(keys)
        spec = super().prepare_load(named, req_context)
        if named:
            super().complete_load(named, req_context, transfer_id=spec.transfer_id)
        return spec


@seeded("load-pinned", "flag for count")
class PinsWithAFlag(CPUOffloadingManager):
    """A block is pinned or not, however many loads read it, and the first completion releases it."""

    def prepare_load(self, keys: Iterable[OffloadKey], req_context: ReqContext = NO_REQUEST) -> LoadStoreSpec:
        named = list(keys)
        spec = super().prepare_load(named, req_context)
        for key in named:
            block = self._policy.get(key)
            if block is not None:
                block.ref_cnt = 1
        return spec


@seeded("load-pinned", "LMCache/LMCache#2738")
class ReleasesForOthersToo(CPUOffloadingManager):
    """The first load that completes takes the pins of all others, if it names each key once."""

    names_once = False

    def complete_load(
        self, keys: Iterable[OffloadKey], req_context: ReqContext = NO_REQUEST, *, transfer_id: int | None = None
    ) -> None:
        named = list(keys)
        self.names_once = len(set(named)) == len(named)
        super().complete_load(named, req_context, transfer_id=transfer_id)

    def _unpin(self, blocks: dict[OffloadKey, BlockStatus]) -> None:
        for block in blocks.values():
            block.ref_cnt = 1 if self.names_once else block.ref_cnt
        super()._unpin(blocks)


@seeded("load-pinned", "LMCache/LMCache#3884")
class NeverReleases(SeamedManager):
    """A load that completes leaves its pins behind."""

    def complete_load(
        self, keys: Iterable[OffloadKey], req_context: ReqContext = NO_REQUEST, *, transfer_id: int | None = None
    ) -> None:
        before = {key: self.ref_cnt(key) for key in keys}
        super().complete_load(before, req_context, transfer_id=transfer_id)
        self.prepare_load([key for key in before if self.ref_cnt(key) < before[key]], req_context)


@seeded("load-once", "hazard: duplicate keys in one prepare_load")
class PinsPerMention(CPUOffloadingManager):
    """A key that is named twice is pinned twice, and released once."""

    def prepare_load(self, keys: Iterable[OffloadKey], req_context: ReqContext = NO_REQUEST) -> LoadStoreSpec:
        named = list(keys)
        spec = super().prepare_load(named, req_context)
        for key in set(named):
            block = self._policy.get(key)
            if block is not None:
                block.ref_cnt += named.count(key) - 1
        return spec


@seeded("load-once", "vllm-project/vllm#1556")
class ReleasesPerMention(SeamedManager):
    """A key that is named twice is released twice, once for another load."""

    def complete_load(
        self, keys: Iterable[OffloadKey], req_context: ReqContext = NO_REQUEST, *, transfer_id: int | None = None
    ) -> None:
        named = list(keys)
        before = {key: self.ref_cnt(key) for key in named}
        super().complete_load(named, req_context, transfer_id=transfer_id)
        for key in before:
            if named.count(key) > 1 and 0 < self.ref_cnt(key) < before[key]:
                super().complete_load([key], req_context)


@seeded("load-once", "vllm-project/vllm#42761")
class RaisesOnRepeatedRelease(SeamedManager):
    """A key that is named twice is not found when it is released for the second time."""

    def complete_load(
        self, keys: Iterable[OffloadKey], req_context: ReqContext = NO_REQUEST, *, transfer_id: int | None = None
    ) -> None:
        named = list(keys)
        if not self.is_stale(transfer_id) and len(set(named)) < len(named):
            raise KeyError(named)
        super().complete_load(named, req_context, transfer_id=transfer_id)


@seeded("release-balanced", "error swallowed")
class IgnoresUnbalancedReleases(CPUOffloadingManager):
    """A release without a load is passed over in silence."""

    def complete_load(
        self, keys: Iterable[OffloadKey], req_context: ReqContext = NO_REQUEST, *, transfer_id: int | None = None
    ) -> None:
        with suppress(UnbalancedReleaseError):
            super().complete_load(keys, req_context, transfer_id=transfer_id)


@seeded("release-balanced", "sgl-project/sglang#9927")
class ReleasesBeforeItRaises(SeamedManager):
    """A release that fails has let go of the keys before the failing one."""

    def complete_load(
        self, keys: Iterable[OffloadKey], req_context: ReqContext = NO_REQUEST, *, transfer_id: int | None = None
    ) -> None:
        named = list(keys)
        try:
            super().complete_load(named, req_context, transfer_id=transfer_id)
        except UnbalancedReleaseError as error:
            held = named[: named.index(error.key)]
            super().complete_load(held, req_context, transfer_id=transfer_id)
            raise


@seeded("release-balanced", "LMCache/LMCache#5005")
class FreesOnUnbalancedRelease(CPUOffloadingManager):
    """A block that is released once too often goes on the free list, while its key still lies in it."""

    def complete_load(
        self, keys: Iterable[OffloadKey], req_context: ReqContext = NO_REQUEST, *, transfer_id: int | None = None
    ) -> None:
        try:
            super().complete_load(keys, req_context, transfer_id=transfer_id)
        except UnbalancedReleaseError as error:
            block = self._policy.get(error.key)
            if block is not None and block.ref_cnt == 0:
                self._pool.free([block.block_id])
            raise


@seeded("order-lru", "vllm-project/vllm#51787")
class ReleasesHeadFirst(CPUOffloadingManager):
    """The head of a loaded prefix becomes idle first, and is evicted before its tail."""

    def _unpin(self, blocks: dict[OffloadKey, BlockStatus]) -> None:
        super()._unpin(dict(reversed(blocks.items())))
