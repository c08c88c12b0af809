"""Managers that lose something when their policy raises."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress

from kvoffload import (
    NO_REQUEST,
    BlockStatus,
    CPUOffloadingManager,
    LoadStoreSpec,
    OffloadKey,
    ReqContext,
)
from tests.stateful.seeded.bug import seeded


@seeded("fault-atomic", "error swallowed")
class SwallowsFaults(CPUOffloadingManager):
    """What the policy raises in a touch does not reach the caller."""

    def touch(self, keys: Iterable[OffloadKey], req_context: ReqContext = NO_REQUEST) -> None:
        with suppress(Exception):
            super().touch(keys, req_context)


@seeded("fault-atomic", "sgl-project/sglang#16067")
class KeepsHalfAStore(CPUOffloadingManager):
    """A store that fails half way keeps what it has inserted by then, pending for ever."""

    def _take_back(self, new_keys: list[OffloadKey]) -> None:
        self._reconcile()


@seeded("fault-atomic", "sgl-project/sglang#9927")
class NeverReconciles(CPUOffloadingManager):
    """Blocks that the policy has dropped before it raised are lost."""

    def _reconcile(self) -> None:
        pass


@seeded("fault-atomic", "vllm-project/vllm-ascend#16663")
class KeepsHalfALoad(CPUOffloadingManager):
    """A load that fails half way leaves pinned what it has pinned by then."""

    is_loading = False

    def prepare_load(self, keys: Iterable[OffloadKey], req_context: ReqContext = NO_REQUEST) -> LoadStoreSpec:
        self.is_loading = True
        try:
            return super().prepare_load(keys, req_context)
        finally:
            self.is_loading = False

    def _unpin(self, blocks: dict[OffloadKey, BlockStatus]) -> None:
        if not self.is_loading:
            super()._unpin(blocks)


@seeded("fault-atomic", "LMCache/LMCache#987")
class FreesBeforeItClears(CPUOffloadingManager):
    """A reset frees all blocks first, and has freed them when the policy refuses to let go of their keys."""

    def reset_cache(self) -> None:
        self._pool.reset()
        super().reset_cache()
