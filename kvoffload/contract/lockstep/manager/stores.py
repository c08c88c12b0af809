"""How a store is judged: what it reserves, what it evicts, what its completion changes."""

from __future__ import annotations

from dataclasses import dataclass

from kvoffload.contract.calls import operations as ops
from kvoffload.contract.calls.outcome import Stored
from kvoffload.contract.calls.text import counted, listed, why_in_order
from kvoffload.contract.lockstep.difference import Difference, blame_all, blame_keys
from kvoffload.contract.lockstep.manager.admission import judge_admitted, judge_offer, judge_refused
from kvoffload.contract.lockstep.manager.run import JUDGES, ManagerRun
from kvoffload.contract.lockstep.orders import order_clause
from kvoffload.types import OffloadKey
from kvoffload_spec import tier as spec
from kvoffload_spec import transfer


@dataclass(frozen=True)
class _Offer:
    """A store, and what the model says of it.

    Attributes:
        op: the call.
        tier: the tier before it.
        keys: the keys that it has to store: not resident, and admitted.
    """

    op: ops.PrepareStore
    tier: spec.Tier[OffloadKey]
    keys: tuple[OffloadKey, ...]

    @property
    def need(self) -> int:
        """How many blocks it lacks."""
        return spec.need(self.tier, self.keys)

    @property
    def is_refused(self) -> bool:
        """Whether it has to be refused."""
        return spec.refuses(self.tier, self.keys, self.op.keys)

    @property
    def allowed(self) -> str:
        """What it may return."""
        if self.is_refused:
            return "None"
        evicts = f"{self.need} of {listed(sorted(self.candidates))}" if self.need else "[]"
        return f"store {listed(self.keys)}, evict {evicts}"

    @property
    def candidates(self) -> frozenset[OffloadKey]:
        """What may be evicted for it."""
        return frozenset(spec.candidates(self.tier, self.op.keys))

    @property
    def why(self) -> str:
        """What it needs and what there is."""
        new, free = counted(len(self.keys), "new key"), counted(spec.free(self.tier), "block")
        idle = listed(sorted(self.candidates)) if self.candidates else "none"
        return f"{new}, {free} free: {max(self.need, 0) or 'none'} to evict; idle and not named by the call: {idle}"


@JUDGES.of(ops.PrepareStore)
def judge_prepare_store(run: ManagerRun, op: ops.PrepareStore) -> None:
    """A refusal has to be necessary and to change nothing; an accepted store has to do exactly what was asked."""
    tier = run.state.tier
    offer = _Offer(op, tier, judge_offer(run, op, spec.new_keys(tier, op.keys)))
    is_hopeless = spec.is_hopeless(tier, offer.keys)
    order_before = run.eviction_order() if offer.is_refused else None
    with run.shown.counting("evict") as evict_calls:
        outcome = run.perform(op, never_raises="store-refusal")
    if isinstance(outcome.value, Stored):
        _judge_accepted(run, offer, outcome.value)
        return
    if not offer.is_refused:
        judge_refused(run, op, offer.keys)
        run.broken("store-refusal", offer.allowed, "None", offer.why)
    if is_hopeless and evict_calls and "counter" in run.claims:
        why = f"{offer.need} to evict and {len(tier.idle)} idle, which the counter tells"
        actual = f"{counted(len(evict_calls), 'call')} of policy.evict()"
        run.broken("store-guarded", "no call of policy.evict()", actual, why)
    if not is_hopeless:
        run.saw("refused only because of protected keys")
    elif evict_calls is not None:
        run.saw("refused by the guard")
    run.state.totals["stores_refused"] += 1
    run.compare(op.keys, blame_all("refusal-atomic"))
    order_after = run.eviction_order()
    if order_before != order_after:
        why = "the order in which the policy would evict: before the refused store, and after it"
        expected = f"order {listed(order_before or ())}"
        run.broken("refusal-atomic", expected, f"order {listed(order_after or ())}", why)


def _judge_accepted(run: ManagerRun, offer: _Offer, stored: Stored) -> None:
    state, op, tier = run.state, offer.op, offer.tier
    evicted, new = stored.evicted_keys, offer.keys
    judge_admitted(run, op, new, stored.keys_to_store)
    _judge_victims(run, offer, stored)
    if stored.keys_to_store != new:
        why = "the distinct keys that were not resident, in the order given"
        actual = f"store {listed(stored.keys_to_store)}"
        run.broken("store-new", f"store {listed(new)}", actual, why)
    for key in evicted:
        state.slots.pop(key, None)
    _take_slots(run, new, stored.block_ids)
    _see_store(run, op, new, evicted)
    if run.thorough:
        state.evicted.update(evicted)
    state.tier = spec.prepare_store(tier, new, frozenset(evicted))
    state.order = state.order and state.order.insert(new, op.request)
    state.transfers = transfer.open_store(state.transfers, op.transfer, new)
    state.totals["blocks_evicted"] += len(evicted)

    def lost(difference: Difference) -> str | None:
        if difference.aspect == "residency" and difference.came == "MISS":
            if difference.key in op.keys:
                return "store-protected"
            if difference.key in tier.pending or difference.key in tier.pinned:
                return "victims-idle"
        return None

    run.compare((*op.keys, *evicted), {}, lost)


def _judge_victims(run: ManagerRun, offer: _Offer, stored: Stored) -> None:
    state, tier, need, evicted = run.state, offer.tier, offer.need, stored.evicted_keys
    actual = f"store {listed(stored.keys_to_store)}, evict {listed(evicted)}"
    for key in evicted:
        if key in tier.pending or key in tier.pinned:
            why = f"{key!r} is {'pending' if key in tier.pending else 'pinned'}"
            run.broken("victims-idle", offer.allowed, actual, why)
        if key in offer.op.keys:
            run.broken("store-protected", offer.allowed, actual, f"the call names {key!r} itself")
    distinct = frozenset(evicted)
    if offer.is_refused or not len(evicted) == len(distinct) == need or not distinct <= tier.idle:
        run.broken("store-refusal", offer.allowed, actual, offer.why)
    if state.order is not None:
        victims = state.order.victims(need, frozenset(offer.op.keys))
        if victims != evicted:
            in_order = state.order.victims(len(offer.candidates), frozenset(offer.op.keys))
            expected, actual = f"evict {listed(victims)}", f"evict {listed(evicted)}"
            id, why = order_clause(run.order_id), why_in_order(run.order_id, in_order)
            run.broken(id, expected, actual, why)
        state.order = state.order.evict(*evicted, protected=frozenset(offer.op.keys))


def _take_slots(run: ManagerRun, new: tuple[OffloadKey, ...], block_ids: tuple[int, ...]) -> None:
    if len(block_ids) != len(new):
        why = "one for each of the keys to store, in their order"
        run.broken("slots-stable", counted(len(new), "block id"), f"block ids {list(block_ids)}", why)
    if not all(0 <= slot < run.capacity for slot in block_ids):
        why = f"there {'is' if run.capacity == 1 else 'are'} {counted(run.capacity, 'block')}, counted from 0"
        run.broken("slots-conserved", "block ids in range", f"block ids {list(block_ids)}", why)
    run.state.slots.update(zip(new, block_ids, strict=True))


def _see_store(
    run: ManagerRun, op: ops.PrepareStore, new: tuple[OffloadKey, ...], evicted: tuple[OffloadKey, ...]
) -> None:
    tier = run.state.tier
    if evicted:
        run.saw("evicted")
        if tier.pinned:
            run.saw("evicted past a pinned block")
        if tier.pending:
            run.saw("evicted past a pending block")
        if tier.idle.intersection(op.keys):
            run.saw("evicted past a protected block")
    if run.state.evicted.intersection(new):
        run.saw("stored a key again after eviction")
    if new and spec.resident(tier).intersection(op.keys):
        run.saw("stored resident and new keys together")
    if len(set(op.keys)) < len(op.keys):
        run.saw("stored a key named twice")


@JUDGES.of(ops.CompleteStore)
def judge_complete_store(run: ManagerRun, op: ops.CompleteStore) -> None:
    """Of the keys named, those that are pending for this transfer change, and nothing else does."""
    state = run.state
    done = transfer.stored(state.transfers, op.keys, op.transfer)
    stale = op.transfer is not None and all(writer != op.transfer for writer, _ in state.transfers.writes)
    untouched = "stale-ignored" if stale else "complete-pending-only"
    named = [key for key in dict.fromkeys(op.keys) if key in done]
    _see_completion(run, op, named, stale)
    run.perform(op, never_raises=untouched)
    state.tier = spec.complete_store(state.tier, done, op.success)
    state.transfers = transfer.close_store(state.transfers, done)
    if op.success:
        # Last key first, so that the head of the prefix is the last to be evicted.
        state.order = state.order and state.order.mark_evictable(*reversed(named))
    else:
        state.order = state.order and state.order.remove(*done)
        for key in done:
            state.slots.pop(key, None)
    state.totals["blocks_stored" if op.success else "blocks_failed"] += len(done)
    state.totals["stale_completions"] += stale

    def changed(difference: Difference) -> str | None:
        if difference.aspect in ("residency", "pins") and difference.key not in done:
            return "complete-pending-only"
        return "failure-frees" if difference.aspect in ("residency", "free") and not op.success else None

    if done:
        run.compare(op.keys, {}, changed)
    else:
        run.compare(op.keys, blame_keys(untouched))


def _see_completion(run: ManagerRun, op: ops.CompleteStore, done: list[OffloadKey], stale: bool) -> None:
    writers = {writer for writer, key in run.state.transfers.writes if key in done}
    reserved = [key for writer, key in run.state.transfers.writes if writer in writers]
    if stale:
        run.saw("stale completion of a store")
    elif len(done) < len(set(op.keys)):
        run.saw("completed a key that was not pending")
    if done and not op.success:
        run.saw("failed store")
    if done and len(done) < len(reserved):
        run.saw("completed a store in part")
    if done != sorted(done):
        run.saw("completed a store out of order")
