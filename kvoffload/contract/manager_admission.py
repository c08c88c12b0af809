"""How admission is judged: which of the offered keys a store has to let in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvoffload.contract import operations as ops
from kvoffload.contract.report import listed
from kvoffload.types import OffloadKey
from kvoffload_spec import tier as spec
from kvoffload_spec.admission import offer

if TYPE_CHECKING:
    from kvoffload.contract.manager_lockstep import ManagerLockstep
    from kvoffload.contract.manager_state import ManagerState


def judge_offer(run: ManagerLockstep, op: ops.PrepareStore, new: tuple[OffloadKey, ...]) -> tuple[OffloadKey, ...]:
    """Count the offer of these keys, none of which is resident; the result is what has to be admitted."""
    state = run.state
    before = state.admission
    state.admission, admitted = offer(before, new, op.request)
    state.totals["blocks_offered"] += len(new)
    state.totals["blocks_skipped"] += len(new) - len(admitted)
    if before.threshold > 1:
        if len(admitted) < len(new):
            run.saw("skipped a key")
        if admitted:
            run.saw("admitted a key with its last request")
        if op.request and any((key, op.request) in before.offers for key in new):
            run.saw("offered a key again by the same request")
        if len(new) > before.most:
            run.saw("offer larger than the tracker")
        if {key for key, _ in before.offers} - {key for key, _ in state.admission.offers}:
            run.saw("forgot an offered key")
            state.has_forgotten = True
    return admitted


def judge_admitted(
    run: ManagerLockstep, op: ops.PrepareStore, admitted: tuple[OffloadKey, ...], stored: tuple[OffloadKey, ...]
) -> None:
    """What is stored has to be what was admitted."""
    if run.state.admission.threshold > 1 and set(stored) != set(admitted):
        _wrong(run, f"store {listed(admitted)}", f"store {listed(stored)}")


def judge_refused(run: ManagerLockstep, op: ops.PrepareStore) -> None:
    """A store that would have to be refused with every key let in was refused for letting in too many."""
    tier = run.state.tier
    if run.state.admission.threshold > 1 and spec.refuses(tier, spec.new_keys(tier, op.keys), op.keys):
        _wrong(run, "fewer keys let in, and so no refusal", "None")


def _wrong(run: ManagerLockstep, expected: str, actual: str) -> None:
    admission = run.state.admission
    why = f"a key has to be offered in {admission.threshold} requests; {admission.most} keys are remembered"
    run.broken(clause_of_admission(run.state), expected, actual, why)


def clause_of_admission(state: ManagerState) -> str:
    """The clause that wrong admission breaks; a key forgotten since the last reset makes it a matter of the tracker."""
    return "admission-bounded" if state.has_forgotten else "admission-counts"
