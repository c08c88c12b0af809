"""Every clause of the contract: the only list of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

CONTRACT_VERSION = 2
"""The version of this list. A clause is never changed or dropped, only added under a new version."""

Subject = Literal["policy", "manager"]


@dataclass(frozen=True)
class Clause:
    """One sentence of the contract.

    Attributes:
        id: its public, stable name.
        sentence: what it says.
        applies_to: whose clause it is.
        since: the contract version that brought it.
        needs: ids of the capabilities without which it cannot be judged, and is not claimed.
    """

    id: str
    sentence: str
    applies_to: tuple[Subject, ...]
    since: int = 1
    needs: tuple[str, ...] = ()


def _policy(id: str, sentence: str, *needs: str) -> Clause:
    return Clause(id, sentence, ("policy",), needs=needs)


def _manager(id: str, sentence: str, *needs: str) -> Clause:
    return Clause(id, sentence, ("manager",), needs=needs)


CLAUSES = (
    _policy(
        "get-agrees", "get(key) returns the block inserted under the key until it is evicted, removed or cleared", "get"
    ),
    _policy("evict-exact", "evict(n) returns exactly n distinct (key, block) pairs, or None; evict(0) returns []"),
    _policy("evict-idle", "a victim was idle: never pending, never pinned"),
    _policy("evict-protected", "a victim is never protected"),
    _policy("evict-complete", "evict(n) returns None only if fewer than n idle unprotected blocks exist"),
    _policy("evict-atomic", "an evict() that returns None leaves the policy unchanged, its order included", "refusals"),
    _policy("evict-forgets", "a victim is gone: get is None, and it is no victim again unless inserted again"),
    _policy("evictable-exact", "the evictable list holds the idle keys, each once", "list"),
    _policy("touch-total", "touch never raises and changes order only, whatever the keys", "touch", "any-touch"),
    _policy("clear-fresh", "after clear() the policy behaves as a new one", "clear"),
    _policy("deterministic", "the same calls give the same victims", "deterministic"),
    _policy("memory-bounded", "what is remembered of keys that left is bounded by the capacity"),
    _policy(
        "evict-scales",
        "the cost of evict(n) does not grow with the number of resident blocks, idle or pinned",
        "scales",
    ),
    Clause(
        "order-lru",
        "victims are the next n of list-LRU order: by when they became idle or were last touched while idle",
        ("policy", "manager"),
    ),
    Clause(
        "order-arc",
        "victims are chosen as by ARC: from t1 above its target, else from t2, the least recent idle block of either",
        ("policy", "manager"),
    ),
    Clause(
        "order-slru",
        "victims are chosen as by SLRU: the least recent idle block of the probationary segment, then of the protected",
        ("policy", "manager"),
    ),
    Clause(
        "order-lfu",
        "victims are chosen as by LFU with aging: the idle block of the lowest use count plus age at its last use, "
        "of equal ones the least recent",
        ("policy", "manager"),
    ),
    Clause(
        "order-s3fifo",
        "victims are chosen as by S3-FIFO: the first idle block of small that was not used twice, above its share, "
        "else of main that was not used since its last turn",
        ("policy", "manager"),
    ),
    Clause(
        "order-fifo",
        "victims are the next n of FIFO order: by when they became idle first, or again after they were passed over",
        ("policy", "manager"),
    ),
    _manager("slots-conserved", "resident blocks have distinct ids in range, and free + resident = capacity"),
    _manager("slots-stable", "a key keeps its block id while resident; block_ids[i] belongs to keys[i]"),
    _manager(
        "counter-exact",
        "the evictable counter equals the number of ready blocks with ref_cnt == 0",
        "counter",
    ),
    _manager(
        "list-exact",
        "the policy's evictable list holds exactly the ready blocks with ref_cnt == 0",
        "list",
    ),
    _manager("store-new", "keys_to_store are the distinct keys that were not resident, in the order given"),
    _manager(
        "store-refusal",
        "a store is refused if and only if it needs more blocks than are free or idle and unprotected; "
        "else exactly as many are evicted as needed",
    ),
    _manager(
        "store-guarded",
        "when the counter alone shows that eviction must fail, the policy is not asked",
        "counter",
        "policy",
    ),
    _manager("store-protected", "no key of the call is evicted by the call; afterwards each one is resident"),
    _manager("refusal-atomic", "a refused store changes nothing, the policy's order included"),
    _manager("victims-idle", "nothing pending or pinned is ever evicted"),
    _manager("lookup-truth", "MISS, HIT_PENDING, HIT say exactly: not resident, pending, ready"),
    _manager("lookup-pure", "lookup changes no residency, count, slot or event"),
    _manager("touch-pure", "touch never raises and changes no residency, count, slot or event", "touch"),
    _manager("load-ready-only", "a load of a key that is not ready raises and changes nothing", "unready-loads"),
    _manager("load-pinned", "a key stays from prepare_load until its last complete_load"),
    _manager("load-once", "one load pins a key once, however often it is named; so does its completion release it"),
    _manager(
        "release-balanced",
        "completing a load that is not in progress raises and changes nothing",
        "unbalanced-releases",
    ),
    _manager("complete-pending-only", "completing a store changes its pending keys only"),
    _manager("failure-frees", "a failed store leaves no trace: key absent, id free, no event"),
    _manager(
        "stale-ignored",
        "a completion whose transfer is not outstanding changes nothing",
        "transfer-ids",
        "late-completions",
    ),
    _manager("reset-fresh", "after reset_cache() the manager behaves as a new one", "reset"),
    _manager("events-replay", "replaying the drained events gives the ready keys", "events"),
    _manager(
        "events-once",
        "each event is delivered once; stored and removed alternate per key",
        "events",
    ),
    _manager("stats-exact", "every counter and gauge equals what the history says", "statistics"),
    _manager(
        "admission-counts",
        "a key is stored once store_threshold requests have offered it, with the last of them; "
        "the repeats of one request count once",
        "admission",
    ),
    _manager(
        "admission-bounded",
        "of the offered keys the last max_tracker_size are remembered; a larger offer still makes progress, head first",
        "admission",
    ),
    _manager(
        "fault-atomic",
        "an exception out of the policy reaches the caller, loses no block id and leaves no counter off",
        "policy",
        "faults",
    ),
    Clause(
        "arguments-kept",
        "a call leaves what it was given as it was: the caller's keys, and a block's ref_cnt and block_id",
        ("policy", "manager"),
        since=2,
    ),
)
"""All clauses, in the order in which they are shown."""

_BY_ID = {clause.id: clause for clause in CLAUSES}


def clause(id: str) -> Clause:
    """The clause of that id.

    Raises:
        ValueError: if there is none; the message lists the known ones.
    """
    if id not in _BY_ID:
        raise ValueError(f"{id!r} is no clause; the clauses are {', '.join(_BY_ID)}.")
    return _BY_ID[id]


def clauses_for(subject: Subject, order: str | None, admission: bool = False) -> tuple[Clause, ...]:
    """The clauses of such an implementation; those of an order or of admission only if it is declared."""
    declared = f"order-{(order or '').partition(':')[0]}"
    return tuple(
        c
        for c in CLAUSES
        if subject in c.applies_to
        and (not c.id.startswith("order-") or c.id == declared)
        and (admission or "admission" not in c.needs)
    )
