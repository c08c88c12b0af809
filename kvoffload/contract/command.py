"""What ``kvoffload check`` and ``kvoffload replay-history`` do once their options are parsed."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.progress import Progress

from kvoffload.contract.calls.history import read_history
from kvoffload.contract.checks import PolicyOptions, check_manager, check_policy
from kvoffload.contract.lockstep.base import Watch
from kvoffload.contract.lockstep.orders import check_order
from kvoffload.contract.lockstep.start import start
from kvoffload.contract.reports.as_test import as_test
from kvoffload.contract.reports.exports import FORMATS, as_json
from kvoffload.contract.reports.report import Report, Verdict, details, table
from kvoffload.contract.reports.violation import describe_run, describe_violation
from kvoffload.contract.search.minimise import replay
from kvoffload.contract.search.search import BUDGET
from kvoffload.contract.targets.resolve import resolve
from kvoffload.contract.targets.target import TargetError
from kvoffload.contract.targets.time_limit import time_limit


def plain(stderr: bool = False) -> Console:
    """A console that prints text as it is."""
    return Console(stderr=stderr, soft_wrap=True, markup=False, highlight=False)


@contextmanager
def _progress_bar(label: str, budget: int) -> Iterator[Callable[[], None]]:
    """A bar on a terminal, and nothing in a pipe; a check that finds something looks at more than its budget."""
    bar = Progress(console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty())
    with bar:
        task = bar.add_task(label, total=budget)
        yield lambda: bar.advance(task)


def run_check(
    text: str,
    options: PolicyOptions,
    arguments: Mapping[str, object],
    as_data: bool,
    files: Mapping[Path, str],
) -> int:
    """Check the target and print what was found.

    Args:
        text: the target: ``MODULE:NAME`` or vLLM's configuration.
        options: what is declared of it, and how it is searched.
        arguments: what else to make it with.
        as_data: print JSON.
        files: files to write as well, each with the name of its format.

    Returns:
        The verdict, which is the exit code.
    """
    try:
        found = resolve(text, options.get("order"), options.get("capabilities", ()), **arguments)
        with _progress_bar(f"check {found.name}", options.get("budget", BUDGET)) as on_history:
            if found.subject == "policy":
                report = check_policy(
                    found.make, name=found.name, arguments=found.arguments, on_history=on_history, **options
                )
            else:
                report = check_manager(
                    found.make,
                    name=found.name,
                    arguments=found.arguments,
                    store_threshold=found.admission.threshold,
                    max_tracker_size=found.admission.most,
                    on_history=on_history,
                    **options,
                )
    except (TargetError, ValueError) as error:
        return _could_not("check", str(error))
    for file, name in files.items():
        try:
            file.write_text(FORMATS[name](report), encoding="utf-8")
        except OSError as error:
            return _could_not("check", f"{file} cannot be written: {error.strerror}.")
    if as_data:
        plain().print(as_json(report))
    else:
        print_report(report)
    return report.verdict


def print_report(report: Report) -> None:
    """Plain lines in a pipe; on a terminal the same with a table of the clauses."""
    out = plain()
    if not out.is_terminal:
        out.print(str(report))
        return
    for violation in report.failures.values():
        out.print(f"{violation}\n")
    Console().print(table(report))
    for line in details(report):
        out.print(line)
    out.print(f"  took {report.seconds:.1f} s")


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
        return _could_not("replay-history", str(error))
    with time_limit():
        violation = replay(lockstep, operations)
    if not lockstep.num_calls:
        return _could_not(
            "replay-history",
            "none of the history's calls can be made in the state that it stands in, or is one that the target claims "
            "to take; there is nothing to judge.",
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
            return _could_not("replay-history", f"{pytest} cannot be written: {error.strerror}.")
    where = "the test above" if to_stdout else f"the test in {pytest}"
    says = "is red, and will be green when the clause is kept" if violation else "is green"
    plain(stderr=to_stdout).print(f"\n{where} {says}")
    return code


def _could_not(command: str, why: str) -> Verdict:
    plain(stderr=True).print(f"kvoffload {command}: {why}")
    return Verdict.COULD_NOT_BE_CHECKED
