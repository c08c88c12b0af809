"""What ``kvoffload check`` does once its options are parsed."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.progress import Progress

from kvoffload.contract.checks import check_manager, check_policy
from kvoffload.contract.reports.exports import as_json, as_junit
from kvoffload.contract.reports.report import Report, Verdict, details, table
from kvoffload.contract.targets.resolve import resolve
from kvoffload.contract.targets.target import TargetError


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
    order: str | None,
    capabilities: Sequence[str],
    expected_failures: Mapping[str, str],
    contract: int,
    arguments: Mapping[str, object],
    budget: int,
    seed: int,
    as_data: bool,
    junit: Path | None,
) -> int:
    """Check the target and print what was found.

    Args:
        text: the target: ``MODULE:NAME`` or vLLM's configuration.
        order: the order that it declares.
        capabilities: what else it declares.
        expected_failures: ids of clauses that it is known to break, each with the reason.
        contract: the contract version that it is held to.
        arguments: what else to make it with.
        budget: how many histories to try.
        seed: chooses other histories.
        as_data: print JSON.
        junit: a file to write as JUnit XML as well.

    Returns:
        The verdict, which is the exit code.
    """
    err = plain(stderr=True)
    try:
        found = resolve(text, order, capabilities, **arguments)
        with _progress_bar(f"check {found.name}", budget) as on_history:
            options = {
                "on_history": on_history,
                "order": order,
                "capabilities": capabilities,
                "expected_failures": expected_failures,
                "contract": contract,
                "budget": budget,
                "seed": seed,
                "name": found.name,
                "arguments": found.arguments,
            }
            if found.subject == "policy":
                report = check_policy(found.make, **options)  # type: ignore[arg-type]
            else:
                threshold, most = found.admission.threshold, found.admission.most
                report = check_manager(found.make, store_threshold=threshold, max_tracker_size=most, **options)  # type: ignore[arg-type]
    except (TargetError, ValueError) as error:
        err.print(f"kvoffload check: {error}")
        return Verdict.COULD_NOT_BE_CHECKED
    if junit is not None:
        try:
            junit.write_text(as_junit(report), encoding="utf-8")
        except OSError as error:
            err.print(f"kvoffload check: {junit} cannot be written: {error.strerror}.")
            return Verdict.COULD_NOT_BE_CHECKED
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
