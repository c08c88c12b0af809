"""How an eviction from a policy is judged: whether it had to be refused, whom it took, and in which order."""

from __future__ import annotations

from typing import Any

from kvoffload.contract.calls import operations as ops
from kvoffload.contract.calls.text import block_of, counted, listed, shown_victims, why_in_order
from kvoffload.contract.lockstep.orders import order_clause
from kvoffload.contract.lockstep.policy.run import JUDGES, REPEATS, PolicyRun
from kvoffload.contract.lockstep.reading import read
from kvoffload.policies.base import BlockStatus
from kvoffload.types import OffloadKey
from kvoffload_spec import policy as spec


@JUDGES.of(ops.Evict)
def judge_evict(run: PolicyRun, op: ops.Evict) -> None:
    """A refusal has to be necessary and to change nothing; victims are as many as asked for, and each may go."""
    refused = spec.refuses(run.residents, op.n, op.keys)
    order_before = run.eviction_order() if refused else None
    blocks_before = dict(run.blocks)
    outcome = run.perform(op)
    if outcome.raised is not None:
        run.broken("evict-exact", "a list, or None", shown_victims(outcome), "evict is allowed at any time")
    if outcome.value is None:
        if op.n == 0:
            run.broken("evict-exact", "evict []", "None", "nothing was asked for")
        _judge_refused(run, op, refused, order_before)
    else:
        _judge_victims(run, op, outcome.value, blocks_before)


def _judge_refused(run: PolicyRun, op: ops.Evict, refused: bool, order_before: tuple[OffloadKey, ...] | None) -> None:
    if not refused:
        candidates = spec.candidates(run.residents, op.keys)
        why = f"{counted(len(candidates), 'block')} idle and not protected"
        run.broken("evict-complete", f"evict {op.n} of {listed(sorted(candidates))}", "None", why)
    run.saw("refused")
    if op.n <= len(run.residents.idle):
        run.saw("refused only because of protected keys")
    run.observe("evict-atomic", "evict-atomic")
    order_after = run.eviction_order()
    if order_before != order_after:
        orders = {run.eviction_order() for _ in range(REPEATS)}
        if len(orders) > 1:
            why = f"{REPEATS} copies of it were emptied, one block at a time"
            run.broken("deterministic", "one order", f"{len(orders)} orders", why)
        why = "the order in which it would evict one block after the other: before the refused call, and after it"
        expected = f"order {listed(order_before or ())}"
        run.broken("evict-atomic", expected, f"order {listed(order_after or ())}", why)


def _judge_victims(
    run: PolicyRun, op: ops.Evict, pairs: tuple[Any, ...], blocks: dict[OffloadKey, BlockStatus]
) -> None:
    victims = [key for key, _ in pairs]
    wrong = _whats_wrong(run, op, victims, blocks)
    if wrong is not None:
        id, why = wrong
        candidates = run.candidates(op)
        expected = f"evict {op.n} of {listed(candidates)}" if op.n else "evict []"
        expected = "None" if op.n > len(candidates) else expected
        run.broken(id, expected, f"evict {listed(victims)}", why)
    for key, block in pairs:
        if block is not blocks[key]:
            expected, actual = f"{key!r} with {block_of(key, block)}", f"{key!r} with {read(str, block)}"
            why = f"{block_of(key, block)} was inserted under {key!r}: {blocks[key]}"
            run.broken("evict-exact", expected, actual, why)
    if run.order is not None:
        expected_victims = run.order.victims(op.n, frozenset(op.keys))
        if tuple(victims) != expected_victims:
            in_order = run.order.victims(len(run.candidates(op)), frozenset(op.keys))
            expected, actual = f"evict {listed(expected_victims)}", f"evict {listed(victims)}"
            id, why = order_clause(run.order_id), why_in_order(run.order_id, in_order)
            run.broken(id, expected, actual, why)
        run.order = run.order.evict(*victims, protected=frozenset(op.keys))
    _see_eviction(run, op)
    run.residents = spec.remove(run.residents, *victims)
    run.evicted.update(victims)
    run.left.update(dict.fromkeys(victims, "evicted"))
    still_listed = set(victims).intersection(run.evictable() or ())
    run.observe("evict-forgets", "evict-forgets" if still_listed else "evictable-exact")


def _whats_wrong(
    run: PolicyRun, op: ops.Evict, victims: list[OffloadKey], blocks: dict[OffloadKey, BlockStatus]
) -> tuple[str, str] | None:
    """The clause that these victims break, whatever the order, and why; the blocks are those before the call."""
    for key in victims:
        if key not in blocks:
            return "evict-forgets", run.why_resident(key)
        if key not in run.residents.idle:
            return "evict-idle", f"{key!r} is {'pending' if blocks[key].ref_cnt < 0 else 'pinned'}"
        if key in op.keys:
            return "evict-protected", f"{key!r} is protected: the call names it"
    if len(victims) != op.n or len(set(victims)) != op.n:
        candidates = counted(len(run.candidates(op)), "block")
        return "evict-exact", f"evict({op.n}) asks for {counted(op.n, 'victim')}; {candidates} idle and not protected"
    return None


def _see_eviction(run: PolicyRun, op: ops.Evict) -> None:
    run.saw("evicted" if op.n else "evicted nothing, as asked")
    if op.n and run.residents.busy:
        run.saw("evicted past a busy block")
    if op.n and run.residents.idle.intersection(op.keys):
        run.saw("evicted past a protected block")
