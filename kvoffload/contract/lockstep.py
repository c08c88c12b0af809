"""An implementation and the specification, driven together: what every lockstep has.

A lockstep is handed operations by whoever chooses them and judges each one. It knows nothing of where they come from.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections import Counter, deque
from collections.abc import Callable, Container, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, NoReturn

from kvoffload.contract.clauses import Clause, Subject, clause
from kvoffload.contract.drivers import Outcome
from kvoffload.contract.operations import Operation
from kvoffload.contract.program import Step
from kvoffload.contract.report import describe_violation
from kvoffload.types import OffloadKey


class ContractViolation(Exception):
    """A clause is broken; ``str`` is the whole report.

    Attributes:
        clause: the broken clause.
        subject: whether a policy or a manager broke it.
        capacity: the capacity that the subject was made with, in blocks.
        history: the calls that led here, each with what it returned; of a long history, the last ones.
        num_calls: how many calls led here.
        expected: what the specification allows.
        actual: what came.
        why: one line that connects the two.
        target: ``module:name`` of what makes the subject, or empty.
        arguments: what else the subject is made with, as it stands in Python after the capacity.
    """

    def __init__(
        self,
        clause: Clause,
        subject: Subject,
        capacity: int,
        history: Iterable[Step],
        num_calls: int,
        expected: str,
        actual: str,
        why: str,
    ) -> None:
        super().__init__()
        self.clause = clause
        self.subject = subject
        self.capacity = capacity
        self.history = tuple(history)
        self.num_calls = num_calls
        self.expected = expected
        self.actual = actual
        self.why = why
        self.target = ""
        self.arguments = ""

    def __str__(self) -> str:
        return describe_violation(self)


class EndedQuietlyError(Exception):
    """A clause is broken that another run reports."""


@dataclass
class Watch:
    """What a run looks for and what it has seen.

    Attributes:
        quiet: ids of clauses that another run reports: a history in which one of them breaks ends there.
        operations: how often each operation was carried out.
        situations: how often each named situation came up.
        violation: the first one that was raised.
    """

    quiet: Container[str] = ()
    operations: Counter[str] = field(default_factory=Counter)
    situations: Counter[str] = field(default_factory=Counter)
    violation: ContractViolation | None = None


class Lockstep(ABC):
    """Applies operations to an implementation and to the model; the first break raises a ``ContractViolation``.

    Attributes:
        subject: ``"policy"`` or ``"manager"``.
        over: whether the history has ended: with a broken clause, or because nothing can be judged after it.
        history: the calls so far; only the last ``remember`` of them if that was given.
    """

    subject: Subject

    def __init__(self, capacity: int, watch: Watch | None = None, remember: int | None = None) -> None:
        self.capacity = capacity
        self.watch = watch or Watch()
        self.over = False
        self.history: deque[Step] = deque(maxlen=remember)
        self.num_calls = 0

    def apply(self, op: Operation) -> None:
        """Carry one operation out and judge it.

        An operation that makes no sense in this state (a completion of a transfer that was never prepared, a pin of a
        key that is not resident) is left out, so that a history may lose any of its calls and still be one.

        Raises:
            ContractViolation: if it breaks a clause.
        """
        if self.over or not self._makes_sense(op):
            return
        self.watch.operations[type(op).__name__] += 1
        self.history.append(Step(op))
        self.num_calls += 1
        self._watched(lambda: self._judge(op))

    def saw(self, *situations: str) -> None:
        """Count situations that came up."""
        self.watch.situations.update(situations)

    def record(self, outcome: Outcome) -> Outcome:
        """Note in the history what the last call returned."""
        self.history[-1].outcome = outcome
        return outcome

    def broken(self, id: str, expected: object, actual: object, why: str) -> NoReturn:
        """The clause is broken.

        The history ends here: the model has not made the step that the implementation has made.

        Raises:
            ContractViolation: unless another run reports that clause.
        """
        self.over = True
        if id in self.watch.quiet:
            raise EndedQuietlyError
        raise ContractViolation(
            clause(id), self.subject, self.capacity, self.history, self.num_calls, str(expected), str(actual), why
        ) from self._raised()

    def _raised(self) -> Exception | None:
        outcome = self.history[-1].outcome
        return outcome.raised if outcome else None

    def finish(self) -> None:
        """The history is over: judge what only a whole history shows.

        Raises:
            ContractViolation: if it breaks a clause.
        """
        if not self.over:
            self._watched(self._judge_whole)

    def _watched(self, judge: Callable[[], None]) -> None:
        try:
            with suppress(EndedQuietlyError):
                judge()
        except ContractViolation as violation:
            self.watch.violation = self.watch.violation or violation
            raise

    def _judge_whole(self) -> None:  # noqa: B027 - an empty default, not a forgotten abstract
        """Judge what only a whole history shows."""

    @abstractmethod
    def _makes_sense(self, op: Operation) -> bool:
        """Whether the operation can be carried out in this state."""

    @abstractmethod
    def _judge(self, op: Operation) -> None:
        """Carry the operation out, compare, and move the model on."""


def eviction_order(policy: Any, most: int) -> tuple[OffloadKey, ...] | None:
    """The idle keys in the order in which they would be evicted, found by emptying a copy of the policy.

    Returns:
        At most ``most`` keys; ``None`` if the policy cannot be copied or fails on the way.
    """
    drained: list[OffloadKey] = []
    try:
        emptied = copy.deepcopy(policy)
        while len(drained) < most and (victims := emptied.evict(1, set())):
            drained.extend(key for key, _ in victims)
    except Exception:
        return None
    return tuple(drained)


def shown_evictable(policy: Any) -> list[OffloadKey] | None:
    """The keys in the policy's evictable list, or ``None`` if it shows none."""
    shown: Iterable[OffloadKey] | None = getattr(policy, "evictable_blocks", None)
    return None if shown is None else list(shown)
