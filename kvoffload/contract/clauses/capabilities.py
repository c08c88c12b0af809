"""What an implementation may or may not promise: the only list of capabilities."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

from kvoffload.contract.clauses.form import BOTH, MANAGER, POLICY, Subject

Kind = Literal["assumed", "seen", "declared"]


@dataclass(frozen=True)
class Capability:
    """One thing that an implementation can do or promises.

    Attributes:
        id: its public name.
        sentence: what it says of the implementation.
        applies_to: of a policy, a manager or both.
        kind: ``assumed`` unless it is disclaimed; ``seen`` on the object, or not; or only there if it is ``declared``.
        told: whether a report says that it is not claimed. What few have, and nobody misses, is passed over.
        method: the method that it is seen by, where having that is all.
    """

    id: str
    sentence: str
    applies_to: tuple[Subject, ...]
    kind: Kind
    told: bool = True
    method: str = ""


CAPABILITIES = (
    Capability("scales", "its evictions cost the same however many blocks are resident", POLICY, "declared"),
    Capability("empty", "it can be made for 0 blocks", BOTH, "seen"),
    Capability("repeated-keys", "a call may name a key twice", BOTH, "assumed"),
    Capability("deterministic", "the same calls give the same answers", BOTH, "assumed"),
    Capability("touch", "it has touch()", BOTH, "seen", method="touch"),
    Capability("list", "its evictable list is shown, or (a policy's) can be read off a copy", BOTH, "seen"),
    Capability("get", "get(key) hands out the block", POLICY, "seen", method="get"),
    Capability("clear", "it has clear()", POLICY, "seen", method="clear"),
    Capability("any-touch", "touch() takes keys that are not resident", POLICY, "assumed"),
    Capability("refusals", "evict() may be asked for more than there is, and returns None", POLICY, "assumed"),
    Capability("reset", "it has reset_cache()", MANAGER, "seen", method="reset_cache"),
    Capability("events", "it tells events", MANAGER, "seen"),
    Capability("reset-events", "reset_cache() is announced, and nothing of before it afterwards", MANAGER, "assumed"),
    Capability("statistics", "it has get_stats(), in kvoffload's form", MANAGER, "seen"),
    Capability("counter", "its evictable counter is shown", MANAGER, "seen"),
    Capability("policy", "its policy is shown", MANAGER, "seen"),
    Capability("transfer-ids", "it numbers its transfers, and a completion may name one", MANAGER, "seen"),
    Capability("late-completions", "a transfer may complete after a reset, or twice", MANAGER, "assumed"),
    Capability("pending-lookups", "lookup() tells a pending key from a missing one", MANAGER, "seen"),
    Capability("one-shot", "keys may be a one-shot iterable", MANAGER, "assumed"),
    Capability("unready-loads", "a load may name keys that are not ready, and raises", MANAGER, "assumed"),
    Capability("unbalanced-releases", "a release may name keys that no load holds, and raises", MANAGER, "assumed"),
    Capability("order-on-refusal", "a refused store leaves the policy's order alone", MANAGER, "assumed"),
    Capability("faults", "its policy may raise", MANAGER, "assumed"),
    Capability(
        "requests", "it is told when a request has finished", BOTH, "seen", told=False, method="on_request_finished"
    ),
    Capability("admission", "it has a store_threshold", MANAGER, "declared", told=False),
)
"""All capabilities, in the order in which they are shown."""

_BY_ID = {capability.id: capability for capability in CAPABILITIES}
DISCLAIMED = "no-"
"""What stands before the name of a capability that is not claimed."""


def capabilities_of(subject: Subject) -> tuple[Capability, ...]:
    """The capabilities that a policy or a manager may have."""
    return tuple(capability for capability in CAPABILITIES if subject in capability.applies_to)


def claims_of(
    subject: Subject, seen: Collection[str], ruled_out: Collection[str] = (), declared: Collection[str] = ()
) -> frozenset[str]:
    """The ids of the capabilities that an implementation claims.

    Args:
        subject: a policy or a manager.
        seen: what can be seen of it.
        ruled_out: what implementations of its family do not promise.
        declared: what its owner says of it: ``scales``, or ``no-repeated-keys``; that counts most.

    Raises:
        ValueError: if a declared name is unknown, or claims what can be seen not to be there.
    """
    known = {capability.id: capability for capability in capabilities_of(subject)}
    claims = {id for id, it in known.items() if it.kind == "assumed" or (it.kind == "seen" and id in seen)}
    claims -= set(ruled_out)
    for name in declared:
        id = name.removeprefix(DISCLAIMED)
        if id not in known:
            raise ValueError(
                f"the capability is {name!r}; known of a {subject} are {', '.join(known)}, and each with "
                f"{DISCLAIMED!r} before it. Leave it out, or name one."
            )
        if name != id:
            claims.discard(id)
        elif known[id].kind == "seen" and id not in seen:
            raise ValueError(
                f"the capability {id!r} is declared, which says: {known[id].sentence}; it does not show any."
            )
        else:
            claims.add(id)
    return frozenset(claims)
