"""Hypothesis looks for a history that breaks a clause."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.errors import HypothesisException
from hypothesis.stateful import RuleBasedStateMachine, run_state_machine_as_test

from kvoffload.contract.clauses import Subject
from kvoffload.contract.lockstep import ContractViolation, Lockstep, Watch
from kvoffload.contract.machines import ManagerMachine, PolicyMachine
from kvoffload.contract.manager_lockstep import EVERY_KEY, ManagerLockstep
from kvoffload.contract.minimise import minimise
from kvoffload.contract.policy_lockstep import PolicyLockstep
from kvoffload.types import OffloadKey
from kvoffload_spec.admission import Admission

QUICK = settings(max_examples=300, stateful_step_count=50, deadline=None, database=None, derandomize=True)
"""What a user gets who asks for nothing else: 300 histories of up to 50 steps, the same ones every time."""


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
    """

    subject: Subject
    make: Callable[[int], Any]
    order: str | None = None
    name: str = ""
    arguments: str = ""
    admission: Admission[OffloadKey] = EVERY_KEY

    def lockstep(self, capacity: int, watch: Watch) -> Lockstep:
        """A new one, in lockstep with the specification."""
        if self.subject == "policy":
            return PolicyLockstep(self.make, capacity, self.order, watch)
        return ManagerLockstep(self.make, capacity, self.order, watch, admission=self.admission)


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
    _raw: ContractViolation | None = field(default=None, repr=False)


def search(
    target: Target, quiet: frozenset[str] = frozenset(), budget: settings = QUICK, number: int | None = None
) -> Found:
    """Look for the first violation of any clause that is not in ``quiet``.

    Args:
        target: what is checked.
        quiet: ids of clauses that are known to be broken: a history ends where one of them breaks.
        budget: how many histories of how many steps. A state machine freezes settings at first use, so they are passed.
        number: a seed, for another choice of histories than the one that ``budget`` gives.
    """
    watch = Watch(quiet)
    found = Found(watch)

    def start(capacity: int) -> Lockstep:
        lockstep = target.lockstep(capacity, watch)
        if found._raw is None:
            found.examples += 1
        return lockstep

    base: type[RuleBasedStateMachine] = PolicyMachine if target.subject == "policy" else ManagerMachine

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
    try:
        run_state_machine_as_test(Machine if number is None else seed(number)(Machine), settings=chosen)
    except ContractViolation as violation:
        found._raw = violation
    except HypothesisException:
        # The subject answered otherwise when the history was run again; the first answer stands.
        if found._raw is None:
            raise
    if found._raw is not None:
        found.violation = minimise(lambda capacity: target.lockstep(capacity, Watch(quiet)), found._raw)
        found.violation.target, found.violation.arguments = target.name, target.arguments
    return found
