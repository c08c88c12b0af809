"""A broken clause as data: the history that broke it, what is allowed and what came."""

from __future__ import annotations

from collections.abc import Iterable

from kvoffload.contract.calls.history import write_history
from kvoffload.contract.calls.outcome import Step
from kvoffload.contract.calls.program import Names
from kvoffload.contract.calls.style import NOWHERE, OURS, Origin, Style
from kvoffload.contract.clauses import Clause, Subject


class ContractViolation(Exception):
    """A clause is broken; ``str`` is one line, or the whole report once one has been written into ``text``.

    Attributes:
        clause: the broken clause.
        subject: whether a policy or a manager broke it.
        capacity: the capacity that the subject was made with, in blocks.
        history: the calls that led here, each with what it returned; of a long history, the last ones.
        num_calls: how many calls led here.
        expected: what the specification allows.
        actual: what came.
        why: one line that connects the two.
        origin: where the subject comes from.
        style: how the calls of a program are written.
        text: the whole report, where one has been written.
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
        origin: Origin = NOWHERE,
        style: Style = OURS,
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
        self.origin = origin
        self.style = style
        self.text = ""

    @property
    def history_text(self) -> str:
        """The history as ``kvoffload replay-history`` reads it; empty if only its end is remembered."""
        if not self.history or self.num_calls > len(self.history):
            return ""
        operations = [step.op for step in self.history]
        return write_history(self.subject, self.capacity, operations, Names.of(operations))

    def __str__(self) -> str:
        return self.text or f"{self.clause.id}: expected {self.expected}, and came {self.actual}"


class EndedQuietlyError(Exception):
    """A clause is broken that another run reports."""
