"""S3-FIFO: a small queue that most blocks leave soon, a main queue for those used again, and ghosts of the first."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence, Set

from kvoffload.policies.base import BlockStatus
from kvoffload.policies.per_request import PerRequestPolicy
from kvoffload.types import NO_REQUEST, OffloadKey, ReqContext

# Both as in the paper. Moving after one use is better here and worse there: on the Mooncake conversation trace it hits
# 19.5 % of the blocks instead of 19.1 % with a capacity of 9,140 blocks, and 30.8 % instead of 32.8 % with 36,558.
MOST_USES, USES_TO_MOVE = 3, 2


class S3FIFOCachePolicy(PerRequestPolicy):
    """Evicts the first block of the small queue that was not used twice, or of the main queue that was not used lately.

    S3-FIFO (Yang, Zhang, Qiu, Yue and Rashmi, SOSP 2023), for batches of blocks that may be pinned:

    * An access is a touch of a written block, one per key and request: a request that touches again what it stored or
      touched last changes nothing. Without a request's name every touch counts. An access raises the block's use count
      by 1, up to 3, and moves nothing.
    * A key that is stored belongs to small, one that was a ghost to main; its use count is 0. A block enters its queue
      at the end when it becomes idle, and leaves it when a load pins it.
    * The victims of a batch are chosen one by one. The turn is small's while more blocks belong to it than its share,
      pending and pinned ones included, else main's; the other's where one has no idle unprotected block. It comes to
      the first such block of the queue. One of small with 2 uses or more goes to the end of main, with none; one of
      main with any goes to its end, with 1 less; and there is another turn. Any other is the victim.
    * What leaves from small becomes a ghost. There are at most as many as the capacity; the oldest go.
    * A protected block keeps its place and its uses.

    The paper knows no pins, batches or protected keys; in it a block enters its queue when it is stored, a move to main
    may make main evict as well, and there are as many ghosts as main has blocks. That a load renews a block's place in
    its queue costs no hits (Mooncake conversation trace), and keeps pinned blocks out of the way of an eviction.

    One ``evict`` costs O(n + protected keys), and O(1) for what accesses have paid for: a move to main, by the two or
    more whose count it takes, and a move within main, by one. It ends however many blocks are in use, since a turn
    without a victim lowers the sum of the use counts.

    Args:
        cache_capacity: the most blocks that will be resident at a time.
        small_share: how much of the capacity is small's share, 0 to 1 or a ``ValueError``; in whole blocks, at least 1.

    Attributes:
        blocks: every resident block by key.
        evictable_blocks: the idle ones, in no order.
        small: the resident keys that belong to small; the others belong to main.
        small_queue, main_queue: the idle ones of either, next turn first.
        uses, used_by: the use count of each resident key, and the request that used it last.
        ghosts: what left from small, oldest first.
        most_small: small's share, in blocks.
    """

    def __init__(self, cache_capacity: int, small_share: float = 0.1) -> None:
        super().__init__(cache_capacity)
        if not 0 <= small_share <= 1:
            raise ValueError(f"small_share is {small_share}; it is a share of the capacity, from 0 to 1.")
        self.evictable_blocks: dict[OffloadKey, BlockStatus] = {}
        self.small: dict[OffloadKey, None] = {}
        self.small_queue: OrderedDict[OffloadKey, None] = OrderedDict()
        self.main_queue: OrderedDict[OffloadKey, None] = OrderedDict()
        self.uses: dict[OffloadKey, int] = {}
        self.used_by: dict[OffloadKey, str] = {}
        self.ghosts: OrderedDict[OffloadKey, None] = OrderedDict()
        self.most_small = max(1, int(cache_capacity * small_share))

    def insert(self, key: OffloadKey, block: BlockStatus) -> None:
        self.blocks[key] = block
        self.uses[key] = 0
        self.used_by[key] = self._storing_request
        if key in self.ghosts:  # ghost -> main
            del self.ghosts[key]
        else:
            self.small[key] = None
        if block.ref_cnt == 0:
            self.mark_evictable(key)

    def remove(self, key: OffloadKey) -> None:
        del self.blocks[key], self.uses[key], self.used_by[key]
        for part in (self.evictable_blocks, self.small, self.small_queue, self.main_queue):
            part.pop(key, None)

    def touch(self, keys: Sequence[OffloadKey], req_context: ReqContext = NO_REQUEST) -> None:
        request = req_context.req_id
        for key in dict.fromkeys(keys):
            is_written = key in self.blocks and self.blocks[key].is_ready
            if is_written and not (request and self.used_by[key] == request):
                self.uses[key] = min(MOST_USES, self.uses[key] + 1)
                self.used_by[key] = request

    def evict(self, n: int, protected: Set[OffloadKey]) -> list[tuple[OffloadKey, BlockStatus]] | None:
        self.check_eviction_count(n)
        if len(self.evictable_blocks) - sum(map(self.evictable_blocks.__contains__, protected)) < n:
            return None
        victims: list[tuple[OffloadKey, BlockStatus]] = []
        kept: list[OffloadKey] = []
        while len(victims) < n:
            # What is kept stands in no queue meanwhile, so that one where nothing else is left is empty.
            from_small = self.small_queue and (len(self.small) > self.most_small or not self.main_queue)
            key, _ = (self.small_queue if from_small else self.main_queue).popitem(last=False)
            uses = self.uses[key]
            if key in protected:
                kept.append(key)
            elif uses >= (USES_TO_MOVE if from_small else 1):  # small -> main, or from its head to its end
                self.small.pop(key, None)
                self.uses[key] = 0 if from_small else uses - 1
                self.main_queue[key] = None
            else:
                victims.append((key, self.blocks[key]))
                self.remove(key)
                if from_small:
                    self.ghosts[key] = None
        while len(self.ghosts) > self.cache_capacity:
            self.ghosts.popitem(last=False)
        for key in reversed(kept):
            self._queue_of(key)[key] = None
            self._queue_of(key).move_to_end(key, last=False)
        return victims

    def clear(self) -> None:
        for resident in (self.blocks, self.evictable_blocks, self.small, self.uses, self.used_by):
            resident.clear()
        for queue in (self.small_queue, self.main_queue, self.ghosts):
            queue.clear()

    def mark_evictable(self, key: OffloadKey) -> None:
        self.evictable_blocks[key] = self.blocks[key]
        self._queue_of(key)[key] = None

    def mark_non_evictable(self, key: OffloadKey) -> None:
        self.evictable_blocks.pop(key, None)
        self._queue_of(key).pop(key, None)

    def _queue_of(self, key: OffloadKey) -> OrderedDict[OffloadKey, None]:
        return self.small_queue if key in self.small else self.main_queue

    def __repr__(self) -> str:
        return f"S3FIFOCachePolicy({len(self.blocks)} of {self.cache_capacity} blocks; small {len(self.small)})"
