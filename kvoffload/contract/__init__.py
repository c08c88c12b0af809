"""The verification library: hand it a policy or a manager, and it says which clause of the contract is broken.

A name is imported when it is first used, so that a part of the library can be had without the rest.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kvoffload.contract.calls.operations import keys
    from kvoffload.contract.checks import check_manager, check_policy, replay_history
    from kvoffload.contract.clauses import CLAUSES, CONTRACT_VERSION, Clause
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

_MODULES = {
    "CLAUSES": "kvoffload.contract.clauses",
    "CONTRACT_VERSION": "kvoffload.contract.clauses",
    "BlockStatus": "kvoffload.policies.base",
    "Check": "kvoffload.contract.decorators",
    "Clause": "kvoffload.contract.clauses",
    "ContractViolation": "kvoffload.contract.lockstep.violation",
    "Report": "kvoffload.contract.reports.report",
    "Request": "kvoffload.contract.targets.requests",
    "Verdict": "kvoffload.contract.reports.report",
    "as_manager": "kvoffload.contract.targets.adapters",
    "as_policy": "kvoffload.contract.targets.adapters",
    "check_manager": "kvoffload.contract.checks",
    "check_policy": "kvoffload.contract.checks",
    "keys": "kvoffload.contract.calls.operations",
    "manager_contract": "kvoffload.contract.decorators",
    "policy_contract": "kvoffload.contract.decorators",
    "replay_history": "kvoffload.contract.checks",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = found = getattr(import_module(_MODULES[name]), name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
