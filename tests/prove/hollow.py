"""Contracts that prove nothing, although CrossHair finds no counterexample to them."""

from __future__ import annotations

from kvoffload_spec import tier
from kvoffload_spec.tier import Tier
from tests.prove import faults
from tests.prove.proof import Fault, Proof


def without_a_contract(x: int) -> int:
    """The number."""
    return x


def with_a_misspelt_condition(x: int) -> int:
    """The number.

    posts: _ > x
    """
    return x


def with_an_impossible_precondition(x: int) -> int:
    """The number.

    pre: x > x
    post: _ > x
    """
    return x


def that_expects_its_own_error(x: int) -> int:
    """The number.

    post: _ > x
    raises: ValueError
    """
    raise ValueError


def about_a_case_that_never_comes(x: int) -> int:
    """The number.

    pre: x > 0
    post: _ > 0
    """
    return x


def that_cannot_fail(x: int) -> str:
    """What an absent key is.

    post: _ != "PINNED"
    """
    return tier.lookup(Tier(1, pinned={0: 1}), 0)


def that_hangs(x: int) -> int:
    """The number.

    post: True
    """
    while True:
        x += 1


FAULT = Fault("kvoffload_spec.tier.lookup", faults.lookup_that_misses_pinned_keys)

HOLLOW = {
    claim.__name__: Proof(claim, witness="x < 0", fault=FAULT)
    for claim in (
        without_a_contract,
        with_a_misspelt_condition,
        with_an_impossible_precondition,
        that_expects_its_own_error,
        about_a_case_that_never_comes,
        that_cannot_fail,
        that_hangs,
    )
}
