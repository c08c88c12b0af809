"""Walks: seeded random histories.

A walk has about 55 calls, each of them judged: with CPython 3.11, on one core of two, 25,000 calls a second on our LRU
policy and 14,000 on our LRU manager. Of 93 seeded bugs that
250 walks each were made on, 59 % showed in at least a third of the walks, 88 % in a tenth, 98 % in a fiftieth.
"""

from __future__ import annotations

import random
from collections.abc import Callable

from kvoffload.contract.lockstep.base import Lockstep
from kvoffload.contract.search.choices import Chooser, drawn

STRETCH = 20
"""How many choices come in a row: enough to fill a pool and to evict from it. A walk has one to four times as many."""


def walk(chooser: type[Chooser], start: Callable[[int], Lockstep], number: int) -> None:
    """Choose one whole history by the dice; the same number gives the same one.

    Args:
        chooser: what chooses.
        start: makes a subject of a capacity, in lockstep with the specification.
        number: the seed.

    Raises:
        ContractViolation: if the history breaks a clause.
    """
    dice = random.Random(number)
    chosen = chooser(start, **drawn(dice, chooser.beginning))
    chosen.choose(dice, STRETCH * dice.randint(1, 4))
    chosen.finish()
