"""Every call on a policy, given to its judge."""

from __future__ import annotations

from kvoffload.contract.calls import operations as ops
from kvoffload.contract.lockstep.policy import calls, evictions  # noqa: F401 - each has judges
from kvoffload.contract.lockstep.policy.run import JUDGES, PolicyRun

__all__ = ["JUDGES", "PolicyLockstep"]


class PolicyLockstep(PolicyRun):
    """Judges every call on a policy by what ``kvoffload_spec.policy`` allows, and by its order if it declares one."""

    def _judge(self, op: ops.Operation) -> None:
        self.known.update(dict.fromkeys(op.named))
        JUDGES[type(op)](self, op)
