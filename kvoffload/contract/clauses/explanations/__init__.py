"""The explanation of every clause, by its id."""

from kvoffload.contract.clauses.explanations.calls import CALLS
from kvoffload.contract.clauses.explanations.form import Explanation
from kvoffload.contract.clauses.explanations.orders import ORDERS
from kvoffload.contract.clauses.explanations.policy import POLICY
from kvoffload.contract.clauses.explanations.stores import STORES

EXPLANATIONS: dict[str, Explanation] = {**POLICY, **ORDERS, **STORES, **CALLS}

__all__ = ["EXPLANATIONS", "Explanation"]
