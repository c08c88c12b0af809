"""How the states of a proof are built, and what a property returns."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress, product
from typing import Generic, NamedTuple, TypeAlias, TypeVar

from kvoffload_spec.tier import Tier

T = TypeVar("T")
Keys: TypeAlias = tuple[int, ...]
Three: TypeAlias = tuple[int, int, int]

ABSENT, PENDING, IDLE, PINNED = -2, -1, 0, 1
KEYS = (0, 1, 2)
CALLS = ((), (0,), (0, 1, 0), (0, 1, 2))  # none to three keys, also one named twice

# Made before CrossHair traces anything: with sets of its own making, a path takes twice as long.
SOME_KEYS = {there: frozenset(compress(KEYS, there)) for there in product((False, True), repeat=3)}


class State(NamedTuple):
    """A tier, where each key lies (``ABSENT`` to ``PINNED``), and the reference count of each key."""

    tier: Tier[int]
    places: Three
    refs: Three


class Answer(NamedTuple, Generic[T]):
    """What the model says, and what counting says."""

    said: T
    counted: T


def pick(choices: Sequence[T], index: int) -> T:
    """The choice at that index, on a path of its own; the last one for every index beyond."""
    for at, choice in enumerate(choices[:-1]):
        if index == at:
            return choice
    return choices[-1]


def place(ref: int) -> int:
    """Where a key with this reference count lies, on a path of its own."""
    return PINNED if ref > 0 else IDLE if ref == 0 else PENDING if ref == PENDING else ABSENT


def build(refs: Three, spare: int) -> State:
    """The state with these reference counts and so many free blocks."""
    a, b, c = places = place(refs[0]), place(refs[1]), place(refs[2])
    pending, idle = (SOME_KEYS[a == at, b == at, c == at] for at in (PENDING, IDLE))
    pinned = {key: refs[key] for key in KEYS if places[key] == PINNED}
    capacity = spare + len([at for at in places if at != ABSENT])
    x, y, z = (pinned.get(key, places[key]) for key in KEYS)
    return State(Tier(capacity, pending, idle, pinned), places, (x, y, z))
