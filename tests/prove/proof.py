"""What is required of a property."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

CONFIRMED = "CONFIRMED"  # over all paths
REFUTED = "POST_FAIL"  # with a counterexample


@dataclass(frozen=True)
class Fault:
    """A planted fault.

    Attributes:
        target: the function of the model that it replaces.
        wrong: what replaces it.
    """

    target: str
    wrong: Callable[..., object]


@dataclass(frozen=True)
class Proof:
    """A property that has to be confirmed, and what shows that this means something.

    Attributes:
        claim: the function with the contract.
        witness: an expression, like a condition of the contract, that is true in the interesting case. That it never is
            has to be refuted, or the claim is about nothing.
        fault: with it every condition has to be refuted, or it cannot fail.
        conditions: how many conditions the contract has.
    """

    claim: Callable[..., object]
    witness: str
    fault: Fault
    conditions: int = 1
