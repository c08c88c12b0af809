"""How the calls on a policy other than an eviction are judged."""

from __future__ import annotations

from kvoffload.contract.calls import operations as ops
from kvoffload.contract.calls.outcome import Outcome
from kvoffload.contract.calls.text import block_of, shown_victims
from kvoffload.contract.lockstep.orders import start_order
from kvoffload.contract.lockstep.policy.run import JUDGES, PolicyRun, shown_block
from kvoffload_spec import policy as spec


@JUDGES.of(ops.Get)
def judge_get(run: PolicyRun, op: ops.Get) -> None:
    """It gives the block that was inserted."""
    expected = run.blocks.get(op.key)
    outcome = _performed(run, op)
    if outcome.value is not expected:
        run.broken("get-agrees", block_of(op.key, expected), shown_block(outcome.value), run.why_resident(op.key))
    run.observe("get-agrees", "evictable-exact")


@JUDGES.of(ops.Insert)
def judge_insert(run: PolicyRun, op: ops.Insert) -> None:
    """The key is held."""
    _performed(run, op)
    run.residents = spec.insert(run.residents, op.key, op.idle)
    run.order = run.order and run.order.insert((op.key,), op.request)
    if op.idle:
        run.order = run.order and run.order.mark_evictable(op.key)
    if op.key in run.evicted:
        run.saw("inserted again after eviction")
    run.observe("get-agrees", "evictable-exact")


@JUDGES.of(ops.FinishStore, ops.Unpin)
def judge_idle(run: PolicyRun, op: ops.FinishStore | ops.Unpin) -> None:
    """The key may be evicted once no load holds it."""
    _performed(run, op)
    if run.blocks[op.key].ref_cnt == 0:
        run.residents = spec.mark_evictable(run.residents, op.key)
        run.order = run.order and run.order.mark_evictable(op.key)
    run.observe("get-agrees", "evictable-exact")


@JUDGES.of(ops.Pin)
def judge_pin(run: PolicyRun, op: ops.Pin) -> None:
    """The key may not be evicted."""
    _performed(run, op)
    run.residents = spec.mark_non_evictable(run.residents, op.key)
    run.order = run.order and run.order.mark_non_evictable(op.key)
    if run.blocks[op.key].ref_cnt == 2:
        run.saw("pinned twice at once")
    run.observe("get-agrees", "evictable-exact")


@JUDGES.of(ops.Remove)
def judge_remove(run: PolicyRun, op: ops.Remove) -> None:
    """The key is held no more."""
    pending = run.blocks[op.key].ref_cnt < 0
    _performed(run, op)
    run.residents = spec.remove(run.residents, op.key)
    run.order = run.order and run.order.remove(op.key)
    run.left[op.key] = "removed"
    run.saw("removed while pending" if pending else "removed while idle")
    run.observe("get-agrees", "evictable-exact")


def _performed(run: PolicyRun, op: ops.OneKey) -> Outcome:
    """What a call that keeps the protocol returned, which never raises."""
    outcome = run.perform(op)
    if outcome.raised is not None:
        why = "the policy raised on a call that keeps the protocol"
        run.broken(run.claimed_of(*run.unreadable), "no exception", shown_victims(outcome), why)
    return outcome


@JUDGES.of(ops.TouchPolicy)
def judge_touch(run: PolicyRun, op: ops.TouchPolicy) -> None:
    """Only the order changes."""
    outcome = run.perform(op)
    if outcome.raised is not None:
        why = "touch is allowed on any key" if "any-touch" in run.claims else "these keys are resident"
        run.broken(run.claimed_of("touch-total", *run.unreadable), "no exception", shown_victims(outcome), why)
    run.order = run.order and run.order.touch(op.keys, op.request)
    for key in op.keys:
        block = run.blocks.get(key)
        if block is not None:
            state = "an idle" if block.ref_cnt == 0 else "a pinned" if block.ref_cnt > 0 else "a pending"
            run.saw(f"touched {state} key")
        elif key in run.evicted:
            run.saw("touched an evicted key")
    if len(set(op.keys)) < len(op.keys):
        run.saw("touched a key twice in one call")
    run.observe("touch-total", "touch-total")


@JUDGES.of(ops.FinishRequest)
def judge_finish(run: PolicyRun, op: ops.FinishRequest) -> None:
    """Only the order changes, if even that."""
    outcome = run.perform(op)
    if outcome.raised is not None:
        why = "a request may finish whenever it makes no further call"
        run.broken(run.claimed_of("touch-total", *run.unreadable), "no exception", shown_victims(outcome), why)
    run.observe("touch-total", "touch-total")


@JUDGES.of(ops.Clear)
def judge_clear(run: PolicyRun, op: ops.Clear) -> None:
    """Afterwards the policy is as a new one, which is given the same calls from now on."""
    if run.blocks:
        run.saw("cleared with blocks")
        run.left.update(dict.fromkeys(run.blocks, "cleared"))
    outcome = run.record(run.driver.perform(op))
    if outcome.raised is not None:
        run.broken("clear-fresh", "no exception", shown_victims(outcome), "clear() is always allowed")
    run.residents = spec.Residents()
    run.order = start_order(run.order_id, run.capacity)
    run.observe("clear-fresh", "clear-fresh")
    run.twin = run.anew() if "deterministic" in run.claims else None
