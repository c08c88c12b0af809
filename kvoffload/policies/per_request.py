"""What policies share that tell one request's uses of a block from another's."""

from __future__ import annotations

from collections.abc import Collection

from kvoffload.interface import CachePolicy
from kvoffload.policies.base import BlockStatus
from kvoffload.types import NO_REQUEST, OffloadKey, ReqContext


class PerRequestPolicy(CachePolicy):
    """Finds its blocks by key, and knows for which request the next keys are inserted.

    Attributes:
        blocks: every resident block by key.
    """

    def __init__(self, cache_capacity: int) -> None:
        super().__init__(cache_capacity)
        self.blocks: dict[OffloadKey, BlockStatus] = {}
        self._storing_request = ""

    def get(self, key: OffloadKey) -> BlockStatus | None:
        return self.blocks.get(key)

    def on_store_miss(self, keys: Collection[OffloadKey], req_context: ReqContext = NO_REQUEST) -> None:
        self._storing_request = req_context.req_id
