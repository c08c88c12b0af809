"""Looks for a history that breaks a clause: first by the dice, which is quick, then with Hypothesis."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.errors import HypothesisException
from hypothesis.stateful import run_state_machine_as_test

from kvoffload.contract.clauses import Subject
from kvoffload.contract.lockstep import ContractViolation, Lockstep, Watch
from kvoffload.contract.machines import ManagerMachine, PolicyMachine
from kvoffload.contract.manager_lockstep import EVERY_KEY, ManagerLockstep
from kvoffload.contract.minimise import minimise
from kvoffload.contract.policy_lockstep import PolicyLockstep
from kvoffload.types import OffloadKey
from kvoffload_spec.admission import Admission

QUICK = settings(max_examples=100, stateful_step_count=50, deadline=None, database=None, derandomize=True)
"""What a user gets who asks for nothing else: 100 histories of up to 50 steps, after 300 walks; always the same."""

WALKS_PER_HISTORY = 3
"""How many walks by the dice come first, for each history that Hypothesis chooses: a walk takes a tenth of the time."""


@dataclass(frozen=True)
class Target:
    """What is checked.

    Attributes:
        subject: a policy or a manager.
        make: makes a new one, for a capacity in blocks.
        order: the order it declares, or ``None``.
        name: ``module:name`` of what makes it, for programs that a user can paste; may be empty.
        arguments: what ``make`` passes it after the capacity, as it stands in Python; may be empty.
        admission: the model of a manager's admission.
        events: whether a manager claims to tell events.
    """

    subject: Subject
    make: Callable[[int], Any]
    order: str | None = None
    name: str = ""
    arguments: str = ""
    admission: Admission[OffloadKey] = EVERY_KEY
    events: bool = True

    def lockstep(self, capacity: int, watch: Watch) -> Lockstep:
        """A new one, in lockstep with the specification."""
        if self.subject == "policy":
            return PolicyLockstep(self.make, capacity, self.order, watch)
        return ManagerLockstep(self.make, capacity, self.order, watch, admission=self.admission, events=self.events)


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
    target: Target, quiet: frozenset[str] = frozenset(), budget: settings = QUICK, number: int | None = None
) -> Found:
    """Look for the first violation of any clause that is not in ``quiet``.

    Args:
        target: what is checked.
        quiet: ids of clauses that are known to be broken: a history ends where one of them breaks.
        budget: how many histories of how many steps, after three times as many walks by the dice. A state machine
            freezes settings at first use, so they are passed.
        number: a seed, for another choice of histories than the one that ``budget`` gives.
    """
    watch = Watch(quiet)
    found = Found(watch)

    def start(capacity: int) -> Lockstep:
        lockstep = target.lockstep(capacity, watch)
        if watch.violation is None:
            found.examples += 1
        return lockstep

    base: type[PolicyMachine | ManagerMachine] = PolicyMachine if target.subject == "policy" else ManagerMachine

    class Machine(base):  # type: ignore[misc,valid-type]
        pass

    Machine.start = staticmethod(start)
    chosen = settings(
        budget,
        # Shrinking and explaining are ours to do: on the recorded history, in milliseconds.
        phases=[phase for phase in budget.phases if phase not in (Phase.shrink, Phase.explain)],
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
        report_multiple_bugs=False,
        print_blob=False,
        derandomize=budget.derandomize and number is None,
    )
    num_walks = WALKS_PER_HISTORY * budget.max_examples
    first = 0 if number is None else number * num_walks
    try:
        for walk in range(first, first + num_walks):
            Machine.walk_alone(walk)
        run_state_machine_as_test(Machine if number is None else seed(number)(Machine), settings=chosen)
    except (ContractViolation, HypothesisException):
        # Hypothesis runs a failing history again; if the subject answers otherwise then, the first answer stands.
        if watch.violation is None:
            raise
    if watch.violation is not None:
        found.violation = minimise(lambda capacity: target.lockstep(capacity, Watch(quiet)), watch.violation)
        found.violation.target, found.violation.arguments = target.name, target.arguments
    return found
