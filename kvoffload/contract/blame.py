"""Which clause a difference between a manager and the model breaks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from kvoffload.contract.evidence import Evidence
from kvoffload.contract.outcome import MisbehaviourError, Outcome, Stored
from kvoffload.contract.report import listed
from kvoffload.errors import OffloadingError
from kvoffload.policies.base import BlockStatus
from kvoffload.types import OffloadKey

Aspect = Literal["residency", "pins", "slot", "ids", "free", "counter", "list", "stats"]

ASPECTS: Mapping[Aspect, str] = {
    "residency": "lookup-truth",
    "pins": "load-pinned",
    "slot": "slots-stable",
    "ids": "slots-conserved",
    "free": "slots-conserved",
    "counter": "counter-exact",
    "list": "list-exact",
    "stats": "stats-exact",
}
"""The clause that a difference breaks, where the call has none of its own for it."""


LONGEST_MESSAGE = 80
"""How much of an exception's message a report shows."""


@dataclass(frozen=True)
class Difference:
    """One thing that a manager shows and the model does not say.

    Attributes:
        aspect: what kind of thing it is.
        expected: what the model says.
        actual: what the manager shows.
        why: one line that connects the two.
        evidence: what shows it in a test of its own.
        key: the key concerned, if it is about one.
    """

    aspect: Aspect
    expected: str
    actual: str
    why: str
    evidence: Evidence
    key: OffloadKey | None = None


def blame_all(id: str) -> dict[Aspect, str]:
    """Whatever differs breaks this clause: the call was to change nothing. Statistics count even such calls."""
    return {**dict.fromkeys(ASPECTS, id), "stats": ASPECTS["stats"]}


def blame_keys(id: str) -> dict[Aspect, str]:
    """What a key is breaks this clause; where it is, and what the manager counts, breaks the clause for that."""
    return dict.fromkeys(("residency", "pins"), id)


def _short(message: str) -> str:
    line = message.partition("\n")[0]
    return line if len(line) <= LONGEST_MESSAGE else f"{line[:LONGEST_MESSAGE]}..."


def shown(outcome: Outcome) -> str:
    """What a call returned or raised, for a report."""
    if isinstance(outcome.raised, MisbehaviourError):
        return str(outcome.raised)
    match outcome.value:
        case _ if isinstance(outcome.raised, OffloadingError) and hasattr(outcome.raised, "key"):
            return f"raises {type(outcome.raised).__name__} for {outcome.raised.key!r}"
        case _ if outcome.raised is not None:
            return f"raises {type(outcome.raised).__name__}: {_short(str(outcome.raised))}"
        case Stored(stored, block_ids, evicted):
            where = f" in blocks {list(block_ids)}" if block_ids else ""
            return f"store {listed(stored)}{where}, evict {listed(evicted)}"
        case tuple(block_ids):
            return f"blocks {list(block_ids)}"
    return str(outcome.value)


def victims_of(outcome: Outcome) -> tuple[OffloadKey, ...] | None:
    """The keys that an eviction returned; ``None`` if it refused."""
    if not isinstance(outcome.value, tuple):
        return None
    return tuple(key for key, _ in outcome.value)


def shown_victims(outcome: Outcome) -> str:
    """What an eviction returned or raised, for a report."""
    victims = victims_of(outcome)
    if outcome.raised is not None:
        return shown(outcome)
    return "None" if victims is None else f"evict {listed(victims)}"


def block_of(key: OffloadKey, block: BlockStatus | None) -> str:
    """The block by the name that it has in a program."""
    return "None" if block is None else f"{key!r}_block"
