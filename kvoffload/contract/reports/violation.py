"""A violation as text: the sentence, a program that shows it, what was expected and what came."""

from __future__ import annotations

from kvoffload.contract.calls.program import Names, ProgramWriter
from kvoffload.contract.calls.style import Origin, Style
from kvoffload.contract.lockstep.base import Lockstep
from kvoffload.contract.lockstep.violation import ContractViolation


def describe_violation(violation: ContractViolation) -> str:
    """The whole report on one violation, 12 to 20 lines for a minimised history."""
    names = Names.of(step.op for step in violation.history)
    program = _program(violation, names)
    facts = list(_facts(violation, names).items())
    if violation.history_text:
        name, options = violation.origin.name or "MODULE:NAME", violation.origin.options
        facts.append(("replay", f"kvoffload replay-history {name}{options} '{violation.history_text}'"))
    facts.append(("explain", f"kvoffload explain {violation.clause.id}"))
    return "\n".join(
        [
            f"{violation.clause.id}: {violation.clause.sentence}",
            "",
            # What a probe found has no history: its ``why`` says what was done.
            *([*(f"  {line}" for line in program), ""] if violation.history else []),
            *(f"  {label:<9} {text}" for label, text in facts),
        ]
    )


def facts_of(violation: ContractViolation) -> dict[str, str]:
    """What was expected, what came and why, with the names that the keys have in the program."""
    names = Names.of(step.op for step in violation.history)
    _program(violation, names)
    return _facts(violation, names)


def _facts(violation: ContractViolation, names: Names) -> dict[str, str]:
    facts = {"expected": violation.expected, "actual": violation.actual, "why": violation.why}
    return {label: names.in_text(text) for label, text in facts.items()}


def describe_run(run: Lockstep) -> str:
    """The calls of a history in which no clause was broken, each with what it returned."""
    history = tuple(run.history)
    writer = ProgramWriter(run.subject, run.style, Names.of(step.op for step in history))
    program = writer.write(made_with(run.capacity, run.origin, run.style), run.origin.name, history, len(history))
    calls = "this call" if len(history) == 1 else f"these {len(history)} calls"
    return "\n".join([f"no clause is broken by {calls}:", "", *(f"  {line}" for line in program)])


def _program(violation: ContractViolation, names: Names) -> list[str]:
    writer = ProgramWriter(violation.subject, violation.style, names)
    origin = violation.origin
    made = made_with(violation.capacity, origin, violation.style)
    return writer.write(made, origin.name, violation.history, violation.num_calls)


def made_with(capacity: int, origin: Origin, style: Style) -> str:
    """What stands between the brackets where the subject is made."""
    return f"{capacity}{origin.arguments}" if style.sized else origin.arguments.removeprefix(", ")
