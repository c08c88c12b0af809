"""A manager and the specification in lockstep: what each call must answer, and what it must leave behind."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any

from kvoffload.contract.calls import operations as ops
from kvoffload.contract.calls.outcome import Outcome
from kvoffload.contract.calls.style import NOWHERE, Origin
from kvoffload.contract.calls.text import shown
from kvoffload.contract.lockstep.base import Lockstep, Watch
from kvoffload.contract.lockstep.difference import ASPECTS, Aspect, Difference, blame_all
from kvoffload.contract.lockstep.manager.admission import clause_of_admission
from kvoffload.contract.lockstep.manager.claims import claimed_call
from kvoffload.contract.lockstep.manager.events import judge_take_events
from kvoffload.contract.lockstep.manager.faults import judge_fault
from kvoffload.contract.lockstep.manager.loads import judge_complete_load, judge_prepare_load
from kvoffload.contract.lockstep.manager.state import ManagerState
from kvoffload.contract.lockstep.manager.stores import judge_complete_store, judge_prepare_store
from kvoffload.contract.lockstep.orders import start_order
from kvoffload.contract.targets.drivers import ManagerDriver
from kvoffload.contract.targets.target import EVERY_KEY
from kvoffload.contract.targets.view import ManagerView
from kvoffload.types import OffloadKey
from kvoffload_spec import tier as spec
from kvoffload_spec import transfer
from kvoffload_spec.admission import Admission

TOUCHED = {"MISS": "a missing", "HIT_PENDING": "a pending", "HIT": "an idle"}
LOOKUPS = {"MISS": "misses", "HIT_PENDING": "pending_hits", "HIT": "hits"}
METHODS: dict[type[ops.Operation], str] = {
    ops.Lookup: "lookup",
    ops.PrepareStore: "prepare_store",
    ops.CompleteStore: "complete_store",
    ops.TouchKeys: "touch",
    ops.ResetCache: "reset_cache",
    ops.TakeEvents: "take_events",
    ops.FinishRequest: "on_request_finished",
}
"""The calls that never raise."""


class ManagerLockstep(Lockstep):
    """Judges every call on a manager by what ``kvoffload_spec.tier`` allows, and by its order if it declares one.

    Args:
        make: makes the manager for a number of blocks.
        capacity: the number of blocks.
        claims: ids of the capabilities that it claims.
        order: the order its policy declares, or ``None``.
        watch: what the run looks for.
        thorough: compare every key that was ever named after every call, not only the keys of the call.
        remember: keep only so many calls of the history.
        admission: the model of its admission, nothing having been offered yet.
        origin: where the manager comes from.
    """

    subject = "manager"
    unreadable = ("lookup-truth",)

    def __init__(
        self,
        make: Callable[[int], Any],
        capacity: int,
        claims: frozenset[str],
        order: str | None = None,
        watch: Watch | None = None,
        thorough: bool = True,
        remember: int | None = None,
        admission: Admission[OffloadKey] = EVERY_KEY,
        origin: Origin = NOWHERE,
    ) -> None:
        super().__init__(capacity, claims, watch, remember, origin)
        self._make = make
        self.order_id = order
        self.thorough = thorough
        self.drains_each_call = False
        self._twin: ManagerDriver | None = None
        self.driver = ManagerDriver(make(capacity))
        self.style = self.driver.calls.style
        self.view = ManagerView(self.driver.manager)
        self._admission = admission
        self.state = ManagerState.new(capacity, start_order(order, capacity), admission)
        self.state.tells_pending = "pending-lookups" in claims

    @property
    def tells_events(self) -> bool:
        """Whether it claims to tell events."""
        return "events" in self.claims

    def _claimed(self, op: ops.Operation) -> ops.Operation | None:
        claimed = super()._claimed(op)
        return None if claimed is None else claimed_call(self.claims, self.state, claimed)

    def _makes_sense(self, op: ops.Operation) -> bool:
        return self.driver.can(op.during if isinstance(op, ops.PolicyFault) else op)

    def _judge(self, op: ops.Operation) -> None:
        if self.thorough:
            self.state.known.update(dict.fromkeys(op.named))
        if getattr(op, "keys", None) == ():
            self.saw("call with no key")
        if getattr(op, "one_shot", False):
            self.saw("call with a one-shot iterable")
        match op:
            case ops.Lookup():
                self._judge_lookup(op)
            case ops.PrepareStore():
                judge_prepare_store(self, op)
            case ops.CompleteStore():
                judge_complete_store(self, op)
            case ops.PrepareLoad():
                judge_prepare_load(self, op)
            case ops.CompleteLoad():
                judge_complete_load(self, op)
            case ops.TouchKeys():
                self._judge_touch(op)
            case ops.ResetCache():
                self._judge_reset(op)
            case ops.TakeEvents():
                judge_take_events(self, op)
            case ops.FinishRequest():
                self._judge_finish(op)
            case ops.PolicyFault():
                judge_fault(self, op)

    def perform(self, op: ops.Operation, never_raises: str | None = None) -> Outcome:
        """Make the call; after a reset, on a new manager as well, which has to answer the same.

        Args:
            op: the call.
            never_raises: the clause that an exception breaks, if the call never raises.
        """
        outcome = self.record(self.driver.perform(op))
        if self._twin is not None and self._twin.can(op) and not isinstance(op, ops.TakeEvents):
            other = self._twin.perform(op)
            if not outcome.same_as(other):
                why = "both were given the calls since the last reset_cache(): this one, and a new one"
                expected = f"{shown(other)}, as a new manager answers"
                self.broken("reset-fresh", expected, shown(outcome), why)
        if never_raises is not None and (outcome.raised is not None):
            self.broken(never_raises, "no exception", shown(outcome), f"{METHODS[type(op)]}() never raises")
        return outcome

    def compare(
        self,
        keys: Iterable[OffloadKey],
        blame: Mapping[Aspect, str],
        blame_one: Callable[[Difference], str | None] = lambda _: None,
    ) -> None:
        """Compare what the manager shows with the model, of these keys or, if thorough, of every known key.

        Args:
            keys: the keys that the call concerned.
            blame: the clause that a difference of each aspect breaks, where it is not the usual one.
            blame_one: the clause that this very difference breaks, where it is not that one.
        """
        keys = self.state.known if self.thorough else dict.fromkeys(keys)
        for difference in self.state.differences(self.driver, self.view, keys, self.thorough):
            id = blame_one(difference) or blame.get(difference.aspect) or ASPECTS[difference.aspect]
            if difference.expected.startswith("blocks_skipped "):
                id = clause_of_admission(self.state)
            self.broken(id, difference.expected, difference.actual, difference.why)

    def compare_residents(self) -> None:
        """Compare every resident key, every slot and the policy's whole list."""
        keys = spec.resident(self.state.tier)
        for difference in self.state.differences(self.driver, self.view, keys, whole=True):
            id = ASPECTS[difference.aspect]
            self.broken(id, difference.expected, difference.actual, difference.why)

    def _abstract_state(self) -> Hashable:
        tier = self.state.tier
        return (tier.pending, tier.idle, frozenset(tier.pinned.items())) if self.thorough else None

    def anew(self) -> ManagerLockstep:
        """A lockstep of the same kind, with a new manager in it, that is silent about nothing."""
        return ManagerLockstep(self._make, self.capacity, self.claims, self.order_id, admission=self._admission)

    def eviction_order(self) -> tuple[OffloadKey, ...] | None:
        """The idle keys in the order in which they would be evicted now; ``None`` if that is not shown or claimed."""
        claims_order = self.claims >= {"policy", "deterministic", "order-on-refusal"}
        return self.view.eviction_order(self.capacity + 1) if self.thorough and claims_order else None

    def _judge_lookup(self, op: ops.Lookup) -> None:
        outcome = self.perform(op, never_raises="lookup-truth")
        expected = spec.lookup(self.state.tier, op.key)
        if outcome.value != self.state.told(expected):
            self.broken("lookup-truth", expected, outcome.value, self.state.why(op.key))
        self.state.totals[LOOKUPS[expected]] += 1
        self.compare(op.named, blame_all("lookup-pure"))

    def _judge_touch(self, op: ops.TouchKeys) -> None:
        self.perform(op, never_raises="touch-pure")
        state = self.state
        state.order = state.order and state.order.touch(op.keys, op.request)
        for key in op.keys:
            kind = "a pinned" if key in state.tier.pinned else TOUCHED[spec.lookup(state.tier, key)]
            self.saw(f"touched {kind} key")
        self.compare(op.keys, blame_all("touch-pure"))

    def _judge_finish(self, op: ops.FinishRequest) -> None:
        clause = self.claimed_of("touch-pure", *self.unreadable)
        self.perform(op, never_raises=clause)
        self.compare((), blame_all(clause))

    def _judge_reset(self, op: ops.ResetCache) -> None:
        state = self.state
        if state.transfers.writes or state.transfers.reads:
            self.saw("reset with transfers in flight")
        self._twin = None
        self.perform(op, never_raises="reset-fresh")
        state.tier = spec.reset(state.tier)
        state.transfers = transfer.Transfers()
        state.order = start_order(self.order_id, self.capacity)
        state.admission = self._admission
        state.slots.clear()
        state.totals.clear()
        state.has_forgotten = False
        self.compare((), blame_all("reset-fresh"))
        if "reset-events" not in self.claims and self.tells_events:
            self.driver.perform(ops.TakeEvents())  # what was told before is not to be told after it
            state.announced.clear()
        has_twin = self.thorough and "deterministic" in self.claims
        self._twin = ManagerDriver(self._make(self.capacity)) if has_twin else None
