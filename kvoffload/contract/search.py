"""Looks for a history that breaks a clause: first by the dice, which is quick, then with Hypothesis."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Literal

from kvoffload.contract.choices import Chooser
from kvoffload.contract.lockstep import ContractViolation, Lockstep, Watch
from kvoffload.contract.manager_chooser import ManagerChooser
from kvoffload.contract.minimise import minimise
from kvoffload.contract.outcome import HangsError
from kvoffload.contract.policy_chooser import PolicyChooser
from kvoffload.contract.target import Target
from kvoffload.contract.time_limit import SECONDS, time_limit
from kvoffload.contract.walk import walk

BUDGET = 400
"""How many histories a user gets who asks for nothing else."""

SHARE_OF_WALKS = 0.75
"""How many of them are walks by the dice, which come first: a walk takes a tenth of the time."""

STEPS = 50
"""The most steps in a history that Hypothesis chooses."""

HASTY = 0.2
"""How long a call may take while a history that hangs is made shorter, in seconds."""

Layer = Literal["walks", "machine"]


@dataclass
class Found:
    """What one search found.

    Attributes:
        watch: what it looked for and saw.
        violation: the first violation, minimised.
        examples: how many histories were tried, up to the violation if there is one.
    """

    watch: Watch
    violation: ContractViolation | None = None
    examples: int = 0


def search(
    target: Target,
    quiet: frozenset[str] = frozenset(),
    budget: int = BUDGET,
    number: int = 0,
    steps: int = STEPS,
    layers: Collection[Layer] = ("walks", "machine"),
    on_history: Callable[[], None] = lambda: None,
) -> Found:
    """Look for the first violation of any clause that is not in ``quiet``.

    Args:
        target: what is checked.
        quiet: ids of clauses that are known to be broken: a history ends where one of them breaks.
        budget: how many histories to try.
        number: a seed: every number is another choice of histories, and always the same one.
        steps: the most steps in a history that Hypothesis chooses.
        layers: who chooses the histories: the dice first, and Hypothesis for the rest.
        on_history: called as each history begins.
    """
    watch = Watch(quiet)
    found = Found(watch)

    def start(capacity: int) -> Lockstep:
        lockstep = target.lockstep(max(capacity, target.smallest), watch)
        if watch.violation is None:
            found.examples += 1
            on_history()
        return lockstep

    num_walks = round(budget * SHARE_OF_WALKS) if "walks" in layers else 0
    num_chosen = max(1, budget - num_walks) if "machine" in layers else 0
    chooser: type[Chooser] = PolicyChooser if target.subject == "policy" else ManagerChooser
    try:
        with time_limit():
            for which in range(number * num_walks, (number + 1) * num_walks):
                walk(chooser, start, which)
            if num_chosen:
                # Only here: what a walk finds need not wait for Hypothesis to be imported.
                from kvoffload.contract.machines import run_machine

                run_machine(chooser, start, num_chosen, steps, number)
    except Exception:
        # Hypothesis runs a failing history again; if the subject answers otherwise then, the first answer stands.
        if watch.violation is None:
            raise
    if watch.violation is not None:
        with time_limit(HASTY if hangs(watch.violation) else SECONDS):
            found.violation = minimise(
                lambda capacity: target.lockstep(capacity, Watch(quiet)), watch.violation, target.smallest
            )
        target.sign(found.violation)
    return found


def hangs(violation: ContractViolation) -> bool:
    """Whether the clause is broken by a call that does not return."""
    return isinstance(violation.__cause__, HangsError)
