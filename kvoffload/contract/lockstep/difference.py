"""Which clause a difference between a manager and the model breaks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from kvoffload.types import OffloadKey

Aspect = Literal["residency", "ready", "pins", "slot", "free", "ids", "counter", "list", "stats"]

ASPECTS: Mapping[Aspect, str] = {
    "residency": "lookup-truth",
    "ready": "lookup-truth",
    "pins": "load-pinned",
    "slot": "slots-stable",
    "free": "slots-conserved",
    "ids": "slots-conserved",
    "counter": "counter-exact",
    "list": "list-exact",
    "stats": "stats-exact",
}
"""The clause that a difference breaks, where the call has none of its own for it.

What comes first is the cause of what follows: where several differ, the first one is blamed.
"""

ALWAYS: tuple[Aspect, ...] = ("ready", "stats")
"""What breaks its own clause whatever the call was: a block's answer about itself, and what counts every call."""


@dataclass(frozen=True)
class Difference:
    """One thing that a manager shows and the model does not say.

    Attributes:
        aspect: what kind of thing it is.
        expected: what the model says.
        actual: what the manager shows.
        why: one line that connects the two.
        key: the key concerned, if it is about one.
        came: what that key is, or the name of the statistic that is wrong.
    """

    aspect: Aspect
    expected: str
    actual: str
    why: str
    key: OffloadKey | None = None
    came: str = ""


def blame_all(id: str) -> dict[Aspect, str]:
    """Whatever differs breaks this clause: the call was to change nothing."""
    return {aspect: id for aspect in ASPECTS if aspect not in ALWAYS}


def blame_keys(id: str) -> dict[Aspect, str]:
    """What a key is breaks this clause; where it is, and what the manager counts, breaks the clause for that."""
    return dict.fromkeys(("residency", "pins"), id)
