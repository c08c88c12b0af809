"""A violation as text: the sentence, a program that shows it, what was expected and what came."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from kvoffload.contract.program import Names, write_program
from kvoffload.types import OffloadKey

if TYPE_CHECKING:
    from kvoffload.contract.lockstep import ContractViolation


def describe_violation(violation: ContractViolation) -> str:
    """The whole report on one violation, 12 to 20 lines for a minimised history."""
    names = Names()
    made_with = f"{violation.capacity}{violation.arguments}"
    program = write_program(
        violation.subject, made_with, violation.target, violation.history, violation.num_calls, names
    )
    facts = (("expected", violation.expected), ("actual", violation.actual), ("why", violation.why))
    return "\n".join(
        [
            f"{violation.clause.id}: {violation.clause.sentence}",
            "",
            # What a probe found has no history: its ``why`` says what was done.
            *([*(f"  {line}" for line in program), ""] if violation.history else []),
            *(f"  {label:<9} {names.in_text(text)}" for label, text in facts),
        ]
    )


def listed(keys: Iterable[OffloadKey]) -> str:
    """Keys as they stand in ``expected``, ``actual`` and ``why``; the report puts their names in."""
    return f"[{', '.join(map(repr, keys))}]"
