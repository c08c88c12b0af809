"""Bugs in what a call does to things that its caller has only lent to it."""

from collections.abc import Iterable, Sequence, Set

from kvoffload import BlockStatus, CPUOffloadingManager, LRUCachePolicy, OffloadKey, PrepareStoreOutput, ReqContext
from kvoffload.types import NO_REQUEST
from tests.stateful.seeded.bug import seeded


@seeded("arguments-kept", "classic slip: reverse() instead of reversed()")
class ReversesTheCallersList(LRUCachePolicy):
    def touch(self, keys: Sequence[OffloadKey], req_context: ReqContext = NO_REQUEST) -> None:
        super().touch(keys, req_context)
        if isinstance(keys, list):
            keys.reverse()


@seeded("arguments-kept", "classic slip: the caller's set is added to")
class AddsToTheProtectedSet(LRUCachePolicy):
    def evict(self, n: int, protected: Set[OffloadKey]) -> list[tuple[OffloadKey, BlockStatus]] | None:
        victims = super().evict(n, protected)
        if isinstance(protected, set):
            protected.update(key for key, _ in victims or ())
        return victims


@seeded("arguments-kept", "classic slip: a policy that writes the count it is to read")
class LowersTheCountItself(LRUCachePolicy):
    def mark_non_evictable(self, key: OffloadKey) -> None:
        super().mark_non_evictable(key)
        self.blocks[key].ref_cnt = 0


@seeded("arguments-kept", "classic slip: sort() instead of sorted()")
class SortsTheCallersKeys(CPUOffloadingManager):
    def prepare_store(
        self, keys: Iterable[OffloadKey], req_context: ReqContext = NO_REQUEST
    ) -> PrepareStoreOutput | None:
        output = super().prepare_store(keys, req_context)
        if isinstance(keys, list):
            keys.sort()
        return output
