"""How admission is judged: which of the offered keys a store has to let in."""

from __future__ import annotations

from kvoffload.contract.calls import operations as ops
from kvoffload.contract.calls.text import listed
from kvoffload.contract.lockstep.manager.run import ManagerRun
from kvoffload.types import OffloadKey
from kvoffload_spec import tier as spec
from kvoffload_spec.admission import offer


def judge_offer(run: ManagerRun, op: ops.PrepareStore, new: tuple[OffloadKey, ...]) -> tuple[OffloadKey, ...]:
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
    run: ManagerRun, op: ops.PrepareStore, admitted: tuple[OffloadKey, ...], stored: tuple[OffloadKey, ...]
) -> None:
    """What is stored has to be what was admitted, unless that would have to be refused."""
    if run.state.admission.threshold > 1 and set(stored) != set(admitted):
        _wrong(run, op, admitted, f"store {listed(stored)}")


def judge_refused(run: ManagerRun, op: ops.PrepareStore, admitted: tuple[OffloadKey, ...]) -> None:
    """A store that would have to be refused with every key let in was refused for letting in too many."""
    tier = run.state.tier
    if run.state.admission.threshold > 1 and spec.refuses(tier, spec.new_keys(tier, op.keys), op.keys):
        _wrong(run, op, admitted, "None: refused, for letting in more")


def _wrong(run: ManagerRun, op: ops.PrepareStore, admitted: tuple[OffloadKey, ...], actual: str) -> None:
    """What was let in is not what has to be: the request that this call is for is counted already."""
    admission = run.state.admission
    key = next(iter(admitted or op.keys))
    why = (
        f"{key!r} is{'' if admitted else ' not yet'} offered in {admission.threshold} requests; "
        f"at most {admission.most} keys are remembered"
    )
    expected = f"store {listed(admitted)}"
    if spec.refuses(run.state.tier, admitted, op.keys):
        expected = f"None: {listed(admitted)} let in, and no room for that"
    run.broken(run.state.clause_of_admission, expected, actual, why)
