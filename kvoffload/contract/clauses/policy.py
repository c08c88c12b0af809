"""What a policy has to keep."""

from __future__ import annotations

from kvoffload.contract.clauses.form import POLICY, Clause

POLICY_CLAUSES = (
    Clause(
        "get-agrees",
        "get(key) returns the block inserted under the key until it is evicted, removed or cleared",
        POLICY,
        needs=("get",),
        why="A block's state is kept nowhere else: the manager reads and writes ref_cnt through get(). If get() finds "
        "nothing, the server computes again what it has cached; if it hands out a copy, the counts never reach the "
        "policy, and a block that is being read is taken for an idle one.",
        seen_in="vllm-project/vllm#53498: blocks were written and marked, but never entered where lookups search, so "
        "that the written bytes grew and nothing was ever hit.",
        example=(
            "policy, block = MyPolicy(1), BlockStatus(0)",
            "policy.insert(a, block)",
            "block.ref_cnt = 0; policy.mark_evictable(a)",
            "policy.get(a) is block  # -> False; allowed: True",
        ),
    ),
    Clause(
        "evict-exact",
        "evict(n) returns exactly n distinct (key, block) pairs, or None; evict(0) returns []",
        POLICY,
        why="The manager reckons with n. With one victim less the store has no block to write to, with one more a "
        "cached block is thrown away for nothing, and a victim that comes twice puts its block id on the free list "
        "twice, so that two keys get the same memory.",
        seen_in="a hazard found by reading: in the heap of the LRU of vLLM 0.33.0, a block that was pinned again "
        "leaves an old entry behind, and each key must be chosen once only. Seeded here as ChoosesOncePerEntry.",
        example=(
            "policy, block = MyPolicy(2), BlockStatus(0, ref_cnt=0)",
            "policy.insert(a, block)",
            "block.ref_cnt = 1; policy.mark_non_evictable(a)  # a load reads a",
            "block.ref_cnt = 0; policy.mark_evictable(a)      # and is done",
            "policy.evict(2, set())  # -> evict [a, a]; allowed: None",
        ),
    ),
    Clause(
        "evict-idle",
        "a victim was idle: never pending, never pinned",
        POLICY,
        why="A victim's memory goes to another key at once. If a load still reads it, the request gets the KV data of "
        "another prompt and answers with wrong tokens; if a store still writes it, two writes mix in one block.",
        seen_in="LMCache/LMCache#222: an eviction could take a chunk while it was being read.",
        example=(
            "policy, block = MyPolicy(1), BlockStatus(0, ref_cnt=0)",
            "policy.insert(a, block)",
            "block.ref_cnt = 1; policy.mark_non_evictable(a)  # a load reads a",
            "policy.evict(1, set())  # -> evict [a]; allowed: None",
        ),
    ),
    Clause(
        "evict-protected",
        "a victim is never protected",
        POLICY,
        why="The protected keys are those of the store that asks for room. If one of them goes, the caller does not "
        "write it, for it was resident when the call began, and the prefix that was just stored has a hole.",
        seen_in="vllm-project/vllm#35846: the room for the new keys of a request was made by evicting a key of the "
        "same request.",
        example=(
            "policy = MyPolicy(2)",
            "policy.insert(a, BlockStatus(0, ref_cnt=0))",
            "policy.insert(b, BlockStatus(1, ref_cnt=0))",
            "policy.evict(2, {a})  # -> evict [a, b]; allowed: None",
        ),
    ),
    Clause(
        "evict-complete",
        "evict(n) returns None only if fewer than n idle unprotected blocks exist",
        POLICY,
        why="A policy that gives up although enough idle blocks exist makes its manager refuse stores that would fit. "
        "Nothing fails: the cache takes nothing new any more, in the worst case for ever, and the hit rate falls.",
        seen_in="vllm-project/vllm#55461: ARC below its target for t1 looked at t2 only, and refused when t2 had too "
        "few idle blocks, however many t1 had (released in 0.22.1 to 0.29.0).",
        example=(
            "policy = MyPolicy(2)",
            "policy.insert(a, BlockStatus(0, ref_cnt=0))",
            "policy.insert(b, BlockStatus(1, ref_cnt=0))",
            "policy.touch([b])  # in many policies, a and b stand in two lists now",
            "policy.evict(2, set())  # -> None; allowed: evict [a, b] or evict [b, a]",
        ),
    ),
    Clause(
        "evict-atomic",
        "an evict() that returns None leaves the policy unchanged, its order included",
        POLICY,
        needs=("refusals",),
        why="Whoever is told None believes that nothing has happened. A block that is gone all the same is lost: no "
        "event tells of it, and its memory is never used again. If only the order has moved, the next eviction takes "
        "a block that should have stayed.",
        seen_in="vllm-project/vllm#37874: the ARC before this change evicted one block at a time, and when it ran out "
        "half way, the store was refused and the blocks were gone, without an event.",
        example=(
            "policy = MyPolicy(2)",
            "policy.insert(a, BlockStatus(0, ref_cnt=0))",
            "policy.evict(2, set())  # -> None",
            "policy.get(a) is None  # -> True; allowed: False",
        ),
    ),
    Clause(
        "evict-forgets",
        "a victim is gone: get is None, and it is no victim again unless inserted again",
        POLICY,
        why="The victim's block id is on the free list. If the policy still finds the key, a lookup reports a hit and "
        "the request reads whatever was written there since: wrong tokens. If the key is chosen a second time, its "
        "block id is freed twice.",
        seen_in="no public bug known; seeded here as FindsVictims and ListsVictims.",
        example=(
            "policy = MyPolicy(1)",
            "policy.insert(a, BlockStatus(0, ref_cnt=0))",
            "policy.evict(1, set())  # -> evict [a]",
            "policy.get(a) is None  # -> False; allowed: True",
        ),
    ),
    Clause(
        "evictable-exact",
        "the evictable list holds the idle keys, each once",
        POLICY,
        needs=("list",),
        why="On that list evict(n) looks for victims. An idle key that is missing there is never evicted, and the pool "
        "fills up with blocks that nobody gets back; a key that is there and not idle is evicted while it is in use.",
        seen_in="sgl-project/sglang#33862: host copies of blocks that were on the device as well were on no list, and "
        "the host pool starved.",
        example=(
            "policy, block = MyPolicy(1), BlockStatus(0)",
            "policy.insert(a, block)",
            "block.ref_cnt = 0; policy.mark_evictable(a)",
            "list(policy.evictable_blocks)  # -> []; allowed: [a]",
        ),
    ),
    Clause(
        "touch-total",
        "touch never raises and changes order only, whatever the keys",
        POLICY,
        needs=("touch", "any-touch"),
        why="A scheduler touches whole prefixes, whatever has become of their blocks meanwhile. An exception ends its "
        "step, and with that the engine; a touch that has moved half of what it wanted to move loses the block.",
        seen_in="vllm-project/vllm#34576: a touch of a key whose store was in flight raised KeyError out of ARC, which "
        "had taken the entry out by then and so lost the block as well.",
        example=(
            "policy = MyPolicy(1)",
            "policy.insert(a, BlockStatus(0))  # pending",
            "policy.touch([a])  # -> an exception; allowed: None",
        ),
    ),
    Clause(
        "clear-fresh",
        "after clear() the policy behaves as a new one",
        POLICY,
        needs=("clear",),
        why="A cache is cleared because its contents are not valid any more, after new weights were loaded for "
        "instance. What stays behind is served to requests of the new model; ghosts and targets that stay make it "
        "choose its victims by what was asked for before.",
        seen_in="LMCache/LMCache#4993: a connector's reset fell through to an empty default and cleared nothing.",
        example=(
            "policy = MyPolicy(1)",
            "policy.insert(a, BlockStatus(0, ref_cnt=0))",
            "policy.clear()",
            "policy.get(a) is None  # -> False; allowed: True",
        ),
    ),
    Clause(
        "deterministic",
        "the same calls give the same victims",
        POLICY,
        needs=("deterministic",),
        why="A crash that cannot be repeated from its calls is not found, and a hit rate that differs from run to run "
        "cannot be compared. A policy that draws lots keeps the clause if it seeds its own generator.",
        seen_in="no public bug known; seeded here as EvictsAtRandom.",
        example=(
            "one, other = MyPolicy(8), MyPolicy(8)",
            'for i, key in enumerate(keys("abcdefgh")):',
            "    one.insert(key, BlockStatus(i, ref_cnt=0)); other.insert(key, BlockStatus(i, ref_cnt=0))",
            "first, second = one.evict(8, set()), other.evict(8, set())",
            "[key for key, _ in first] == [key for key, _ in second]  # -> False; allowed: True",
        ),
    ),
    Clause(
        "memory-bounded",
        "what is remembered of keys that left is bounded by the capacity",
        POLICY,
        why="A server runs for weeks and sees millions of keys that never come back. A few bytes for each of them are "
        "a leak that ends with the process out of memory, and ghosts far older than the cache mislead a policy that "
        "adapts to them.",
        seen_in="vllm-project/vllm#27039: the first ARC, as its review found, took the capacity for 10,000 blocks "
        "whatever the pool was, and kept as many ghosts.",
        example=(
            "import pickle",
            "policy = MyPolicy(1)",
            'for key in keys("".join(map(chr, range(1_000)))):',
            "    policy.insert(key, BlockStatus(0, ref_cnt=0)); policy.evict(1, set())",
            "len(pickle.dumps(policy)) > 4_000  # -> True; allowed: False",
        ),
    ),
    Clause(
        "evict-scales",
        "the cost of evict(n) does not grow with the number of resident blocks, idle or pinned",
        POLICY,
        needs=("scales",),
        why="An eviction runs within a step of the scheduler, and all requests of the batch wait for it. A walk over "
        "the resident blocks is not noticed in a test of a hundred, and stalls a server of a million for a good part "
        "of a second, at each store.",
        seen_in="vllm-project/vllm#46216: LRU walked past all pinned and pending blocks to the first idle one; "
        "vllm-project/vllm#5411: an older evictor looked at every free block for each allocation; "
        "kvcache-ai/Mooncake#2560: a whole scan of the metadata for each round of evictions.",
        example=(
            "from kvoffload.contract.targets.cost import cost_of",
            'policy, (*pinned, idle) = MyPolicy(4_000), keys("".join(map(chr, range(4_000))))',
            "for i, key in enumerate(pinned):",
            "    block = BlockStatus(i, ref_cnt=0); policy.insert(key, block)",
            "    block.ref_cnt = 1; policy.mark_non_evictable(key)",
            "policy.insert(idle, BlockStatus(3_999, ref_cnt=0))",
            "cost_of(lambda: policy.evict(1, set())).lines > 1_000  # -> True; allowed: False",
        ),
    ),
)
