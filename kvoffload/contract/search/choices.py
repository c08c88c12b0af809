"""What a history is made of by chance: pools that arguments are drawn from, and choosers whose methods draw from them.

A chooser is driven by the dice and judges nothing.
"""

from __future__ import annotations

import itertools
import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, TypeAlias, TypeVar, cast

from kvoffload.contract.calls import operations as ops
from kvoffload.contract.calls.operations import Keys
from kvoffload.contract.lockstep.base import Lockstep

Pools: TypeAlias = Mapping[str, Sequence[Any]]
"""What each argument is drawn from, by its name; a value that stands there several times is as many times as likely."""


@dataclass(frozen=True)
class Some:
    """Which of some keys a call names, and in which order.

    Attributes:
        taken: of each four keys in a row, which are named.
        turn: by how many places the named ones are rotated.
        backwards: whether the last one then comes first.
    """

    taken: tuple[bool, ...] = (True,) * 4
    turn: int = 0
    backwards: bool = False

    def of(self, keys: Keys) -> Keys:
        """The keys that are named."""
        named = tuple(key for i, key in enumerate(keys) if self.taken[i % 4])
        turn = self.turn % (len(named) or 1)
        rotated = named[turn:] + named[:turn]
        return rotated[::-1] if self.backwards else rotated


KEYS = ops.keys("abcdef")
_DICE = random.Random(0)

CAPACITIES = (3, 2, 4, 1, 5, 0)
# Up to four keys, some with repeats.
KEY_LISTS: tuple[Keys, ...] = (
    *(tuple(_DICE.choices(KEYS, k=k)) for k, times in ((1, 50), (2, 60), (3, 40), (4, 20)) for _ in range(times)),
    *[()] * 4,
)
INDICES = tuple(range(64))
REQUESTS = ("", "r1", "r2")
EITHER = (False, True)
PARTS = tuple(Some(tuple(bool(n >> i & 1) for i in range(4)), turn=n) for n in range(64))
# All keys, forwards or backwards, in three of eight cases; every part of them, each rotated in several ways, in five.
SOME = (Some(backwards=True), Some()) * 12 + PARTS[24:]
ONE_IN_FOUR = (False, False, False, True)
ONE_IN_TWELVE = (False,) * 11 + (True,)
FAULTS = tuple(
    itertools.product(
        # Those that a manager calls several times, and can be caught half way in, as often again or more.
        ("insert",) * 4
        + ("mark_non_evictable",) * 3
        + ("remove", "mark_evictable") * 2
        + ("evict", "touch", "clear", "get"),
        range(3),
        EITHER,
        (False, False, True),
    )
)

Method = TypeVar("Method", bound=Callable[..., None])


def choice(**pools: Sequence[Any]) -> Callable[[Method], Method]:
    """Make a method of a chooser one of its choices, with arguments from these pools."""

    def add(method: Method) -> Method:
        cast(Any, method).pools = pools
        return method

    return add


class Choice(NamedTuple):
    """A method of a chooser, and what its arguments are drawn from."""

    method: Callable[..., None]
    pools: Pools


def drawn(dice: random.Random, pools: Pools) -> dict[str, Any]:
    """One value from each pool."""
    throw = dice.random  # and not dice.choice, which takes twice as long
    return {name: pool[int(throw() * len(pool))] for name, pool in pools.items()}


class Chooser(ABC):
    """Chooses the operations of one history, one choice after the other, and hands them to its lockstep.

    Args:
        start: makes a subject of a capacity, in lockstep with the specification.
        capacity: the capacity.

    Attributes:
        beginning: what the arguments after ``start`` are drawn from.
        choices: the methods that ``choice`` marks, by name: the order decides what a seed gives.
    """

    beginning: ClassVar[Pools] = {"capacity": CAPACITIES}
    choices: ClassVar[tuple[Choice, ...]] = ()

    def __init_subclass__(cls) -> None:
        # Once for each class, and not for each walk.
        super().__init_subclass__()
        members: list[Any] = [getattr(cls, name, None) for name in sorted(dir(cls))]
        cls.choices = tuple(Choice(method, method.pools) for method in members if hasattr(method, "pools"))

    def __init__(self, start: Callable[[int], Any], capacity: int) -> None:
        self.lockstep: Lockstep = start(capacity)

    def choose(self, dice: random.Random, times: int) -> None:
        """Make so many choices by the dice; fewer if the history ends before."""
        for _ in range(times):
            if self.lockstep.over:
                break
            method, pools = self.choices[int(dice.random() * len(self.choices))]
            method(self, **drawn(dice, pools))

    @abstractmethod
    def finish(self) -> None:
        """End the history with calls that show what the others have left behind."""
