"""What has to come up in a run for its verdict to mean anything."""

from __future__ import annotations

from collections.abc import Mapping

from kvoffload.contract.clauses import Subject

OPERATIONS: Mapping[Subject, tuple[str, ...]] = {
    "policy": ("Get", "Insert", "FinishStore", "Pin", "Unpin", "Remove", "TouchPolicy", "Evict", "Clear"),
    "manager": (
        "Lookup",
        "PrepareStore",
        "CompleteStore",
        "PrepareLoad",
        "CompleteLoad",
        "TouchKeys",
        "ResetCache",
        "TakeEvents",
        "PolicyFault",
    ),
}
"""Every operation, by the kind of subject."""

SITUATIONS: Mapping[Subject, tuple[str, ...]] = {
    "policy": (
        "refused",
        "refused only because of protected keys",
        "evicted",
        "evicted past a busy block",
        "evicted past a protected block",
        "evicted nothing, as asked",
        "pinned twice at once",
        "removed while pending",
        "removed while idle",
        "touched an idle key",
        "touched a pending key",
        "touched a pinned key",
        "touched an evicted key",
        "touched a key twice in one call",
        "inserted again after eviction",
        "cleared with blocks",
    ),
    "manager": (
        "refused by the guard",
        "refused only because of protected keys",
        "evicted",
        "evicted past a pinned block",
        "evicted past a pending block",
        "evicted past a protected block",
        "stored a key again after eviction",
        "stored resident and new keys together",
        "stored a key named twice",
        "failed store",
        "completed a store in part",
        "completed a store out of order",
        "completed a key that was not pending",
        "loaded a block twice at once",
        "loaded a key named twice",
        "completed a load in part",
        "load of a missing key",
        "load of a pending key",
        "release without a load",
        "touched a missing key",
        "touched a pending key",
        "touched an idle key",
        "touched a pinned key",
        "stale completion of a store",
        "stale completion of a load",
        "reset with transfers in flight",
        "call with no key",
        "call with a one-shot iterable",
        "drained events",
        "fault in the policy",
    ),
}
"""Every situation, by the kind of subject. A lockstep counts them; the names are the ones it counts under."""

OF_EVENTS = ("TakeEvents", "drained events")
"""What does not come up where a manager tells no events."""

ADMISSION = (
    "skipped a key",
    "admitted a key with its last request",
    "offered a key again by the same request",
    "offer larger than the tracker",
    "forgot an offered key",
)
"""What has to come up as well where a store_threshold is set."""
