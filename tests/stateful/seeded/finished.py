"""What goes wrong when a request finishes; our own policies and manager are not told."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from typing import Any

from kvoffload import NO_REQUEST, LRUCachePolicy, OffloadKey, PrepareStoreOutput, ReqContext
from tests.stateful.seeded.bug import SeamedManager, seeded

KeyGroups = Sequence[Sequence[OffloadKey]]


@seeded("touch-total", "the end of a request for the end of its blocks")
class DropsWhatAFinishedRequestStored(LRUCachePolicy):
    """When a request finishes, idle blocks that only it has used go with it."""

    def on_request_finished(
        self,
        key_groups: KeyGroups,
        insertion_only_keys: Set[OffloadKey],
        reused_keys: Set[OffloadKey],
        req_context: ReqContext,
    ) -> None:
        for key in insertion_only_keys & self.evictable_blocks.keys():
            self.remove(key)


@seeded("touch-total", "[] for get()")
class RaisesOnFinishedStrangers(LRUCachePolicy):
    """All that a request has named is taken for resident when it finishes."""

    def on_request_finished(
        self,
        key_groups: KeyGroups,
        insertion_only_keys: Set[OffloadKey],
        reused_keys: Set[OffloadKey],
        req_context: ReqContext,
    ) -> None:
        for keys in key_groups:
            for key in keys:
                if self.blocks[key].ref_cnt == 0 and key not in self.evictable_blocks:
                    self.mark_evictable(key)


@seeded("order-lru", "vllm-project/vllm#39021")
class TouchesWhatAFinishedRequestUsed(LRUCachePolicy):
    """When a request finishes, what it has used becomes the most recent once more."""

    def on_request_finished(
        self,
        key_groups: KeyGroups,
        insertion_only_keys: Set[OffloadKey],
        reused_keys: Set[OffloadKey],
        req_context: ReqContext,
    ) -> None:
        for keys in key_groups:
            self.touch(keys)


class RequestManager(SeamedManager):
    """Our manager, which remembers what each running request has stored."""

    def __init__(self, num_blocks: int, **options: Any) -> None:
        super().__init__(num_blocks, **options)
        self.stored_by: dict[str, list[OffloadKey]] = {}

    def prepare_store(
        self, keys: Iterable[OffloadKey], req_context: ReqContext = NO_REQUEST
    ) -> PrepareStoreOutput | None:
        output = super().prepare_store(keys, req_context)
        if output is not None:
            self.stored_by.setdefault(req_context.req_id, []).extend(output.keys_to_store)
        return output

    def on_request_finished(self, req_context: ReqContext) -> None:
        self.finish(self.stored_by.pop(req_context.req_id, []))

    def finish(self, keys: list[OffloadKey]) -> None:
        """The request that has stored these keys has finished."""

    def reset_cache(self) -> None:
        super().reset_cache()
        self.stored_by.clear()


@seeded("touch-pure", "ai-dynamo/dynamo#4171")
class ForgetsStoresOfFinishedRequests(RequestManager):
    """When a request finishes, its stores that are still being written are given up."""

    def finish(self, keys: list[OffloadKey]) -> None:
        self.complete_store([key for key in keys if self.ref_cnt(key) == -1], success=False)


@seeded("touch-pure", "kvcache-ai/Mooncake#849")
class CompletesStoresOfFinishedRequests(RequestManager):
    """When a request finishes, its stores that are still being written are taken for written."""

    def finish(self, keys: list[OffloadKey]) -> None:
        self.complete_store([key for key in keys if self.ref_cnt(key) == -1])


@seeded("touch-pure", "first of an empty list")
class RaisesOnRequestsWithoutStores(RequestManager):
    """A request that has stored nothing cannot finish."""

    def finish(self, keys: list[OffloadKey]) -> None:
        if not keys:
            raise KeyError("the request is unknown")
