"""How a load is judged: what it pins, and what its completion lets go of."""

from __future__ import annotations

from collections.abc import Callable

from kvoffload.contract.calls import operations as ops
from kvoffload.contract.calls.outcome import MisbehaviourError, Outcome
from kvoffload.contract.calls.text import shown
from kvoffload.contract.lockstep.difference import Difference, blame_all, blame_keys
from kvoffload.contract.lockstep.manager.run import JUDGES, ManagerRun
from kvoffload.errors import BlockNotFoundError, BlockNotReadyError, OffloadingError, UnbalancedReleaseError
from kvoffload.types import OffloadKey
from kvoffload_spec import tier as spec
from kvoffload_spec import transfer


@JUDGES.of(ops.PrepareLoad)
def judge_prepare_load(run: ManagerRun, op: ops.PrepareLoad) -> None:
    """Every key has to be ready, and is pinned once; else the call raises and pins nothing."""
    state = run.state
    outcome = run.perform(op)
    if not spec.may_load(state.tier, op.keys):
        unready = next(key for key in op.keys if not spec.may_load(state.tier, (key,)))
        missing = spec.lookup(state.tier, unready) == "MISS"
        run.saw(f"load of a {'missing' if missing else 'pending'} key")
        error = BlockNotFoundError if missing else BlockNotReadyError
        if not _raises(outcome, error, unready):
            why = f"{unready!r} is {'not resident' if missing else 'still being written'}"
            expected = f"raises {error.__name__} for {unready!r}"
            run.broken("load-ready-only", expected, _came(outcome), why)
        run.compare(op.keys, blame_all("load-ready-only"))
        return
    if outcome.raised is not None:
        clause = run.claimed_of("load-ready-only", "lookup-truth")
        run.broken(clause, "no exception", shown(outcome), "every key of the call is ready")
    slots = tuple(state.slots.get(key) for key in op.keys)
    if outcome.value != slots:
        why = "block_ids[i] belongs to keys[i], as the store has told"
        run.broken("slots-stable", f"blocks {list(slots)}", shown(outcome), why)
    too_often = _moved_too_often(run, op)
    if len(set(op.keys)) < len(op.keys):
        run.saw("loaded a key named twice")
    if not state.tier.pinned.keys().isdisjoint(op.keys):
        run.saw("loaded a block twice at once")
    state.tier = spec.prepare_load(state.tier, op.keys)
    state.transfers = transfer.open_load(state.transfers, op.transfer, op.keys)
    state.order = state.order and state.order.mark_non_evictable(*op.keys)
    state.totals["blocks_loaded"] += len(set(op.keys))
    run.compare(op.keys, {"residency": "load-pinned"}, too_often)


@JUDGES.of(ops.CompleteLoad)
def judge_complete_load(run: ManagerRun, op: ops.CompleteLoad) -> None:
    """Every key has to be held by the load, and is let go of once; else the call raises and lets go of nothing."""
    state = run.state
    holds = transfer.released(state.transfers, op.keys, op.transfer)
    held = {key for _, key in holds}
    outcome = run.perform(op)
    if transfer.is_stale_load(state.transfers, op.transfer):
        run.saw("stale completion of a load")
        state.totals["stale_completions"] += 1
        if outcome.raised is not None:
            run.broken("stale-ignored", "no exception", shown(outcome), "that transfer is not outstanding")
        run.compare(op.keys, blame_keys("stale-ignored"))
        return
    if not (spec.may_release(state.tier, op.keys) if op.transfer is None else held.issuperset(op.keys)):
        run.saw("release without a load")
        unheld = next(key for key in op.keys if key not in held)
        if not _raises(outcome, UnbalancedReleaseError, unheld):
            expected = f"raises UnbalancedReleaseError for {unheld!r}"
            why = f"no such load of {unheld!r} is in progress"
            run.broken("release-balanced", expected, _came(outcome), why)
        run.compare(op.keys, blame_all("release-balanced"))
        return
    repeated = len(held) < len(op.keys)
    if outcome.raised is not None:
        broken = "load-once" if repeated else run.claimed_of("release-balanced", "load-once")
        run.broken(broken, "no exception", shown(outcome), "each of these keys is being loaded")
    if op.transfer is not None and len(held) < sum(reader == op.transfer for reader, _ in state.transfers.reads):
        run.saw("completed a load in part")
    too_often = _moved_too_often(run, op)
    state.tier = spec.complete_load(state.tier, op.keys)
    state.transfers = transfer.close_load(state.transfers, holds)
    # Last key first, so that the head of the prefix is the last to be evicted.
    idle = [key for key in reversed(tuple(dict.fromkeys(op.keys))) if key in state.tier.idle]
    state.order = state.order and state.order.mark_evictable(*idle)
    run.compare(op.keys, {"residency": "load-pinned"}, too_often)


def _moved_too_often(run: ManagerRun, op: ops.PrepareLoad | ops.CompleteLoad) -> Callable[[Difference], str | None]:
    """Blames a key that is named twice, and whose count has moved by more than one since now, on ``load-once``."""
    before = run.state.tier.pinned

    def too_often(difference: Difference) -> str | None:
        key = difference.key
        if difference.aspect != "pins" or key is None or op.keys.count(key) < 2:
            return None
        ref_cnt = run.shown.key(key).ref_cnt
        return None if ref_cnt is None or abs(ref_cnt - before.get(key, 0)) < 2 else "load-once"

    return too_often


def _came(outcome: Outcome) -> str:
    """What came where an exception was to come."""
    if outcome.raised is not None:
        return shown(outcome)
    return "no exception" if outcome.value is None else f"no exception, {shown(outcome)}"


def _raises(outcome: Outcome, error: type[OffloadingError], key: OffloadKey) -> bool:
    """Whether the call raised; one that raises our own errors raises the right one, for the right key."""
    if isinstance(outcome.raised, MisbehaviourError):
        return False
    if isinstance(outcome.raised, OffloadingError):
        return type(outcome.raised) is error and getattr(outcome.raised, "key", None) == key
    return outcome.raised is not None
