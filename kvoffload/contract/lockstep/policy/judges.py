"""Which judge judges which call on a policy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from kvoffload.contract.calls import operations as ops
from kvoffload.contract.lockstep.policy import calls
from kvoffload.contract.lockstep.policy.evictions import judge_evict
from kvoffload.contract.lockstep.policy.run import PolicyRun

JUDGES: Mapping[type[ops.Operation], Callable[[PolicyRun, Any], None]] = {
    ops.Get: calls.judge_get,
    ops.Insert: calls.judge_insert,
    ops.FinishStore: calls.judge_idle,
    ops.Pin: calls.judge_pin,
    ops.Unpin: calls.judge_idle,
    ops.Remove: calls.judge_remove,
    ops.TouchPolicy: calls.judge_touch,
    ops.Evict: judge_evict,
    ops.Clear: calls.judge_clear,
    ops.FinishRequest: calls.judge_finish,
}


class PolicyLockstep(PolicyRun):
    """Judges every call on a policy by what ``kvoffload_spec.policy`` allows, and by its order if it declares one."""

    def _judge(self, op: ops.Operation) -> None:
        self.known.update(dict.fromkeys(op.named))
        JUDGES[type(op)](self, op)
