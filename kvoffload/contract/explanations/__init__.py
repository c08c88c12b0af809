"""The explanation of every clause, by its id."""

from kvoffload.contract.explanations.calls import CALLS
from kvoffload.contract.explanations.form import Explanation
from kvoffload.contract.explanations.orders import ORDERS
from kvoffload.contract.explanations.policy import POLICY
from kvoffload.contract.explanations.stores import STORES

EXPLANATIONS: dict[str, Explanation] = {**POLICY, **ORDERS, **STORES, **CALLS}

__all__ = ["EXPLANATIONS", "Explanation"]
