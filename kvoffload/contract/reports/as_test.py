"""A history as a test of its own, for pytest: the report as its comment, and one call that judges the history."""

from __future__ import annotations

from kvoffload.contract.calls.style import Style
from kvoffload.contract.lockstep.violation import ContractViolation
from kvoffload.contract.targets.target import Target


def as_test(target: Target, style: Style, history: str, report: str, violation: ContractViolation | None) -> str:
    """The text of a test file: red as long as the history breaks a clause, and green once it breaks none.

    Args:
        target: whose history it is.
        style: how its calls are written.
        history: the calls, as ``kvoffload replay-history`` reads them.
        report: what was said of the history.
        violation: what the history breaks, if anything.
    """
    module, _, path = target.name.partition(":")
    name = "keeps_every_clause" if violation is None else violation.clause.id.replace("-", "_")
    return "\n".join(
        [
            *(f"# {line}".rstrip() for line in report.splitlines()),
            "",
            f"from {module} import {path.partition('.')[0]}",
            "from kvoffload.contract import replay_history",
            "",
            "",
            f"def test_{name}() -> None:",
            f"    replay_history({', '.join([_factory(path, target, style), repr(history), *_declared(target)])})",
            "",
        ]
    )


def _factory(path: str, target: Target, style: Style) -> str:
    """What makes the subject for a capacity."""
    if not style.sized:
        return f"lambda num_blocks: {path}({target.arguments.removeprefix(', ')})"
    return f"lambda num_blocks: {path}(num_blocks{target.arguments})" if target.arguments else path


def _declared(target: Target) -> list[str]:
    """What its owner declares of it, as arguments."""
    declared = [] if target.order is None else [f"order={target.order!r}"]
    declared += [f"capabilities={list(target.capabilities)!r}"] if target.capabilities else []
    if target.admission.threshold > 1:
        declared.append(f"store_threshold={target.admission.threshold}, max_tracker_size={target.admission.most}")
    return declared
