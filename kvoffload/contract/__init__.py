"""The verification library: hand it a policy or a manager, and it says which clause of the contract is broken."""

from kvoffload.contract.calls.operations import keys
from kvoffload.contract.checks import check_manager, check_policy, replay_history
from kvoffload.contract.clauses.clause_list import CLAUSES, CONTRACT_VERSION, Clause
from kvoffload.contract.decorators import Check, manager_contract, policy_contract
from kvoffload.contract.lockstep.violation import ContractViolation
from kvoffload.contract.reports.report import Report, Verdict
from kvoffload.contract.targets.adapters import as_manager, as_policy
from kvoffload.contract.targets.requests import Request
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
    "as_manager",
    "as_policy",
    "check_manager",
    "check_policy",
    "keys",
    "manager_contract",
    "policy_contract",
    "replay_history",
]
