"""What has to come up in a run for its verdict to mean anything."""

from __future__ import annotations

from collections.abc import Mapping

from kvoffload.contract.calls.operations import operations_on
from kvoffload.contract.clauses import Subject

Needs = tuple[str, ...]

SITUATIONS: Mapping[Subject, Mapping[str, Needs]] = {
    "policy": {
        "refused": ("refusals",),
        "refused only because of protected keys": ("refusals",),
        "evicted": (),
        "evicted past a busy block": (),
        "evicted past a protected block": (),
        "evicted nothing, as asked": (),
        "pinned twice at once": (),
        "removed while pending": (),
        "removed while idle": (),
        "touched an idle key": ("touch",),
        "touched a pending key": ("touch",),
        "touched a pinned key": ("touch",),
        "touched an evicted key": ("touch", "any-touch"),
        "touched a key twice in one call": ("touch", "repeated-keys"),
        "inserted again after eviction": (),
        "cleared with blocks": ("clear",),
    },
    "manager": {
        "refused by the guard": (),
        "refused only because of protected keys": (),
        "evicted": (),
        "evicted past a pinned block": (),
        "evicted past a pending block": (),
        "evicted past a protected block": (),
        "stored a key again after eviction": (),
        "stored resident and new keys together": (),
        "stored a key named twice": ("repeated-keys",),
        "failed store": (),
        "completed a store in part": (),
        "completed a store out of order": (),
        "completed a key that was not pending": (),
        "loaded a block twice at once": (),
        "loaded a key named twice": ("repeated-keys",),
        "completed a load in part": ("transfer-ids",),
        "load of a missing key": ("unready-loads",),
        "load of a pending key": ("unready-loads",),
        "release without a load": ("unbalanced-releases",),
        "touched a missing key": ("touch",),
        "touched a pending key": ("touch",),
        "touched an idle key": ("touch",),
        "touched a pinned key": ("touch",),
        "stale completion of a store": ("late-completions", "transfer-ids"),
        "stale completion of a load": ("late-completions", "transfer-ids"),
        "reset with transfers in flight": ("reset",),
        "call with no key": (),
        "call with a one-shot iterable": ("one-shot",),
        "drained events": ("events",),
        "fault in the policy": ("faults", "policy"),
        "skipped a key": ("admission",),
        "admitted a key with its last request": ("admission",),
        "offered a key again by the same request": ("admission",),
        "offer larger than the tracker": ("admission",),
        "forgot an offered key": ("admission",),
    },
}
"""Every situation, by the kind of subject, with the capabilities without which it cannot come up.

A lockstep counts them under these names.
"""


def wanted(subject: Subject, claims: frozenset[str]) -> tuple[str, ...]:
    """What has to come up in a run with such an implementation.

    Args:
        subject: a policy or a manager.
        claims: ids of the capabilities that it claims.
    """
    calls = {operation.__name__: operation.needs for operation in operations_on(subject)}
    situations = {name: frozenset(needs) for name, needs in SITUATIONS[subject].items()}
    if "admission" in claims:
        # Where few keys are let in, many of the other situations are rare (with a threshold of 3 and a tracker of 2,
        # no eviction goes past a protected block in 300 histories): they are what a check without admission is for.
        situations = {name: needs for name, needs in situations.items() if "admission" in needs}
    return tuple(name for name, needs in (calls | situations).items() if needs <= claims)
