"""The verification library: hand it a policy or a manager, and it says which clause of the contract is broken."""

from kvoffload.contract.checks import check_manager, check_policy
from kvoffload.contract.clauses import CLAUSES, CONTRACT_VERSION, Clause
from kvoffload.contract.decorators import Check, manager_contract, policy_contract
from kvoffload.contract.lockstep import ContractViolation
from kvoffload.contract.operations import keys
from kvoffload.contract.requests import Request
from kvoffload.contract.verdict import Report, Verdict
from kvoffload.policies.base import BlockStatus

__all__ = [
    "CLAUSES",
    "CONTRACT_VERSION",
    "BlockStatus",
    "Check",
    "Clause",
    "ContractViolation",
    "Report",
    "Request",
    "Verdict",
    "check_manager",
    "check_policy",
    "keys",
    "manager_contract",
    "policy_contract",
]
