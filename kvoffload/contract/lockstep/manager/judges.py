"""Which judge judges which call on a manager."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from kvoffload.contract.calls import operations as ops
from kvoffload.contract.calls.outcome import Step
from kvoffload.contract.lockstep.manager.events import judge_take_events
from kvoffload.contract.lockstep.manager.faults import judge_fault
from kvoffload.contract.lockstep.manager.loads import judge_complete_load, judge_prepare_load
from kvoffload.contract.lockstep.manager.lookups import (
    judge_finish,
    judge_lookup,
    judge_reset,
    judge_touch,
)
from kvoffload.contract.lockstep.manager.run import ManagerRun
from kvoffload.contract.lockstep.manager.stores import judge_complete_store, judge_prepare_store
from kvoffload_spec import tier as spec

JUDGES: Mapping[type[ops.Operation], Callable[[ManagerRun, Any], None]] = {
    ops.Lookup: judge_lookup,
    ops.PrepareStore: judge_prepare_store,
    ops.CompleteStore: judge_complete_store,
    ops.PrepareLoad: judge_prepare_load,
    ops.CompleteLoad: judge_complete_load,
    ops.TouchKeys: judge_touch,
    ops.ResetCache: judge_reset,
    ops.TakeEvents: judge_take_events,
    ops.FinishRequest: judge_finish,
    ops.PolicyFault: judge_fault,
}


class ManagerLockstep(ManagerRun):
    """Judges every call on a manager by what ``kvoffload_spec.tier`` allows, and by its order if it declares one."""

    def _judge(self, op: ops.Operation) -> None:
        if self.thorough:
            self.state.known.update(dict.fromkeys(op.named))
        if isinstance(op, ops.ManyKeys) and not op.keys:
            self.saw("call with no key")
        if op.one_shot:
            self.saw("call with a one-shot iterable")
        JUDGES[type(op)](self, op)
        if self.thorough and not spec.is_well_formed(self.state.tier):
            raise AssertionError(
                f"No manager can be as the model is now, which is a bug of kvoffload: {self.state.tier}."
            )

    def _judge_whole(self) -> None:
        """Look every key up: what the policy shows is not what a caller is told."""
        for key in tuple(self.state.known):
            self.history.append(Step(ops.Lookup(key)))
            self.num_calls += 1
            judge_lookup(self, ops.Lookup(key))
            self.history.pop()
            self.num_calls -= 1
