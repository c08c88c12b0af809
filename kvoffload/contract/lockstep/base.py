"""An implementation and the specification, driven together: what every lockstep has.

A lockstep is handed operations by whoever chooses them and judges each one. It knows nothing of where they come from.
"""

from __future__ import annotations

import traceback
from abc import ABC, abstractmethod
from collections import Counter, deque
from collections.abc import Callable, Container, Hashable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, NoReturn, TypeVar

from kvoffload.contract.calls.operations import FinishRequest, Operation
from kvoffload.contract.calls.outcome import Outcome, Step, WrongTypeError
from kvoffload.contract.calls.style import NOWHERE, OURS, Origin
from kvoffload.contract.clauses import Subject, clause
from kvoffload.contract.lockstep.reading import ReadError, read
from kvoffload.contract.lockstep.violation import ContractViolation, EndedQuietlyError

Judge = TypeVar("Judge", bound=Callable[..., None])


class Judges(dict[type[Operation], Callable[[Any, Any], None]]):
    """Which judge judges which call; a judge is given the lockstep and the call."""

    def of(self, *operations: type[Operation]) -> Callable[[Judge], Judge]:
        """Make a function the judge of these calls."""

        def add(judge: Judge) -> Judge:
            self.update(dict.fromkeys(operations, judge))
            return judge

        return add


@dataclass
class Watch:
    """What a run looks for and what it has seen.

    Attributes:
        quiet: ids of clauses that another run reports: a history in which one of them breaks ends there.
        operations: how often each operation was carried out.
        situations: how often each named situation came up.
        states: the distinct abstract states that were reached, by their hashes.
        violation: the first one that was raised.
    """

    quiet: Container[str] = ()
    operations: Counter[str] = field(default_factory=Counter)
    situations: Counter[str] = field(default_factory=Counter)
    states: set[int] = field(default_factory=set)
    violation: ContractViolation | None = None


class Lockstep(ABC):
    """Applies operations to an implementation and to the model; the first break raises a ``ContractViolation``.

    Attributes:
        subject: ``"policy"`` or ``"manager"``.
        claims: ids of the capabilities that the implementation claims.
        unreadable: the clauses of which the first claimed one is broken where what the subject shows cannot be read.
        origin: where the subject comes from.
        over: whether the history has ended: with a broken clause, or because nothing can be judged after it.
        style: how the calls of a program are written.
        history: the calls so far; only the last ``remember`` of them if that was given.
    """

    subject: Subject
    unreadable: tuple[str, ...]

    def __init__(
        self,
        capacity: int,
        claims: frozenset[str],
        watch: Watch | None = None,
        remember: int | None = None,
        origin: Origin = NOWHERE,
    ) -> None:
        self.capacity = capacity
        self.claims = claims
        self.watch = watch or Watch()
        self.over = False
        self.history: deque[Step] = deque(maxlen=remember)
        self.num_calls = 0
        self.origin = origin
        self.style = OURS
        self._read_error: Exception | None = None

    def apply(self, op: Operation) -> None:
        """Carry one operation out and judge it.

        An operation that makes no sense in this state (a completion of a transfer that was never prepared, a pin of a
        key that is not resident) is left out, so that a history may lose any of its calls and still be one. What the
        implementation does not claim to take is left out of the operation.

        Raises:
            ContractViolation: if it breaks a clause.
        """
        claimed = None if self.over else self._claimed(op)
        if claimed is None or not self._makes_sense(claimed):
            return
        op = claimed
        self.watch.operations[type(op).__name__] += 1
        self.history.append(Step(op))
        self.num_calls += 1
        self._watched(lambda: self._judge(op))
        self.watch.states.add(hash((self.capacity, self._abstract_state())))

    def saw(self, *situations: str) -> None:
        """Count situations that came up."""
        self.watch.situations.update(situations)

    def record(self, outcome: Outcome) -> Outcome:
        """Note in the history what the last call returned, and judge that it changed nothing it was only to read."""
        self.history[-1].outcome = outcome
        if outcome.raised is not None:
            read(str, outcome.raised)  # a report shows what it says
        # Where that is known already, the history goes on: whoever is driving has its own copy of what was changed.
        if outcome.changed and "arguments-kept" not in self.watch.quiet:
            why = "what a call is given belongs to its caller; the call may only read it"
            self.broken("arguments-kept", "the arguments as they were", outcome.changed, why)
        return outcome

    def broken(self, id: str, expected: object, actual: object, why: str) -> NoReturn:
        """The clause is broken.

        The history ends here: the model has not made the step that the implementation has made.

        Args:
            id: the clause.
            expected: what the specification allows.
            actual: what came.
            why: one line that connects the two.

        Raises:
            ContractViolation: unless another run reports that clause.
        """
        self.over = True
        broken = clause(id)
        if id in self.watch.quiet or not self.claims.issuperset(broken.needs):
            raise EndedQuietlyError
        outcome = self.history[-1].outcome
        if outcome and isinstance(outcome.raised, WrongTypeError):
            actual, expected = f"returns {outcome.raised.came}", outcome.raised.expected
            why = "the caller reads what it is given, and can read nothing else"
        made = broken, self.subject, self.capacity, self.history, self.num_calls
        texts = str(expected), str(actual), why
        raise ContractViolation(*made, *texts, self.origin, self.style) from self._raised()

    def _raised(self) -> Exception | None:
        outcome = self.history[-1].outcome
        return outcome.raised if outcome and outcome.raised else self._read_error

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
                try:
                    judge()
                except ReadError as error:
                    self._unreadable(error)
        except ContractViolation as violation:
            self.watch.violation = self.watch.violation or violation
            raise

    def _unreadable(self, error: ReadError) -> NoReturn:
        """What the implementation shows after a call cannot even be read."""
        raised = error.__cause__
        if not self.history or not isinstance(raised, Exception):
            raise error
        where = traceback.extract_tb(raised.__traceback__)[-1]
        self._read_error = raised
        why = f"raised in {where.name}() when what the {self.subject} shows after this call was read"
        actual = f"{type(raised).__name__}: {raised}"
        self.broken(self.claimed_of(*self.unreadable), "no exception", actual, why)

    def claimed_of(self, *ids: str) -> str:
        """The first of these clauses that the implementation claims to keep, or the last one."""
        return next((id for id in ids if self.claims.issuperset(clause(id).needs)), ids[-1])

    def _abstract_state(self) -> Hashable:
        """Where the model stands; ``None`` if that is not counted."""
        return None

    def _judge_whole(self) -> None:  # noqa: B027 - an empty default, not a forgotten abstract
        """Judge what only a whole history shows."""

    def _claimed(self, op: Operation) -> Operation | None:
        """The operation without what the implementation does not claim to take; ``None`` if nothing is left of it."""
        if not op.needs <= self.claims or (isinstance(op, FinishRequest) and not op.request):
            return None
        if "repeated-keys" not in self.claims and len(set(op.named)) < len(op.named):
            return op.with_named(tuple(dict.fromkeys(op.named)))
        return op

    @abstractmethod
    def _makes_sense(self, op: Operation) -> bool:
        """Whether the operation can be carried out in this state."""

    @abstractmethod
    def _judge(self, op: Operation) -> None:
        """Carry the operation out, compare, and move the model on."""
