"""What a manager has to keep about its other calls, its events and its statistics."""

from __future__ import annotations

from kvoffload.contract.clauses.form import BOTH, MANAGER, Clause

CALL_CLAUSES = (
    Clause(
        "lookup-truth",
        "MISS, HIT_PENDING, HIT say exactly: not resident, pending, ready",
        MANAGER,
        why="On a HIT the request reads the block: if it is not written yet, or gone, it reads garbage. On a MISS it "
        "computes the block: if that was there, the cache was for nothing.",
        seen_in="vllm-project/vllm#53498: stored blocks never became visible to lookups; "
        "LMCache/LMCache#5032: a prefetch that had failed was first published as complete and then deleted.",
        example=(
            "manager = MyManager(1)",
            "manager.prepare_store([a]); manager.complete_store([a])",
            "manager.lookup(a)  # -> MISS; allowed: HIT",
        ),
    ),
    Clause(
        "lookup-pure",
        "lookup changes no residency, count, slot or event",
        MANAGER,
        why="Schedulers look keys up in every step, and often load nothing afterwards. A pin that a lookup leaves "
        "is never released, so that one block after the other can be evicted no more.",
        seen_in="vllm-project/vllm#35931 and LMCache/LMCache#1034: a lookup took read locks that nobody released when "
        "the engine decided not to load.",
        example=(
            "manager = MyManager(1)",
            "manager.prepare_store([a]); manager.complete_store([a])",
            "manager.lookup(a)  # -> HIT",
            "manager.prepare_store([b])  # -> None; allowed: store [b], evict [a]",
        ),
    ),
    Clause(
        "touch-pure",
        "touch never raises and changes no residency, count, slot or event",
        MANAGER,
        needs=("touch",),
        why="A touch is a hint about the future, given for whole prefixes whatever their blocks are doing. If it can "
        "raise, the engine stops; if it can drop or pin a block, the cache loses it.",
        seen_in="vllm-project/vllm#34576: touching a key whose store was in flight raised KeyError and lost its block.",
        example=(
            "manager = MyManager(1)",
            "manager.prepare_store([a])",
            "manager.touch([a])  # -> an exception; allowed: None",
        ),
    ),
    Clause(
        "load-ready-only",
        "a load of a key that is not ready raises and changes nothing",
        MANAGER,
        needs=("unready-loads",),
        why="A load that goes ahead reads a block that is half written or another key's by now: wrong tokens. A load "
        "that raises, and has pinned some of its keys by then, leaves them pinned for ever, since nobody completes it.",
        seen_in="vllm-project/vllm#39702: a block that a lookup had found was evicted before it was loaded. A hazard "
        "found by reading: the keys before the one that fails stay pinned.",
        example=(
            "manager = MyManager(1)",
            "manager.prepare_store([a])",
            "manager.prepare_load([a])  # -> blocks [0]; allowed: an exception",
        ),
    ),
    Clause(
        "load-pinned",
        "a key stays from prepare_load until its last complete_load",
        MANAGER,
        why="Until the last load of a block is complete, its memory is being read. If it goes before, a request reads "
        "another prompt's data; if it stays pinned afterwards, the cache shrinks with every load.",
        seen_in="vllm-project/vllm#39702: what a lookup had found was evicted before it was pinned; "
        "LMCache/LMCache#2738: a second transfer's release took the lock of another reader; "
        "LMCache/LMCache#3884: a retrieve never dropped its pin.",
        example=(
            "manager = MyManager(1)",
            "manager.prepare_store([a]); manager.complete_store([a])",
            "manager.prepare_load([a])",
            "manager.prepare_store([b])  # -> store [b], evict [a]; allowed: None",
        ),
    ),
    Clause(
        "load-once",
        "one load pins a key once, however often it is named; so does its completion release it",
        MANAGER,
        why="The two sides of a load often keep their keys differently, one in a list and one in a set. If a key that "
        "is named twice is pinned twice and released once, its block is never evicted again; the other way round, it "
        "is evicted while another load reads it.",
        seen_in="vllm-project/vllm#42761: a job listed a block id twice, its tracking was a set, and the second "
        "removal raised KeyError; vllm-project/vllm#1556: a shared block was counted twice and then freed twice.",
        example=(
            "manager = MyManager(1)",
            "manager.prepare_store([a]); manager.complete_store([a])",
            "manager.prepare_load([a, a]); manager.complete_load([a, a])",
            "manager.prepare_store([b])  # -> None; allowed: store [b], evict [a]",
        ),
    ),
    Clause(
        "release-balanced",
        "completing a load that is not in progress raises and changes nothing",
        MANAGER,
        needs=("unbalanced-releases",),
        why="A release too many is a bug of the caller, and has to show where it happens. Taken in silence it lets go "
        "of another load's pin, or frees a block that a key still lies in, and wrong tokens come out much later.",
        seen_in="LMCache/LMCache#5005: a double release put one page on the free list twice, and two owners shared it; "
        "sgl-project/sglang#9927: an entry was taken out before it was checked, and the early return lost it.",
        example=(
            "manager = MyManager(1)",
            "manager.prepare_store([a]); manager.complete_store([a])",
            "manager.complete_load([a])  # raises: no load of a is in progress",
            "manager.prepare_store([b])  # -> store [b], evict []; allowed: store [b], evict [a]",
        ),
    ),
    Clause(
        "complete-pending-only",
        "completing a store changes its pending keys only",
        MANAGER,
        why="Completions are sent for whole batches, of which some keys were resident before, belong to other stores "
        "or are gone. What is not pending must not be published, dropped or unpinned by them.",
        seen_in="vllm-project/vllm#37874: before this change a failed completion that named a ready key removed it "
        "and lost its block; vllm-project/tpu-inference#3152: the first worker's report completed a job that others "
        "were still carrying out.",
        example=(
            "manager = MyManager(1)",
            "manager.prepare_store([a]); manager.complete_store([a])",
            "manager.complete_store([a], success=False)  # a is ready: there is nothing to fail",
            "manager.lookup(a)  # -> MISS; allowed: HIT",
        ),
    ),
    Clause(
        "failure-frees",
        "a failed store leaves no trace: key absent, id free, no event",
        MANAGER,
        why="Transfers fail in production. If the key stays, requests read what was never written; if the block id is "
        "not given back, the cache gets smaller with each failure; if an event tells of it, a router sends requests "
        "to a server that has nothing.",
        seen_in="sgl-project/sglang#16067: a slot was lost when the step after its reservation failed; "
        "LMCache/LMCache#5032: a failed prefetch was readable for a while; "
        "vllm-project/vllm#47923: events have to tell of stores that succeeded, and of no others.",
        example=(
            "manager = MyManager(1)",
            "manager.prepare_store([a])",
            "manager.complete_store([a], success=False)",
            "manager.prepare_store([b])  # -> None; allowed: store [b], evict []",
        ),
    ),
    Clause(
        "stale-ignored",
        "a completion whose transfer is not outstanding changes nothing",
        MANAGER,
        needs=("transfer-ids", "late-completions"),
        why="A worker may report a transfer after the cache was reset. If the report is taken for that of a new "
        "transfer of the same key, a block counts as ready while it is being written, and requests read garbage.",
        seen_in="a hazard found by reading; near it, vllm-project/vllm#41956: with the reset came jobs that still "
        "pointed into the cleared cache, which its review found; "
        "LMCache/LMCache#2738: a transfer released the lock of another one.",
        example=(
            "manager = MyManager(1)",
            "old = manager.prepare_store([a]); manager.reset_cache()",
            "manager.prepare_store([a])  # a second write of a, in flight now",
            "manager.complete_store([a], transfer_id=old.transfer_id)",
            "manager.lookup(a)  # -> HIT; allowed: HIT_PENDING",
        ),
    ),
    Clause(
        "reset-fresh",
        "after reset_cache() the manager behaves as a new one",
        MANAGER,
        needs=("reset",),
        why="A server resets its cache when the data is not valid any more, after new weights for instance. What is "
        "left is served as if it were: answers of the old model, or, from ids and counts that stay, a smaller cache.",
        seen_in="vllm-project/vllm#57727: a reset reported success while the CPU tier went on serving the same blocks; "
        "LMCache/LMCache#4993: a reset came down to an empty default.",
        example=(
            "manager = MyManager(1)",
            "manager.prepare_store([a]); manager.complete_store([a])",
            "manager.reset_cache()",
            "manager.lookup(a)  # -> HIT; allowed: MISS",
        ),
    ),
    Clause(
        "events-replay",
        "replaying the drained events gives the ready keys",
        MANAGER,
        needs=("events",),
        why="A router that sends requests where their prefix is cached knows this from the events only. A missing one "
        "wastes a cached prefix, or sends requests to a server that has evicted it.",
        seen_in="LMCache/LMCache#3532: the CPU tier never told of a store; "
        "vllm-project/vllm#37874: before this change, victims of a refused store left without an event; "
        "lightseekorg/tokenspeed#166: each match that only read told that the cache was cleared.",
        example=(
            "manager = MyManager(1)",
            "manager.prepare_store([a]); manager.complete_store([a])",
            "manager.take_events()  # -> no event; allowed: stored [a]",
        ),
    ),
    Clause(
        "events-once",
        "each event is delivered once; stored and removed alternate per key",
        MANAGER,
        needs=("events",),
        why="Whoever counts copies by events, or acts on each, does so twice: a router believes in a copy that is not "
        "there after one of the two was removed, and a listener starts a second transfer.",
        seen_in="near it, LMCache/LMCache#2738: a change of state that was told as new data started a second transfer. "
        "Seeded here as TellsEventsAgain and AnnouncesEvictionsTwice.",
        example=(
            "manager = MyManager(1)",
            "manager.prepare_store([a]); manager.complete_store([a])",
            "manager.take_events()  # -> stored [a]",
            "manager.take_events()  # -> stored [a]; allowed: no event",
        ),
    ),
    Clause(
        "stats-exact",
        "every counter and gauge equals what the history says",
        MANAGER,
        needs=("statistics",),
        why="Alarms and autoscalers act on these numbers. A usage that counts idle blocks stands at 100 % as soon as "
        "the cache is warm, and a counter that misses one kind of transfer hides that it has stopped.",
        seen_in="vllm-project/vllm#45737: the first usage gauge counted idle cached blocks as used; "
        "ai-dynamo/dynamo#4549: the counter of one direction never moved; "
        "NVIDIA/TensorRT-LLM#12834: more free blocks than there are, and a negative usage.",
        example=(
            "manager = MyManager(1)",
            "manager.prepare_store([a]); manager.complete_store([a])",
            "manager.get_stats().used  # -> 1.0; allowed: 0.0",
        ),
    ),
    Clause(
        "admission-counts",
        "a key is stored once store_threshold requests have offered it, with the last of them; the repeats of one "
        "request count once",
        MANAGER,
        needs=("admission",),
        why="The threshold keeps out what only one request asks for. Counted too often, one request that asks again in "
        "each step gets its blocks in; counted too rarely, a long prefix that everybody uses is never stored.",
        seen_in="vllm-project/vllm#52227: keys were counted when they were looked up, which ends at the first miss, so "
        "that a prefix was admitted about one block at a time, and repeated lookups of one request counted as many.",
        example=(
            "manager = MyManager(2, store_threshold=2)",
            'one, other = ReqContext("r1"), ReqContext("r2")',
            "manager.prepare_store([a, b], one)    # -> store [], evict []",
            "manager.prepare_store([a, b], other)  # -> store [a], evict []; allowed: store [a, b], evict []",
        ),
    ),
    Clause(
        "admission-bounded",
        "of the offered keys the last max_tracker_size are remembered; a larger offer still makes progress, head first",
        MANAGER,
        needs=("admission",),
        why="What is remembered has to have an end, or it leaks; but a prompt longer than that must not push its own "
        "keys out while they are counted, or it is never stored however often it comes.",
        seen_in="vllm-project/vllm#54759: an offer with more keys than the tracker held evicted its own counts, which "
        "all stayed at 1.",
        example=(
            "manager = MyManager(4, store_threshold=2, max_tracker_size=3)",
            'offer, one, other = [a, b, c, d], ReqContext("r1"), ReqContext("r2")',
            "manager.prepare_store(offer, one)    # -> store [], evict []",
            "manager.prepare_store(offer, other)  # -> store [], evict []; allowed: store [a, b, c], evict []",
        ),
    ),
    Clause(
        "fault-atomic",
        "an exception out of the policy reaches the caller, loses no block id and leaves no counter off",
        MANAGER,
        needs=("policy", "faults"),
        why="Policies are plug-ins, and some of them raise. The server may survive that, and then goes on with what is "
        "left: a block id lost, or a pin that nobody holds, is lost until it is restarted.",
        seen_in="sgl-project/sglang#16067: a slot was lost when a later part of the step failed; "
        "vllm-project/vllm-ascend#16663: after an abort the end of a load was not passed on, and its blocks stayed "
        "held. Seeded here as NeverReconciles.",
        example=(
            "manager = MyManager(1)",
            "manager._policy.insert = lambda key, block: 1 / 0",
            "manager.prepare_store([a])  # raises: the policy's exception reaches the caller",
            "del manager._policy.insert",
            "manager.prepare_store([b])  # -> None; allowed: store [b], evict []",
        ),
    ),
    Clause(
        "arguments-kept",
        "a call leaves what it was given as it was: the caller's keys, and a block's ref_cnt and block_id",
        BOTH,
        since=2,
        why="The scheduler goes on using the list of keys that it has passed, and completes the transfer with it: a "
        "key that was taken out of it stays pending for ever. And the count in a block is the manager's: a policy "
        "that writes to it changes who is taken to read the block.",
        seen_in="no public bug known.",
        example=(
            "manager, named = MyManager(2), [a, b]",
            "manager.prepare_store([a]); manager.complete_store([a])",
            "manager.prepare_store(named)  # -> store [b], evict []",
            "named  # -> [b]; allowed: [a, b]",
        ),
    ),
)
