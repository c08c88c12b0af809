"""What a manager has to keep about slots, counts and stores."""

from __future__ import annotations

from kvoffload.contract.clauses.form import MANAGER, Clause

STORE_CLAUSES = (
    Clause(
        "slots-conserved",
        "resident blocks have distinct ids in range, and free + resident = capacity",
        MANAGER,
        why="Two keys in one block serve each other's data: wrong tokens, and no error anywhere. A block id that is "
        "lost makes the cache one block smaller until it is restarted; when all are lost, it stores nothing.",
        seen_in="vllm-project/vllm#42571: one call freed the same block several times, which spoilt the free list; "
        "sgl-project/sglang#13483: the same host indices were released twice. A hazard found by reading: a new key "
        "that a store names twice takes two block ids and has one entry.",
        example=(
            "manager = MyManager(1)",
            "manager.prepare_store([a]); manager.complete_store([a])",
            "manager.prepare_store([b])  # -> store [b], evict [a]",
            "manager.prepare_store([c])  # -> store [c], evict []; allowed: None",
        ),
    ),
    Clause(
        "slots-stable",
        "a key keeps its block id while resident; block_ids[i] belongs to keys[i]",
        MANAGER,
        why="The copy engine is given block ids and nothing else. If they come in another order than the keys, or a "
        "block moves while it is resident, each key is read from another key's block: wrong tokens.",
        seen_in="no public bug known; seeded here as LoadsInOrderOfSlots and SwapsStoredBlocks.",
        example=(
            "manager = MyManager(2)",
            "written = manager.prepare_store([a, b]).store_spec.block_ids",
            "manager.complete_store([a, b])",
            "manager.prepare_load([b, a]).block_ids == written[::-1]  # -> False; allowed: True",
        ),
    ),
    Clause(
        "counter-exact",
        "the evictable counter equals the number of ready blocks with ref_cnt == 0",
        MANAGER,
        needs=("counter",),
        why="By this counter alone the manager refuses a store. Too low, and it refuses stores that fit, for ever if "
        "the count has drifted; too high, and each hopeless store walks the policy's lists in vain.",
        seen_in="kvcache-ai/Mooncake#2286: a path that cleans up did not lower the count, which drifted and with it "
        "the number of blocks to evict.",
        example=(
            "manager = MyManager(1)",
            "manager.prepare_store([a]); manager.complete_store([a])",
            "manager.prepare_store([b])  # -> store [b], evict [a]",
            "manager.num_evictable_cache_blocks  # -> 1; allowed: 0",
        ),
    ),
    Clause(
        "list-exact",
        "the policy's evictable list holds exactly the ready blocks with ref_cnt == 0",
        MANAGER,
        needs=("list",),
        why="The policy finds victims on its list only. A block that became idle and was not reported to the policy is "
        "never evicted, however many stores are refused for want of room.",
        seen_in="LMCache/LMCache#1130: memory was given back when the last reference went and not when the last pin "
        "did, so that one order of the two leaked it.",
        example=(
            "manager = MyManager(1)",
            "manager.prepare_store([a]); manager.complete_store([a])",
            "manager.prepare_load([a]); manager.complete_load([a])",
            "list(manager._policy.evictable_blocks)  # -> []; allowed: [a]",
        ),
    ),
    Clause(
        "store-new",
        "keys_to_store are the distinct keys that were not resident, in the order given",
        MANAGER,
        why="The caller copies what it is told to copy. A new key that is left out counts as cached and is never "
        "written; one that is resident is written a second time, perhaps while a load reads it.",
        seen_in="a hazard found by reading: vLLM 0.24 to 0.33 gives a new key that is named twice two block ids and "
        "one entry. Its own scheduler names no key twice, and who promises that can disclaim repeated-keys.",
        example=(
            "manager = MyManager(3)",
            "manager.prepare_store([a]); manager.complete_store([a])",
            "manager.prepare_store([a, b, b])  # -> store [b, b], evict []; allowed: store [b], evict []",
        ),
    ),
    Clause(
        "store-refusal",
        "a store is refused if and only if it needs more blocks than are free or idle and unprotected; else "
        "exactly as many are evicted as needed",
        MANAGER,
        why="A store that is refused without need is a prefix that will be computed again. Where the reason never goes "
        "away, the cache has stopped working, and only the hit rate says so. Evicting more than is needed throws "
        "cached blocks away.",
        seen_in="vllm-project/vllm#55461: ARC refused stores although enough idle blocks existed; "
        "LMCache/LMCache#3187: once pinned chunks had made allocations fail, they went on failing; "
        "kvcache-ai/Mooncake#974: a writer died, and its key could not be written again.",
        example=(
            "manager = MyManager(1)",
            "manager.prepare_store([a])",
            "manager.prepare_store([b])  # -> None",
            "manager.complete_store([a])",
            "manager.prepare_store([b])  # -> None; allowed: store [b], evict [a]",
        ),
    ),
    Clause(
        "store-guarded",
        "when the counter alone shows that eviction must fail, the policy is not asked",
        MANAGER,
        needs=("counter", "policy"),
        why="When the server is busiest, all blocks are in use and most stores are hopeless. A policy that is asked "
        "each time may walk over the whole cache, in each step of the scheduler, to find nothing.",
        seen_in="vllm-project/vllm#45757: every refused store walked the whole cache, until a counter of idle blocks "
        "was put before it.",
        example=(
            "manager = MyManager(1)",
            "manager.prepare_store([a])  # pending, so that no block is idle",
            "manager._policy.evict = lambda n, protected: 1 / 0",
            "manager.prepare_store([b])  # -> an exception; allowed: None",
        ),
    ),
    Clause(
        "store-protected",
        "no key of the call is evicted by the call; afterwards each one is resident",
        MANAGER,
        why="A resident key of the call is not written again. If it is evicted to make room for the others, the caller "
        "believes that the whole prefix is cached, and the next request finds a hole in it.",
        seen_in="vllm-project/vllm#35846: making room for the new keys of a store evicted one that it named as well.",
        example=(
            "manager = MyManager(1)",
            "manager.prepare_store([a]); manager.complete_store([a])",
            "manager.prepare_store([a, b])  # -> store [b], evict [a]; allowed: None",
        ),
    ),
    Clause(
        "refusal-atomic",
        "a refused store changes nothing, the policy's order included",
        MANAGER,
        why="A busy server refuses stores all the time. If each refusal costs a block, a count or a cached key, the "
        "cache is emptied by stores that never happened. (Who moves the order on a refusal by design can disclaim "
        "order-on-refusal.)",
        seen_in="vllm-project/vllm#37874: before this change a refused store could already have dropped some of its "
        "victims, with no event that says so.",
        example=(
            "manager = MyManager(2)",
            "manager.prepare_store([a, b]); manager.complete_store([a, b])",
            "manager.prepare_store([a, c, d])  # -> None",
            "manager.lookup(b)  # -> MISS; allowed: HIT",
        ),
    ),
    Clause(
        "victims-idle",
        "nothing pending or pinned is ever evicted",
        MANAGER,
        why="The memory of a victim is written to at once. A load that still reads it gives its request the KV data of "
        "another prompt, and the answer has wrong tokens; a store that still writes it mixes with the next one.",
        seen_in="LMCache/LMCache#222: an eviction could take a chunk while it was being read; "
        "LMCache/LMCache#987: among other faults, pinned objects were evicted, and the hit rate fell to nothing.",
        example=(
            "manager = MyManager(2)",
            "manager.prepare_store([a, b]); manager.complete_store([a, b])",
            "manager.prepare_load([a])",
            "manager.prepare_store([b, c])  # -> store [c], evict [a]; allowed: None",
        ),
    ),
)
