"""What has to come up in a run for its verdict to mean anything."""

from __future__ import annotations

from collections.abc import Mapping

from kvoffload.contract.clauses import Subject
from kvoffload.contract.clauses.capabilities import capabilities_of

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

NEEDS: Mapping[str, tuple[str, ...]] = {
    "Get": ("get",),
    "Clear": ("clear",),
    "cleared with blocks": ("clear",),
    "TouchPolicy": ("touch",),
    "touched an idle key": ("touch",),
    "touched a pending key": ("touch",),
    "touched a pinned key": ("touch",),
    "touched an evicted key": ("touch", "any-touch"),
    "touched a key twice in one call": ("touch", "repeated-keys"),
    "refused": ("refusals",),
    "refused only because of protected keys": ("refusals",),
    "stored a key named twice": ("repeated-keys",),
    "loaded a key named twice": ("repeated-keys",),
    "call with a one-shot iterable": ("one-shot",),
    "load of a missing key": ("unready-loads",),
    "load of a pending key": ("unready-loads",),
    "release without a load": ("unbalanced-releases",),
    "TouchKeys": ("touch",),
    "touched a missing key": ("touch",),
    "ResetCache": ("reset",),
    "reset with transfers in flight": ("reset",),
    "TakeEvents": ("events",),
    "drained events": ("events",),
    "stale completion of a store": ("late-completions", "transfer-ids"),
    "stale completion of a load": ("late-completions", "transfer-ids"),
    "completed a load in part": ("transfer-ids",),
    "PolicyFault": ("faults", "policy"),
    "fault in the policy": ("faults", "policy"),
}
"""The capabilities that an operation or a situation needs to come up at all."""

ADMISSION = (
    "skipped a key",
    "admitted a key with its last request",
    "offered a key again by the same request",
    "offer larger than the tracker",
    "forgot an offered key",
)
"""What has to come up as well where a store_threshold is set."""


def wanted(subject: Subject, claims: frozenset[str]) -> tuple[str, ...]:
    """What has to come up in a run with such an implementation.

    Args:
        subject: a policy or a manager.
        claims: ids of the capabilities that it claims.
    """
    # Where few keys are let in, many of the other situations are rare: they are what a check without admission is for.
    situations = ADMISSION if "admission" in claims else SITUATIONS[subject]
    known = {capability.id for capability in capabilities_of(subject)}
    return tuple(
        it for it in (*OPERATIONS[subject], *situations) if claims.issuperset(known.intersection(NEEDS.get(it, ())))
    )
