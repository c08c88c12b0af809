"""A new subject in lockstep with the specification: what a search, a replay and the minimiser begin with."""

from __future__ import annotations

from kvoffload.contract.lockstep.base import Lockstep, Watch
from kvoffload.contract.lockstep.manager.judges import ManagerLockstep
from kvoffload.contract.lockstep.policy.judges import PolicyLockstep
from kvoffload.contract.targets.target import Target


def start(target: Target, capacity: int, watch: Watch) -> Lockstep:
    """A new one of that capacity, in lockstep with the specification.

    Args:
        target: what is checked.
        capacity: in blocks.
        watch: what the run looks for.
    """
    made, claims, order = target.made, target.claims, target.order
    if target.subject == "policy":
        return PolicyLockstep(made, capacity, claims, order, watch, target.origin)
    return ManagerLockstep(made, capacity, claims, order, watch, admission=target.admission, origin=target.origin)
