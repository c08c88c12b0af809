"""Policies that declare FIFO, SLRU, LFU or S3-FIFO and evict in another order."""

from __future__ import annotations

from collections.abc import Sequence

from kvoffload import (
    NO_REQUEST,
    BlockStatus,
    FIFOCachePolicy,
    LFUCachePolicy,
    OffloadKey,
    ReqContext,
    S3FIFOCachePolicy,
    SLRUCachePolicy,
)
from tests.stateful.seeded.bug import seeded


@seeded("order-fifo", "a use for a place", order="fifo")
class TouchMovesInTheQueue(FIFOCachePolicy):
    """A touched block goes to the end of the queue."""

    def touch(self, keys: Sequence[OffloadKey], req_context: ReqContext = NO_REQUEST) -> None:
        for key in reversed(keys):
            if key in self.queue:
                self.queue.move_to_end(key)


@seeded("order-fifo", "wrong end", order="fifo")
class QueuesAtTheWrongEnd(FIFOCachePolicy):
    """The block that became idle last goes first."""

    def mark_evictable(self, key: OffloadKey) -> None:
        super().mark_evictable(key)
        self.queue.move_to_end(key, last=False)


@seeded("order-slru", "sgl-project/sglang#24075", order="slru")
class ProtectedNeverGoBack(SLRUCachePolicy):
    """The protected segment takes whatever was used again, and gives nothing back."""

    def _keep_to_share(self) -> None:
        pass


@seeded("order-slru", "forgotten part", order="slru")
class StaysOnProbation(SLRUCachePolicy):
    """A block that is used again moves within the probationary segment, and never leaves it."""

    def touch(self, keys: Sequence[OffloadKey], req_context: ReqContext = NO_REQUEST) -> None:
        for key in reversed(keys):
            if key in self.evictable_probationary:
                self.evictable_probationary.move_to_end(key)


@seeded("order-lfu", "forgotten part", order="lfu")
class NeverAges(LFUCachePolicy):
    """The age stays 0, so that old favourites never go."""

    def insert(self, key: OffloadKey, block: BlockStatus) -> None:
        self.age = 0
        super().insert(key, block)


@seeded("order-lfu", "forgotten count", order="lfu")
class CountsOneUse(LFUCachePolicy):
    """A touch moves a block among those that were used as often, and counts nothing."""

    def touch(self, keys: Sequence[OffloadKey], req_context: ReqContext = NO_REQUEST) -> None:
        for key in reversed(keys):
            block = self.blocks.get(key)
            if block is not None and block.ref_cnt == 0:
                self.mark_non_evictable(key)
                self.mark_evictable(key)


@seeded("order-s3fifo", "forgotten case", order="s3fifo")
class IgnoresGhosts(S3FIFOCachePolicy):
    """A ghost that is stored again belongs to small like any other key."""

    def insert(self, key: OffloadKey, block: BlockStatus) -> None:
        self.ghosts.pop(key, None)
        super().insert(key, block)


@seeded("order-s3fifo", "off by one", order="s3fifo")
class StaysForOneUse(S3FIFOCachePolicy):
    """One use is as good as two."""

    def touch(self, keys: Sequence[OffloadKey], req_context: ReqContext = NO_REQUEST) -> None:
        before = dict(self.uses)
        super().touch(keys, req_context)
        self.uses = {key: 2 if uses > before[key] else uses for key, uses in self.uses.items()}
