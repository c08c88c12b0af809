"""Every call on a manager, given to its judge."""

from __future__ import annotations

from kvoffload.contract.calls import operations as ops
from kvoffload.contract.calls.outcome import Step
from kvoffload.contract.lockstep.manager import events, faults, loads, stores  # noqa: F401 - each has judges
from kvoffload.contract.lockstep.manager.lookups import judge_lookup
from kvoffload.contract.lockstep.manager.run import JUDGES, ManagerRun
from kvoffload_spec import tier as spec

__all__ = ["JUDGES", "ManagerLockstep"]


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
