"""What a check found: which clauses are kept, which are broken, and whether it looked hard enough to say so."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from enum import IntEnum
from typing import TYPE_CHECKING

from kvoffload.contract.clauses import CONTRACT_VERSION, Clause, Subject

if TYPE_CHECKING:
    from kvoffload.contract.lockstep import ContractViolation
    from kvoffload.contract.search import Found


class Verdict(IntEnum):
    """The verdict, which is the exit code as well."""

    KEPT = 0
    BROKEN = 1
    COULD_NOT_BE_CHECKED = 2
    INCONCLUSIVE = 3


@dataclass
class Report:
    """The result of one check.

    Attributes:
        subject: a policy or a manager.
        name: ``module:name`` of what was checked.
        order: the order it declares, or ``None``.
        clauses: the clauses that apply.
        wanted: the operations and situations that have to come up.
        broken: the broken ones, each with its shortest history, in the order in which they were found.
        not_claimed: ids of clauses that it does not promise to keep.
        examples: how many histories were tried.
        operations: how often each operation was carried out.
        situations: how often each situation came up.
        seconds: how long it took.
    """

    subject: Subject
    name: str
    order: str | None
    clauses: tuple[Clause, ...]
    wanted: tuple[str, ...]
    broken: dict[str, ContractViolation] = field(default_factory=dict)
    not_claimed: list[str] = field(default_factory=list)
    examples: int = 0
    operations: Counter[str] = field(default_factory=Counter)
    situations: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0

    def count(self, found: Found) -> None:
        """Add what a search saw."""
        self.examples += found.examples
        self.operations.update(found.watch.operations)
        self.situations.update(found.watch.situations)

    def add(self, violation: ContractViolation | None) -> None:
        """Add what a search found, if it found anything."""
        if violation is not None:
            violation.target = violation.target or self.name
            self.broken[violation.clause.id] = violation

    @property
    def never(self) -> tuple[str, ...]:
        """The operations and situations that never came up, so that nothing was shown about them."""
        return tuple(it for it in self.wanted if not self.operations[it] and not self.situations[it])

    @property
    def verdict(self) -> Verdict:
        """Broken if any clause is; inconclusive if an operation or a situation never came up; else kept."""
        if self.broken:
            return Verdict.BROKEN
        return Verdict.INCONCLUSIVE if self.never else Verdict.KEPT

    def __str__(self) -> str:
        parts = [str(violation) for violation in self.broken.values()]
        return "\n\n".join([*parts, self._summary()])

    def _summary(self) -> str:
        num = len(self.clauses) - len(self.not_claimed)
        calls = ", ".join(f"{count} {name}" for name, count in self.operations.most_common())
        lines = [
            f"{self.verdict.name.replace('_', ' ')}: {self.name or self.subject}, {self.subject} contract "
            f"{CONTRACT_VERSION}, order {self.order or 'not declared'}: "
            + (f"{len(self.broken)} of {num} clauses broken" if self.broken else f"{num} clauses"),
            f"  looked at {self.examples} histories, {self.operations.total()} calls in {self.seconds:.1f} s: {calls}",
        ]
        if self.verdict is Verdict.INCONCLUSIVE:
            lines.append(f"  never came up: {', '.join(self.never)}")
        elif self.verdict is Verdict.KEPT:
            least = min(self.situations.values())
            lines.append(f"  came up, each at least {least} times: {len(self.situations)} situations")
        if self.not_claimed:
            lines.append(f"  not claimed: {', '.join(self.not_claimed)}")
        return "\n".join(lines)
