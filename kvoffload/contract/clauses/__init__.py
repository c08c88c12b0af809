"""What is promised: the clauses, and the capabilities that they need."""

from kvoffload.contract.clauses.calls import CALL_CLAUSES
from kvoffload.contract.clauses.form import Clause, Subject
from kvoffload.contract.clauses.orders import ORDER_CLAUSES
from kvoffload.contract.clauses.policy import POLICY_CLAUSES
from kvoffload.contract.clauses.stores import STORE_CLAUSES

__all__ = ["CLAUSES", "CONTRACT_VERSION", "Clause", "Subject", "clause", "clauses_for"]

CLAUSES = (*POLICY_CLAUSES, *ORDER_CLAUSES, *STORE_CLAUSES, *CALL_CLAUSES)
"""All clauses, in the order in which they are shown."""

CONTRACT_VERSION = max(clause.since for clause in CLAUSES)
"""The version of this list. A clause is never changed or dropped, only added under a new version."""

_BY_ID = {clause.id: clause for clause in CLAUSES}


def clause(id: str) -> Clause:
    """The clause of that id.

    Raises:
        ValueError: if there is none; the message lists the known ones.
    """
    if id not in _BY_ID:
        raise ValueError(f"{id!r} is no clause; the clauses are {', '.join(_BY_ID)}.")
    return _BY_ID[id]


def clauses_for(subject: Subject, order: str | None, admission: bool = False) -> tuple[Clause, ...]:
    """The clauses of such an implementation; those of an order or of admission only if it is declared."""
    declared = f"order-{(order or '').partition(':')[0]}"
    return tuple(
        c
        for c in CLAUSES
        if subject in c.applies_to
        and (not c.id.startswith("order-") or c.id == declared)
        and (admission or "admission" not in c.needs)
    )
