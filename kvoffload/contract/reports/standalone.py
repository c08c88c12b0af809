"""A history as a test file of its own, which needs the target and pytest, and nothing of this library."""

from __future__ import annotations

from typing import Any

from kvoffload.contract.calls.history import write_history
from kvoffload.contract.calls.program import Names
from kvoffload.contract.lockstep.base import Lockstep
from kvoffload.contract.lockstep.violation import ContractViolation
from kvoffload.contract.reports.standalone_calls import Body, Case, Manners
from kvoffload.contract.reports.standalone_helpers import HELPERS, used_in
from kvoffload.contract.reports.violation import made_with
from kvoffload.contract.targets.target import Target

HARDER = (
    Manners(),
    Manners(reads=True),
    Manners(announces=True),
    Manners(fresh=True),
    Manners(empties=True),
    Manners(True, True, True, True),
)
"""What is tried, one after the other, until the test shows what was seen."""


def write_test(case: Case, manners: Manners = HARDER[0]) -> str:
    """The text of the file."""
    body = Body(case, manners)
    functions = "\n".join(body.functions())
    text = f"{functions}\n"
    helpers = used_in(text)
    modules = {line for name in helpers for line in HELPERS[name][0]}
    imports = sorted(modules)
    third = ["import pytest"] if "pytest." in text else []
    module, _, path = case.target.partition(":")
    own = [f"from {module} import {path.partition('.')[0]}"] if module else []
    if case.style.made != "{}":
        own = ["from kvoffload.contract import as_policy  # its calls are not those of a policy", *own]
    blocks = ["\n".join(lines) for lines in (imports, third, own) if lines]
    parts = [f'"""{case.says}"""', *blocks, "\n".join(f"{name} = {_key_text(key)}" for key, name in body.keys.items())]
    head = "\n\n".join(part for part in parts if part)
    return "\n\n\n".join([head, *(HELPERS[name][1].strip() for name in helpers), text])


def case_of_violation(violation: ContractViolation) -> Case:
    """A test of the clause that is broken: it asserts what the specification allows."""
    target = f"{violation.origin.name}{violation.origin.options}"
    command = f"kvoffload replay-history {target} '{violation.history_text}' --pytest FILE"
    clause = violation.clause
    return Case(
        subject=violation.subject,
        style=violation.style,
        target=violation.origin.name,
        made_with=made_with(violation.capacity, violation.origin, violation.style),
        history=violation.history,
        evidence=violation.evidence,
        name=clause.id.replace("-", "_"),
        says=f"{clause.id}: {clause.sentence}.\n\nRed while that is broken. Written by\n{command}\n",
        why=violation.why,
    )


def case_of(run: Lockstep, target: Target) -> Case:
    """A test of a history in which no clause is broken: it asserts the answers that came."""
    history = tuple(run.history)
    operations = [step.op for step in history]
    text = write_history(run.subject, run.capacity, operations, Names.of(operations))
    command = f"kvoffload replay-history {target.name}{target.options} '{text}' --pytest FILE"
    return Case(
        subject=run.subject,
        style=run.style,
        target=target.name,
        made_with=made_with(run.capacity, run.origin, run.style),
        history=history,
        evidence=None,
        name="the_calls_answer_as_they_did",
        says=f"What these calls have answered, which breaks no clause of the contract.\n\nWritten by\n{command}\n",
    )


def choose(case: Case) -> tuple[str, bool]:
    """The plainest text that shows what was seen, and whether it does: it is run, on what the target is now.

    A test of a broken clause has to be red now, any other one green. If a call did not return, it is not run.
    """
    texts = [write_test(case, manners) for manners in HARDER]
    if case.hangs:
        return texts[0], True
    shows = next((text for text in texts if passes(text) == (case.evidence is None)), None)
    return (texts[0], False) if shows is None else (shows, True)


def passes(text: str) -> bool:
    """Whether every test in the text of a file passes."""
    names: dict[str, Any] = {"__name__": "standalone"}
    try:
        exec(compile(text, "<standalone>", "exec"), names)
        for name in [name for name in names if name.startswith("test_")]:
            names[name]()
    except KeyboardInterrupt:
        raise
    except BaseException:  # pytest's own outcomes, and SystemExit, are no Exception
        return False
    return True


def _key_text(key: object) -> str:
    if isinstance(key, bytes) and key[-4:] == bytes(4):
        return f"{_bytes(key[:-4])} + bytes(4)"
    return repr(key)


def _bytes(key: bytes) -> str:
    text = repr(key)
    return f'b"{text[2:-1]}"' if text[1] == "'" and '"' not in text else text
