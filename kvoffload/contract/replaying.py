"""What ``kvoffload replay-history`` does once its options are parsed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from kvoffload.contract.calls.history import read_history
from kvoffload.contract.command import plain
from kvoffload.contract.lockstep.base import Watch
from kvoffload.contract.lockstep.orders import check_order
from kvoffload.contract.lockstep.start import start
from kvoffload.contract.reports.as_test import as_test
from kvoffload.contract.reports.report import Verdict
from kvoffload.contract.reports.violation import describe_run, describe_violation
from kvoffload.contract.search.minimise import replay
from kvoffload.contract.targets.resolve import resolve
from kvoffload.contract.targets.target import TargetError
from kvoffload.contract.targets.time_limit import time_limit


def run_replay_history(
    text: str,
    history: str,
    order: str | None,
    capabilities: Sequence[str],
    arguments: Mapping[str, object],
    pytest: Path | None,
) -> int:
    """Make the calls of one history on the target, and print what came of it.

    Args:
        text: the target: ``MODULE:NAME`` or vLLM's configuration.
        history: the calls.
        order: the order that it declares.
        capabilities: what else it declares.
        arguments: what else to make it with.
        pytest: a file to write the history to as a test.

    Returns:
        0 if no clause is broken, 1 if one is, 2 if it could not be run.
    """
    try:
        check_order(order)
        subject, capacity, operations = read_history(history)
        target = resolve(text, order, capabilities, **arguments)
        if target.subject != subject:
            raise TargetError(f"{text} is a {target.subject}; the history is one of a {subject}.")
        lockstep = start(target, capacity, Watch())
    except (TargetError, ValueError) as error:
        return _could_not(str(error))
    with time_limit():
        violation = replay(lockstep, operations)
    if not lockstep.num_calls:
        return _could_not(
            "none of the history's calls can be made in the state that it stands in, or is one that the target claims "
            "to take; there is nothing to judge."
        )
    if violation is None and lockstep.num_calls < len(operations):
        left_out = len(operations) - lockstep.num_calls
        plain(stderr=True).print(
            f"kvoffload replay-history: {left_out} of the {len(operations)} calls were left out: they cannot be made "
            "in that state, or the target does not claim to take them."
        )
    code = Verdict.KEPT if violation is None else Verdict.BROKEN
    report = describe_run(lockstep) if violation is None else describe_violation(violation)
    if pytest is None:
        plain().print(report)
        return code
    test = as_test(target, lockstep.style, history, report, violation)
    to_stdout = str(pytest) == "-"
    plain(stderr=to_stdout).print(report)
    if to_stdout:
        print(test, end="")
    else:
        try:
            pytest.write_text(test, encoding="utf-8")
        except OSError as error:
            return _could_not(f"{pytest} cannot be written: {error.strerror}.")
    where = "the test above" if to_stdout else f"the test in {pytest}"
    says = "is red, and will be green when the clause is kept" if violation else "is green"
    plain(stderr=to_stdout).print(f"\n{where} {says}")
    return code


def _could_not(why: str) -> Verdict:
    plain(stderr=True).print(f"kvoffload replay-history: {why}")
    return Verdict.COULD_NOT_BE_CHECKED
