"""What a machine draws from, and how: by Hypothesis one by one, or by the dice many at once."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Sequence
from typing import Any, TypeVar, cast

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule

from kvoffload.contract import operations as ops
from kvoffload.contract.operations import Keys

KEYS = ops.keys("abcdef")
_DICE = random.Random(0)

# What arguments are drawn from; a value that stands there several times is as many times as likely.
CAPACITIES = (3, 2, 4, 1, 5, 0)
# Up to four keys, some with repeats; lists that Hypothesis draws key by key are mostly empty or short.
KEY_LISTS: tuple[Keys, ...] = (
    *(tuple(_DICE.choices(KEYS, k=k)) for k, times in ((1, 50), (2, 60), (3, 40), (4, 20)) for _ in range(times)),
    *[()] * 4,
)
PICKS = tuple(range(64))
REQUESTS = ("", "r1", "r2")
EITHER = (False, True)
ONE_IN_FOUR = (False, False, False, True)
ONE_IN_TWELVE = (False,) * 11 + (True,)
FAULTS = tuple(
    itertools.product(
        ("insert", "remove", "evict", "mark_evictable", "mark_non_evictable", "touch", "clear", "get"),
        range(3),
        EITHER,
        (False, False, True),
    )
)
CALLS_IN_A_WALK = 20

Method = TypeVar("Method", bound=Callable[..., None])


def choice(**pools: Sequence[Any]) -> Callable[[Method], Method]:
    """Make a method a rule, whose arguments are drawn from these pools; a walk calls it as well."""

    def add(method: Method) -> Method:
        strategies: dict[str, Any] = {name: st.sampled_from(pool) for name, pool in pools.items()}
        chosen: Any = cast(Any, rule)(**strategies)(method)
        chosen.pools = pools
        return cast(Method, chosen)

    return add


class Machine(RuleBasedStateMachine):
    """A machine with one more rule, which makes many choices at once."""

    @rule(number=st.integers(0, 2**32 - 1))
    def walk(self, number: int) -> None:
        """Twenty choices by the dice: what Hypothesis draws one by one takes longer than the calls that are chosen."""
        dice = random.Random(number)
        methods = [method for name in dir(type(self)) if hasattr(method := getattr(self, name), "pools")]
        for _ in range(CALLS_IN_A_WALK):
            method = dice.choice(methods)
            method(**{name: dice.choice(pool) for name, pool in method.pools.items()})

    @classmethod
    def walk_alone(cls, number: int) -> None:
        """A whole history of a few walks, without Hypothesis."""
        dice = random.Random(number)
        machine = cls()
        machine.begin(dice)
        for _ in range(dice.randint(1, 4)):
            machine.walk(dice.getrandbits(32))
        machine.teardown()

    def begin(self, dice: random.Random) -> None:
        """Make the subject, with a capacity by the dice."""
        raise NotImplementedError


def some_of(keys: Keys, pick: int) -> Keys:
    """All of the keys, for a third of the picks, or a part, turned round or rotated: every number is a choice."""
    if pick % 64 < 24:
        return keys if pick % 2 else keys[::-1]
    chosen = tuple(key for i, key in enumerate(keys) if pick >> (i % 4) & 1)
    turn = pick % (len(chosen) or 1)
    return chosen[turn:] + chosen[:turn]
