"""What is promised: the clauses, and the capabilities that they need."""

from kvoffload.contract.clauses.clause_list import CLAUSES, CONTRACT_VERSION, Clause, Subject, clause, clauses_for

__all__ = ["CLAUSES", "CONTRACT_VERSION", "Clause", "Subject", "clause", "clauses_for"]
