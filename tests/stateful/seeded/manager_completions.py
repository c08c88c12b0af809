"""Managers that complete the wrong stores, or leave something of a failed one behind."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kvoffload import (
    NO_REQUEST,
    CPUOffloadingManager,
    EventKind,
    OffloadKey,
    PrepareStoreOutput,
    ReqContext,
)
from tests.stateful.seeded.bug import SeamedManager, seeded


class CompletingManager(SeamedManager):
    """Our manager, whose subclasses complete a store in their own way."""

    def complete_store(
        self,
        keys: Iterable[OffloadKey],
        req_context: ReqContext = NO_REQUEST,
        success: bool = True,
        *,
        transfer_id: int | None = None,
    ) -> None:
        self.complete(list(keys), success, transfer_id)

    def complete(self, keys: list[OffloadKey], success: bool, transfer_id: int | None) -> None:
        """What ``complete_store`` does."""
        super().complete_store(keys, NO_REQUEST, success, transfer_id=transfer_id)


# --- too many of them ---


@seeded("complete-pending-only", "every key for the pending ones")
class CompletingUnpins(CompletingManager):
    """A completed store sets the count of every key it names to 0, those that are being loaded too."""

    def complete(self, keys: list[OffloadKey], success: bool, transfer_id: int | None) -> None:
        blocks = [block for key in keys if (block := self._policy.get(key)) is not None]
        is_stale = self.is_stale(transfer_id)
        super().complete(keys, success, transfer_id)
        for block in blocks:
            if block.ref_cnt > 0 and success and not is_stale:
                block.ref_cnt = 0


@seeded("complete-pending-only", "vllm-project/vllm#37874, the code before it")
class FailureDropsReadyKeys(CompletingManager):
    """A failed store removes the keys it names that were ready already, and loses their blocks."""

    def complete(self, keys: list[OffloadKey], success: bool, transfer_id: int | None) -> None:
        if not success and not self.is_stale(transfer_id):
            for key in dict.fromkeys(keys):
                if self.ref_cnt(key) == 0:
                    self._policy.remove(key)
                    self._num_evictable_cache_blocks -= 1
        super().complete(keys, success, transfer_id)


# After a fault that has dropped one of a store's keys, its completion is late for that key, and not for the others.
@seeded("complete-pending-only", "forgotten argument", also=("stale-ignored",))
class CompletesForOtherStores(CompletingManager):
    """A store completes whatever it names that is pending, whoever is writing it."""

    def complete(self, keys: list[OffloadKey], success: bool, transfer_id: int | None) -> None:
        super().complete(keys, success, transfer_id if self.is_stale(transfer_id) else None)


@seeded("complete-pending-only", "vllm-project/tpu-inference#3152")
class CompletesWithTheFirstReport(CompletingManager):
    """A report on a part of a store completes all of it."""

    def __init__(self, num_blocks: int, **options: Any) -> None:
        super().__init__(num_blocks, **options)
        self.stored: dict[int, list[OffloadKey]] = {}

    def prepare_store(
        self, keys: Iterable[OffloadKey], req_context: ReqContext = NO_REQUEST
    ) -> PrepareStoreOutput | None:
        output = super().prepare_store(keys, req_context)
        if output is not None:
            self.stored[output.transfer_id] = list(output.keys_to_store)
        return output

    def complete(self, keys: list[OffloadKey], success: bool, transfer_id: int | None) -> None:
        rest = [] if transfer_id is None else self.stored[transfer_id]
        super().complete(keys + rest, success, transfer_id)


@seeded("complete-pending-only", "forgotten test")
class RaisesOnStrangers(CompletingManager):
    """A completed store that names a key which is not resident raises."""

    def complete(self, keys: list[OffloadKey], success: bool, transfer_id: int | None) -> None:
        if not self.is_stale(transfer_id):
            for key in self.new_keys(keys):
                raise KeyError(key)
        super().complete(keys, success, transfer_id)


# --- too few of them ---


@seeded("lookup-truth", "aliasing of the caller's list")
class CompletesWhatTheCallerKept(CompletingManager):
    """The keys of a store are kept in the list that the caller was given, and the caller has emptied it."""

    def __init__(self, num_blocks: int, **options: Any) -> None:
        super().__init__(num_blocks, **options)
        self.stored: dict[int, list[OffloadKey]] = {}

    def prepare_store(
        self, keys: Iterable[OffloadKey], req_context: ReqContext = NO_REQUEST
    ) -> PrepareStoreOutput | None:
        output = super().prepare_store(keys, req_context)
        if output is not None:
            self.stored[output.transfer_id] = output.keys_to_store
        return output

    def complete(self, keys: list[OffloadKey], success: bool, transfer_id: int | None) -> None:
        if success and transfer_id is not None:
            keys = [key for key in keys if key in self.stored[transfer_id]]
        super().complete(keys, success, transfer_id)


@seeded("lookup-truth", "vllm-project/vllm#53498")
class NeverPublishesTheHead(CompletingManager):
    """The first key of a completed store is not there when it is looked up."""

    def complete(self, keys: list[OffloadKey], success: bool, transfer_id: int | None) -> None:
        pending = [key for key in keys[:1] if self.ref_cnt(key) == -1]
        super().complete(keys, success, transfer_id)
        for key in pending:
            if self.ref_cnt(key) == 0:
                self._policy.remove(key)


# --- failures ---


@seeded("failure-frees", "sgl-project/sglang#16067")
class LosesBlocksOfFailedStores(CompletingManager):
    """A failed store does not give its blocks back."""

    def complete(self, keys: list[OffloadKey], success: bool, transfer_id: int | None) -> None:
        num_free = self.num_free_blocks
        super().complete(keys, success, transfer_id)
        self._pool.allocate(self.num_free_blocks - num_free)


@seeded("failure-frees", "LMCache/LMCache#5032")
class PublishesFailedStores(CompletingManager):
    """A failed store is taken for one that has worked."""

    def complete(self, keys: list[OffloadKey], success: bool, transfer_id: int | None) -> None:
        super().complete(keys, True, transfer_id)


@seeded("failure-frees", "kvcache-ai/Mooncake#849")
class LeavesFailedStoresPending(CompletingManager):
    """A failed store stays in flight for ever."""

    def complete(self, keys: list[OffloadKey], success: bool, transfer_id: int | None) -> None:
        super().complete(keys if success else [], success, transfer_id)


@seeded("failure-frees", "vllm-project/vllm#47923")
class AnnouncesFailedStores(CompletingManager):
    """A failed store is announced like one that has worked."""

    def complete(self, keys: list[OffloadKey], success: bool, transfer_id: int | None) -> None:
        pending = [key for key in dict.fromkeys(keys) if self.ref_cnt(key) == -1]
        super().complete(keys, success, transfer_id)
        if not success:
            self._announce(EventKind.STORED, self.new_keys(pending))


@seeded("failure-frees", "removal for eviction")
class AnnouncesFailedStoresAsRemoved(CompletingManager):
    """A key that was never announced is announced as removed when its store fails."""

    def complete(self, keys: list[OffloadKey], success: bool, transfer_id: int | None) -> None:
        pending = [key for key in dict.fromkeys(keys) if self.ref_cnt(key) == -1]
        super().complete(keys, success, transfer_id)
        if not success:
            self._announce(EventKind.REMOVED, self.new_keys(pending))


# --- the order in which they become idle ---


@seeded("order-lru", "vllm-project/vllm#51787")
class StoresHeadFirst(CPUOffloadingManager):
    """The head of a stored prefix becomes idle first, and is evicted before its tail."""

    def complete_store(self, keys: Iterable[OffloadKey], *args: Any, **kwargs: Any) -> None:
        super().complete_store(list(keys)[::-1], *args, **kwargs)


@seeded("order-lru", "vllm-project/vllm#39021")
class TouchesResidentKeysOfAStore(CPUOffloadingManager):
    """An accepted store makes its resident keys the most recent."""

    def prepare_store(
        self, keys: Iterable[OffloadKey], req_context: ReqContext = NO_REQUEST
    ) -> PrepareStoreOutput | None:
        named = list(keys)
        output = super().prepare_store(named, req_context)
        if output is not None:
            self._policy.touch(named, req_context)
        return output
