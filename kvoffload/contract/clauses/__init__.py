"""What is promised: the clauses, the capabilities that they need, and the situations that a check has to meet."""

from kvoffload.contract.clauses.clause_list import CLAUSES, CONTRACT_VERSION, Clause, Subject, clause, clauses_for

__all__ = ["CLAUSES", "CONTRACT_VERSION", "Clause", "Subject", "clause", "clauses_for"]
