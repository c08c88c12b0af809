"""What a check found: which clauses are kept, which are broken, and whether it looked hard enough to say so."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import IntEnum

from rich.markup import escape
from rich.table import Table

from kvoffload.contract.clauses import CONTRACT_VERSION, Clause, Subject
from kvoffload.contract.clauses.capabilities import Capability, capabilities_of
from kvoffload.contract.lockstep.base import Watch
from kvoffload.contract.lockstep.violation import ContractViolation
from kvoffload.contract.reports.situations import wanted
from kvoffload.contract.reports.violation import describe_violation

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


class Verdict(IntEnum):
    """The verdict, which is the exit code as well."""

    KEPT = 0
    BROKEN = 1
    COULD_NOT_BE_CHECKED = 2
    INCONCLUSIVE = 3


class InconclusiveError(Exception):
    """Some call or situation never came up, so that a check has shown nothing about it."""


@dataclass
class Report:
    """The result of one check; ``str`` is the whole of it, the same for two runs with one seed.

    Attributes:
        subject: a policy or a manager.
        name: ``module:name`` of what was checked.
        order: the order it declares, or ``None``.
        clauses: the clauses that there are for such a subject.
        claims: ids of the capabilities that it claims.
        expected_failures: ids of clauses that it is known to break, each with the reason.
        contract: the contract version that it is held to: what has come since is run and never failed.
        seed: which choice of histories was looked at.
        broken: the broken clauses, each with its shortest history, in the order in which they were found.
        examples: how many histories were tried.
        operations: how often each operation was carried out.
        situations: how often each situation came up.
        states: the distinct abstract states that were reached, by their hashes.
        seconds: how long it took.
        not_judged: ids of claimed clauses that the check did not get to, each with the reason.
    """

    subject: Subject
    name: str
    order: str | None
    clauses: tuple[Clause, ...]
    claims: frozenset[str]
    expected_failures: Mapping[str, str] = field(default_factory=dict)
    contract: int = CONTRACT_VERSION
    seed: int = 0
    broken: dict[str, ContractViolation] = field(default_factory=dict)
    examples: int = 0
    operations: Counter[str] = field(default_factory=Counter)
    situations: Counter[str] = field(default_factory=Counter)
    states: set[int] = field(default_factory=set)
    seconds: float = 0.0
    not_judged: dict[str, str] = field(default_factory=dict)

    def count(self, watch: Watch, num_histories: int) -> None:
        """Add what a search of so many histories saw."""
        self.examples += num_histories
        self.operations.update(watch.operations)
        self.situations.update(watch.situations)
        self.states.update(watch.states)

    def add(self, violation: ContractViolation | None) -> None:
        """Add what a search found, if it found anything."""
        if violation is not None:
            violation.text = describe_violation(violation)
            self.broken[violation.clause.id] = violation

    def leave_out(self, reason: str, ids: Iterable[str]) -> None:
        """Nothing is said of these clauses, as far as they are claimed and not broken."""
        claimed = {clause.id for clause in self.claimed}
        self.not_judged.update({id: reason for id in ids if id in claimed and id not in self.broken})

    @property
    def claimed(self) -> tuple[Clause, ...]:
        """The clauses that it claims to keep."""
        return tuple(clause for clause in self.clauses if self.claims.issuperset(clause.needs))

    @property
    def not_claimed(self) -> tuple[Capability, ...]:
        """The capabilities that it does not claim, which rule out clauses, or inputs."""
        return tuple(it for it in capabilities_of(self.subject) if it.id not in self.claims and it.told)

    def lacking(self, clause: Clause) -> tuple[Capability, ...]:
        """The capabilities that the clause needs and that are not claimed."""
        return tuple(it for it in capabilities_of(self.subject) if it.id in clause.needs and it.id not in self.claims)

    @property
    def failures(self) -> dict[str, ContractViolation]:
        """The broken clauses that make the verdict: neither expected, nor newer than the contract it is held to."""
        return {
            id: violation
            for id, violation in self.broken.items()
            if id not in self.expected_failures and violation.clause.since <= self.contract
        }

    @property
    def kept_though_expected(self) -> tuple[str, ...]:
        """The clauses that were expected to fail and are kept: what is known of them is out of date."""
        judged = {clause.id for clause in self.claimed}.difference(self.not_judged)
        return tuple(id for id in self.expected_failures if id in judged and id not in self.broken)

    @property
    def never(self) -> tuple[str, ...]:
        """The operations and situations that never came up, so that nothing was shown about them."""
        wants = wanted(self.subject, self.claims)
        return tuple(it for it in wants if not self.operations[it] and not self.situations[it])

    @property
    def verdict(self) -> Verdict:
        """Broken if any clause is; inconclusive if something never came up or was not looked for; else kept."""
        if self.failures:
            return Verdict.BROKEN
        if self.never or self.not_judged:
            return Verdict.INCONCLUSIVE
        return Verdict.BROKEN if self.kept_though_expected else Verdict.KEPT

    def status(self, clause: Clause) -> str:
        """What came out for one clause, in a word or two."""
        if not self.claims.issuperset(clause.needs):
            return "not claimed"
        if clause.id in self.broken:
            if clause.id in self.expected_failures:
                return "expected failure"
            return "broken" if clause.since <= self.contract else "new"
        if clause.id in self.not_judged:
            return "not judged"
        if clause.id in self.expected_failures:
            return "kept, though expected to fail"
        return "kept"

    def raise_if_not_kept(self) -> None:
        """Raise what the verdict is made of.

        Raises:
            ContractViolation: the first broken clause.
            InconclusiveError: if some call or situation never came up, or a clause was kept that is expected to fail.
        """
        for violation in self.failures.values():
            raise violation
        if self.verdict is not Verdict.KEPT:
            raise InconclusiveError(str(self))

    def __str__(self) -> str:
        parts = [*map(str, self.failures.values()), "\n".join([headline(self), *details(self)])]
        return "\n\n".join(parts)


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
