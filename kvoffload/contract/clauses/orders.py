"""What is promised about order: judged only of what declares one."""

from __future__ import annotations

from kvoffload.contract.clauses.form import BOTH, Clause

ORDER_CLAUSES = (
    Clause(
        "order-lru",
        "victims are the next n of list-LRU order: by when they became idle or were last touched while idle",
        BOTH,
        why="A wrong order loses hits and shows nowhere else: every answer is right, and the server is slower than it "
        "has to be. Within a prefix the tail has to go before the head, for a tail without its head is of no use.",
        seen_in="vllm-project/vllm#51787: blocks came back to the idle list as their transfers completed, so that the "
        "head of a prefix could go before its tail.",
        example=(
            "policy = MyPolicy(2)",
            "policy.insert(a, BlockStatus(0, ref_cnt=0))",
            "policy.insert(b, BlockStatus(1, ref_cnt=0))",
            "policy.touch([a, b])  # a prefix: a is its head",
            "policy.evict(1, set())  # -> evict [a]; allowed: evict [b]",
        ),
    ),
    Clause(
        "order-arc",
        "victims are chosen as by ARC: from t1 above its target, else from t2, the least recent idle block of either",
        BOTH,
        why="ARC is worth its trouble only if t2 holds what came back and the target follows the ghosts. If each step "
        "of one request counts as a use, everything is frequent, and what is left is an LRU that costs more.",
        seen_in="vllm-project/vllm#51787: the touches of one request in each of its steps looked like many uses, so "
        "that ARC promoted and adapted wrongly. Hazards found by reading: repeated touches of one ghost drive the "
        "target to its limit; ghost lists cut to the capacity each on its own, and not together, hold too many.",
        example=(
            "policy = MyPolicy(2)",
            'policy.on_store_miss([a, b], ReqContext("r1"))',
            "policy.insert(a, BlockStatus(0, ref_cnt=0))",
            'policy.touch([a], ReqContext("r1"))  # the request that stored it: no second use',
            "policy.insert(b, BlockStatus(1, ref_cnt=0))",
            "policy.evict(1, set())  # -> evict [b]; allowed: evict [a]",
        ),
    ),
    Clause(
        "order-slru",
        "victims are chosen as by SLRU: the least recent idle block of the probationary segment, then of the protected",
        BOTH,
        why="The two segments are there so that a burst of blocks that are used once does not push out those that are "
        "used again. A segment that lets nobody in, or never gives anything back, turns SLRU into a plain queue.",
        seen_in="sgl-project/sglang#24075: a burst of touches promoted blocks that were not used again, and protected "
        "blocks never went back.",
        example=(
            "policy = MyPolicy(2)  # one block of them may be in the protected segment",
            "policy.insert(a, BlockStatus(0, ref_cnt=0))",
            "policy.touch([a])     # used again: in the protected segment now",
            "policy.insert(b, BlockStatus(1, ref_cnt=0))",
            "policy.evict(1, set())  # -> evict [a]; allowed: evict [b]",
        ),
    ),
    Clause(
        "order-lfu",
        "victims are chosen as by LFU with aging: the idle block of the lowest use count plus age at its last use,"
        " of equal ones the least recent",
        BOTH,
        why="Without an age, the favourites of an hour ago have counts that nothing new can reach: they fill the cache "
        "for ever, each new block is evicted before it is used, and the hit rate sinks to theirs.",
        seen_in="no public bug known; seeded here as NeverAges and CountsOneUse.",
        example=(
            "policy = MyPolicy(2)",
            "policy.insert(a, BlockStatus(0, ref_cnt=0)); policy.touch([a])  # two uses",
            "policy.insert(b, BlockStatus(1, ref_cnt=0))",
            "policy.evict(1, set())  # -> evict [b]",
            "policy.insert(c, BlockStatus(1, ref_cnt=0))  # one use, and the age is 1 since b left",
            "policy.evict(1, set())  # -> evict [c]; allowed: evict [a]",
        ),
    ),
    Clause(
        "order-s3fifo",
        "victims are chosen as by S3-FIFO: the first idle block of small that was not used twice, above its share,"
        " else of main that was not used since its last turn",
        BOTH,
        why="Small has to be left soon by what is not used again, or one long prompt fills the cache. If one use is "
        "enough for main, or a ghost that comes back is not let in, S3-FIFO is a FIFO with more parts.",
        seen_in="no public bug known; seeded here as StaysForOneUse and IgnoresGhosts.",
        example=(
            "policy = MyPolicy(3)",
            "for i, key in enumerate([a, b, c]): policy.insert(key, BlockStatus(i, ref_cnt=0))",
            "policy.touch([a])  # one use: not enough for main",
            "policy.evict(1, set())  # -> evict [b]; allowed: evict [a]",
        ),
    ),
    Clause(
        "order-fifo",
        "victims are the next n of FIFO order: by when they became idle first, or again after they were passed over",
        BOTH,
        why="FIFO is what other policies are measured against. A FIFO that moves what is touched is a kind of LRU, and "
        "the comparison says nothing.",
        seen_in="no public bug known; seeded here as TouchMovesInTheQueue and QueuesAtTheWrongEnd.",
        example=(
            "policy = MyPolicy(2)",
            "policy.insert(a, BlockStatus(0, ref_cnt=0))",
            "policy.insert(b, BlockStatus(1, ref_cnt=0))",
            "policy.touch([a])  # moves nothing",
            "policy.evict(1, set())  # -> evict [b]; allowed: evict [a]",
        ),
    ),
)
