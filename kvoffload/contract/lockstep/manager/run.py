"""A manager and the specification in lockstep: what each call must answer, and what it must leave behind."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any, Self

from kvoffload.contract.calls import operations as ops
from kvoffload.contract.calls.outcome import Outcome
from kvoffload.contract.calls.style import NOWHERE, Origin
from kvoffload.contract.calls.text import shown
from kvoffload.contract.clauses import CLAUSES, clause
from kvoffload.contract.lockstep.base import Judges, Lockstep, Watch
from kvoffload.contract.lockstep.difference import ASPECTS, Aspect, Difference
from kvoffload.contract.lockstep.manager.claims import claimed_call
from kvoffload.contract.lockstep.manager.shown import Shown
from kvoffload.contract.lockstep.manager.state import ManagerState
from kvoffload.contract.lockstep.orders import start_order
from kvoffload.contract.lockstep.reading import ReadError, read
from kvoffload.contract.targets.drivers import ManagerDriver
from kvoffload.contract.targets.target import EVERY_KEY
from kvoffload.types import OffloadKey
from kvoffload_spec import tier as spec
from kvoffload_spec.admission import Admission

JUDGES = Judges()
"""The judge of each call; the files beside this one fill it."""


class ManagerRun(Lockstep):
    """A manager, the model beside it, and what those who judge a call ask of both.

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
        self.make = make
        self.order_id = order
        self.thorough = thorough
        self.drains_each_call = False
        self.twin: ManagerDriver | None = None
        self.driver = ManagerDriver(make(capacity))
        self.style = self.driver.calls.style
        self.shown = Shown(self.driver)
        self.view = self.shown.view
        self.admission = admission
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

    def record(self, outcome: Outcome) -> Outcome:
        """Note what the last call returned, which has to be made of keys."""
        read(hash, super().record(outcome).value)
        return outcome

    def perform(self, op: ops.Operation, never_raises: str | None = None) -> Outcome:
        """Make the call; after a reset, on a new manager as well, which has to answer the same.

        Args:
            op: the call.
            never_raises: the clause that an exception breaks, if the call never raises.
        """
        outcome = self.record(self.driver.perform(op))
        if self.twin is not None and self.twin.can(op) and not isinstance(op, ops.TakeEvents):
            other = self.twin.perform(op)
            if not outcome.same_as(other):
                why = "both were given the calls since the last reset_cache(): this one, and a new one"
                expected = f"{shown(other)}, as a new manager answers"
                self.broken("reset-fresh", expected, shown(outcome), why)
        if never_raises is not None and (outcome.raised is not None):
            self.broken(never_raises, "no exception", shown(outcome), f"{op.method}() never raises")
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
        self._blame_first(self.state.differences(self.shown, keys, self.thorough), blame, blame_one)

    def compare_residents(self) -> None:
        """Compare every resident key, every slot and the policy's whole list."""
        self._blame_first(self.state.differences(self.shown, spec.resident(self.state.tier), whole=True))

    def _blame_first(
        self,
        differences: Iterable[Difference],
        blame: Mapping[Aspect, str] = ASPECTS,
        blame_one: Callable[[Difference], str | None] = lambda _: None,
    ) -> None:
        """Tell the cause of all that differs; what a call is blamed for on this very key comes before the usual."""

        def id_of(difference: Difference) -> str:
            if difference.came == "blocks_skipped" and "admission" in self.claims:
                return self.state.clause_of_admission
            return blame_one(difference) or blame.get(difference.aspect) or ASPECTS[difference.aspect]

        def rank(difference: Difference) -> tuple[int, bool, int]:
            aspect = tuple(ASPECTS).index(difference.aspect)
            return aspect, blame_one(difference) is None, CLAUSES.index(clause(id_of(difference)))

        found: list[Difference] = []
        try:
            for difference in differences:
                found.append(difference)
        except ReadError:
            if not found:
                raise
        if found:
            first = min(found, key=rank)
            self.broken(id_of(first), first.expected, first.actual, first.why)

    def _abstract_state(self) -> Hashable:
        tier = self.state.tier
        return (tier.pending, tier.idle, frozenset(tier.pinned.items())) if self.thorough else None

    def anew(self) -> Self:
        """One of the same kind, with a new manager in it, that is silent about nothing."""
        return type(self)(self.make, self.capacity, self.claims, self.order_id, admission=self.admission)

    def eviction_order(self) -> tuple[OffloadKey, ...] | None:
        """The idle keys in the order in which they would be evicted now; ``None`` if that is not shown or claimed."""
        claims_order = self.claims >= {"policy", "deterministic", "order-on-refusal"}
        return self.shown.eviction_order(self.capacity + 1) if self.thorough and claims_order else None
