"""A check's result as text: the violations, then a summary that proves that the check has worked."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kvoffload.contract.clauses import CONTRACT_VERSION
from kvoffload.contract.verdict import Verdict

if TYPE_CHECKING:
    from rich.table import Table

    from kvoffload.contract.verdict import Report

SIGHTS = {
    "refusals": ("refused", "refused by the guard", "refused only because of protected keys"),
    "evictions": ("evicted",),
    "failed stores": ("failed store",),
    "loads held across an eviction": ("evicted past a pinned block",),
    "evictions past a busy block": ("evicted past a busy block",),
    "resets": ("ResetCache", "Clear"),
    "stale completions": ("stale completion of a store", "stale completion of a load"),
    "faults in the policy": ("fault in the policy",),
}
"""What a summary counts, by the operations and situations that it is made of."""


def describe_report(report: Report) -> str:
    """The whole report as plain text; it holds nothing that differs between two runs with one seed."""
    parts = [str(violation) for violation in report.failures.values()]
    return "\n\n".join([*parts, "\n".join(_summary(report))])


def _summary(report: Report) -> Iterator[str]:
    yield headline(report)
    yield from details(report)


def headline(report: Report) -> str:
    """The verdict, in one line."""
    clauses = f"{len(report.claimed)} clauses"
    if report.failures:
        clauses = f"{len(report.failures)} of {clauses} broken"
    return (
        f"{report.verdict.name.replace('_', ' ')}: {report.name or 'the ' + report.subject}, {report.subject} contract "
        f"{report.contract}, order {report.order or 'not declared'}: {clauses}"
    )


def details(report: Report) -> Iterator[str]:
    """What the verdict rests on, a line each."""
    seed = f" with seed {report.seed}" if report.seed else ""
    calls = ", ".join(f"{count:,} {name}" for name, count in report.operations.most_common())
    yield f"  looked at {report.examples:,} histories{seed}, {report.operations.total():,} calls: {calls}"
    times = report.operations + report.situations
    sights = {name: sum(map(times.__getitem__, of)) for name, of in SIGHTS.items()}
    seen = ", ".join(f"{count:,} {name}" for name, count in sights.items() if count)
    yield f"  saw {seen or 'none of what it looks for'}; {len(report.states):,} distinct abstract states"
    for reason in dict.fromkeys(report.not_judged.values()):
        ids = [id for id, it in report.not_judged.items() if it == reason]
        yield f"  not judged: {', '.join(ids) if len(ids) < 4 else f'{len(ids)} clauses'} ({reason})"
    if report.never and report.verdict is Verdict.INCONCLUSIVE:
        yield f"  never came up: {', '.join(report.never)}; try a larger budget, or disclaim what cannot come up"
    for id, reason in report.expected_failures.items():
        if id in report.broken:
            yield f"  broken, as expected: {id} ({reason})"
    for id in report.kept_though_expected:
        yield f"  kept, though expected to fail: {id} ({report.expected_failures[id]}); take it off the list"
    new = [id for id, violation in report.broken.items() if violation.clause.since > report.contract]
    if new:
        yield f"  new since contract {report.contract} and not failed: {', '.join(new)} (now {CONTRACT_VERSION})"
    if report.not_claimed:
        without = "; ".join(_not_claimed(report, it.id) for it in report.not_claimed)
        yield f"  not claimed: {without}"


def _not_claimed(report: Report, id: str) -> str:
    clauses = [clause.id for clause in report.clauses if id in clause.needs]
    return f"{id} ({', '.join(clauses)})" if clauses else id


def table(report: Report) -> Table:
    """One row for each clause, for a terminal."""
    from rich.markup import escape
    from rich.table import Table

    rows = Table(title=headline(report), title_justify="left", title_style="bold", box=None, padding=(0, 1))
    rows.add_column("clause", no_wrap=True)
    rows.add_column("", no_wrap=True)
    rows.add_column("says")
    for clause in report.clauses:
        status = report.status(clause)
        rows.add_row(clause.id, f"[{_colour(status)}]{status}[/]", escape(clause.sentence))
    return rows


def _colour(status: str) -> str:
    return {"kept": "green", "broken": "bold red", "not claimed": "dim"}.get(status, "yellow")
