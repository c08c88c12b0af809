"""A policy and the specification in lockstep, under a manager that keeps the protocol."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import replace
from typing import Any

from kvoffload.contract import operations as ops
from kvoffload.contract.blame import shown
from kvoffload.contract.drivers import PolicyDriver
from kvoffload.contract.lockstep import Lockstep, Watch, eviction_order, shown_evictable
from kvoffload.contract.orders import order_clause, start_order
from kvoffload.contract.outcome import Outcome
from kvoffload.contract.program import Step
from kvoffload.contract.report import listed
from kvoffload.policies.base import BlockStatus
from kvoffload.types import OffloadKey
from kvoffload_spec import policy as spec

REPEATS = 8
"""How often a policy that seems to differ from itself is tried again; chance hides one choice of two in 1 of 256."""


class PolicyLockstep(Lockstep):
    """Judges every call on a policy by what ``kvoffload_spec.policy`` allows, and by its order if it declares one.

    Args:
        make: makes the policy for a capacity.
        capacity: in blocks.
        claims: ids of the capabilities that it claims.
        order: the order it declares, or ``None``.
        watch: what the run looks for.
    """

    subject = "policy"
    unreadable = ("get-agrees", "evict-forgets")

    def __init__(
        self,
        make: Callable[[int], Any],
        capacity: int,
        claims: frozenset[str],
        order: str | None = None,
        watch: Watch | None = None,
    ) -> None:
        super().__init__(capacity, claims, watch)
        self._make = make
        self.driver = PolicyDriver(make(capacity))
        self.style = self.driver.calls.style
        self.residents: spec.Residents[OffloadKey] = spec.Residents()
        self._order_id = order
        self._order = start_order(order, capacity)
        self._known: dict[OffloadKey, None] = {}
        self.evicted: set[OffloadKey] = set()
        self._twin: PolicyDriver | None = None

    @property
    def blocks(self) -> dict[OffloadKey, BlockStatus]:
        """The resident blocks."""
        return self.driver.blocks

    def _claimed(self, op: ops.Operation) -> ops.Operation | None:
        claimed = super()._claimed(op)
        match claimed:
            case ops.Get():
                return claimed if "get" in self.claims else None
            case ops.Clear():
                return claimed if "clear" in self.claims else None
            case ops.TouchPolicy() if "touch" not in self.claims:
                return None
            case ops.TouchPolicy() if "any-touch" not in self.claims:
                resident = tuple(key for key in claimed.keys if key in self.blocks)
                return replace(claimed, keys=resident) if resident else None
            case ops.Evict() if "refusals" not in self.claims:
                n = min(claimed.n, len(self._candidates(claimed)))
                return replace(claimed, n=n) if n or not claimed.n else None
        return claimed

    def _makes_sense(self, op: ops.Operation) -> bool:
        block = self.blocks.get(op.named[0]) if isinstance(op, ops.OnePolicyKey) else None
        match op:
            case ops.Insert():
                return block is None and len(self.blocks) < self.capacity
            case ops.FinishStore():
                return block is not None and block.ref_cnt == -1
            case ops.Pin():
                return block is not None and block.ref_cnt >= 0
            case ops.Unpin():
                return block is not None and block.ref_cnt > 0
            case ops.Remove():
                return block is not None and block.ref_cnt <= 0
        return True

    def _judge(self, op: ops.Operation) -> None:
        self._known.update(dict.fromkeys(op.named))
        if isinstance(op, ops.Evict):
            self._judge_evict(op)
        elif isinstance(op, ops.TouchPolicy):
            self._judge_touch(op)
        elif isinstance(op, ops.Clear):
            self._judge_clear(op)
        elif isinstance(op, ops.FinishRequest):
            self._judge_finish(op)
        else:
            self._judge_one_key(op)

    def _perform(self, op: ops.Operation) -> Outcome:
        """Make the call, on a fresh policy as well if this one has been cleared."""
        outcome = self.record(self.driver.perform(op))
        if self._twin is not None:
            other = self._twin.perform(op)
            if not _same_victims(outcome, other):
                if not self._repeats_itself():
                    why = "new policies were given the same calls"
                    self.broken("deterministic", "the same from all of them", _shown(outcome), why)
                why = "since the last clear() both were given the same calls"
                self.broken("clear-fresh", f"{_shown(other)}, as a new policy answers", _shown(outcome), why)
        return outcome

    def _repeats_itself(self) -> bool:
        """Whether new policies answer the calls since the last clear alike: one that does not is never fresh either."""
        calls = [step.op for step in self.history]
        last_clear = max((i for i, op in enumerate(calls) if isinstance(op, ops.Clear)), default=-1)
        first = PolicyDriver(self._make(self.capacity))
        answers = [first.perform(op) for op in calls[last_clear + 1 :]]
        for _ in range(REPEATS):
            other = PolicyDriver(self._make(self.capacity))
            again = [other.perform(op) for op in calls[last_clear + 1 :]]
            if not all(map(_same_victims, answers, again)):
                return False
        return True

    def _judge_one_key(self, op: ops.Operation) -> None:
        (key,) = op.named
        before = self.blocks.get(key)
        pending = before is not None and before.ref_cnt < 0
        outcome = self._perform(op)
        if outcome.raised is not None:
            why = "the policy raised on a call that keeps the protocol"
            self.broken(self.claimed_of(*self.unreadable), "no exception", _shown(outcome), why)
        match op:
            case ops.Get():
                if outcome.value is not before:
                    self.broken("get-agrees", before, outcome.value, f"that is what was inserted under {key!r}")
            case ops.Insert():
                self.residents = spec.insert(self.residents, key, op.idle)
                self._order = self._order and self._order.insert((key,), op.request)
                if op.idle:
                    self._order = self._order and self._order.mark_evictable(key)
                if key in self.evicted:
                    self.saw("inserted again after eviction")
            case ops.FinishStore() | ops.Unpin():
                if self.blocks[key].ref_cnt == 0:
                    self.residents = spec.mark_evictable(self.residents, key)
                    self._order = self._order and self._order.mark_evictable(key)
            case ops.Pin():
                self.residents = spec.mark_non_evictable(self.residents, key)
                self._order = self._order and self._order.mark_non_evictable(key)
                if self.blocks[key].ref_cnt == 2:
                    self.saw("pinned twice at once")
            case ops.Remove():
                self.residents = spec.remove(self.residents, key)
                self._order = self._order and self._order.remove(key)
                self.saw("removed while pending" if pending else "removed while idle")
        self._observe("get-agrees", "evictable-exact")

    def _judge_touch(self, op: ops.TouchPolicy) -> None:
        outcome = self._perform(op)
        if outcome.raised is not None:
            why = "touch is allowed on any key" if "any-touch" in self.claims else "these keys are resident"
            self.broken(self.claimed_of("touch-total", *self.unreadable), "no exception", _shown(outcome), why)
        self._order = self._order and self._order.touch(op.keys, op.request)
        for key in op.keys:
            block = self.blocks.get(key)
            if block is not None:
                state = "an idle" if block.ref_cnt == 0 else "a pinned" if block.ref_cnt > 0 else "a pending"
                self.saw(f"touched {state} key")
            elif key in self.evicted:
                self.saw("touched an evicted key")
        if len(set(op.keys)) < len(op.keys):
            self.saw("touched a key twice in one call")
        self._observe("touch-total", "touch-total")

    def _judge_finish(self, op: ops.FinishRequest) -> None:
        outcome = self._perform(op)
        if outcome.raised is not None:
            why = "a request may finish whenever it makes no further call"
            self.broken(self.claimed_of("touch-total", *self.unreadable), "no exception", _shown(outcome), why)
        self._observe("touch-total", "touch-total")

    def _judge_clear(self, op: ops.Clear) -> None:
        if self.blocks:
            self.saw("cleared with blocks")
        outcome = self.record(self.driver.perform(op))
        if outcome.raised is not None:
            self.broken("clear-fresh", "no exception", _shown(outcome), "clear() is always allowed")
        self.residents = spec.Residents()
        self._order = start_order(self._order_id, self.capacity)
        self._observe("clear-fresh", "clear-fresh")
        self._twin = PolicyDriver(self._make(self.capacity)) if "deterministic" in self.claims else None

    def _judge_evict(self, op: ops.Evict) -> None:
        refused = spec.refuses(self.residents, op.n, op.keys)
        order_before = self._eviction_order() if refused else None
        blocks_before = dict(self.blocks)
        outcome = self._perform(op)
        if outcome.raised is not None:
            self.broken("evict-exact", "a list or None", _shown(outcome), "evict is allowed at any time")
        if outcome.value is None:
            if op.n == 0:
                self.broken("evict-exact", "[]", "None", "nothing was asked for")
            self._judge_refused(op, refused, order_before)
        else:
            self._judge_victims(op, outcome.value, blocks_before)

    def _judge_refused(self, op: ops.Evict, refused: bool, order_before: tuple[OffloadKey, ...] | None) -> None:
        if not refused:
            candidates = spec.candidates(self.residents, op.keys)
            why = "these are idle and not protected"
            self.broken("evict-complete", f"{op.n} of {listed(sorted(candidates))}", "None", why)
        self.saw("refused")
        if op.n <= len(self.residents.idle):
            self.saw("refused only because of protected keys")
        self._observe("evict-atomic", "evict-atomic")
        order_after = self._eviction_order()
        if order_before != order_after:
            orders = {self._eviction_order() for _ in range(REPEATS)}
            if len(orders) > 1:
                why = "copies of it, emptied one block at a time, give more than one order"
                self.broken("deterministic", listed(order_after or ()), f"{len(orders)} orders", why)
            why = "that is the order in which it would evict now, one block at a time"
            self.broken("evict-atomic", listed(order_before or ()), listed(order_after or ()), why)

    def _judge_victims(self, op: ops.Evict, pairs: tuple[Any, ...], blocks: dict[OffloadKey, BlockStatus]) -> None:
        victims = [key for key, _ in pairs]
        for key in victims:
            if key not in blocks:
                self.broken("evict-forgets", "a resident key", f"{key!r}", f"{key!r} is not resident")
            if key not in self.residents.idle:
                why = f"{key!r} is {'pending' if blocks[key].ref_cnt < 0 else 'pinned'}"
                self.broken("evict-idle", f"{op.n} of {listed(self._candidates(op))}", listed(victims), why)
            if key in op.keys:
                why = f"{key!r} was named as protected"
                self.broken("evict-protected", f"{op.n} of {listed(self._candidates(op))}", listed(victims), why)
        if len(victims) != op.n or len(set(victims)) != op.n:
            why = f"{op.n} distinct victims were asked for"
            self.broken("evict-exact", f"{op.n} of {listed(self._candidates(op))}", listed(victims), why)
        for key, block in pairs:
            if block is not blocks[key]:
                why = f"that block was inserted under {key!r}"
                self.broken("evict-exact", f"{key!r} with {blocks[key]}", f"{key!r} with {block}", why)
        if self._order is not None:
            expected_victims = self._order.victims(op.n, frozenset(op.keys))
            if tuple(victims) != expected_victims:
                why = "these are the next in the declared order"
                self.broken(order_clause(self._order_id), listed(expected_victims), listed(victims), why)
            self._order = self._order.evict(*victims, protected=frozenset(op.keys))
        self._see_eviction(op)
        self.residents = spec.remove(self.residents, *victims)
        self.evicted.update(victims)
        still_listed = set(victims).intersection(shown_evictable(self.driver.policy) or ())
        self._observe("evict-forgets", "evict-forgets" if still_listed else "evictable-exact")

    def _see_eviction(self, op: ops.Evict) -> None:
        self.saw("evicted" if op.n else "evicted nothing, as asked")
        if op.n and self.residents.busy:
            self.saw("evicted past a busy block")
        if op.n and self.residents.idle.intersection(op.keys):
            self.saw("evicted past a protected block")

    def _candidates(self, op: ops.Evict) -> list[OffloadKey]:
        return sorted(spec.candidates(self.residents, op.keys))

    def _eviction_order(self) -> tuple[OffloadKey, ...] | None:
        """The idle keys in the order in which they would be evicted; ``None`` if that means or shows nothing."""
        if not self.claims >= {"list", "deterministic"}:
            return None
        return eviction_order(self.driver.policy, self.capacity + 1)

    def _observe(self, if_get: str, if_list: str) -> None:
        """Compare all that the policy shows with the model; the arguments name the clause that a difference breaks."""
        for key, got in self.driver.get_all(self._known) if "get" in self.claims else ():
            expected = self.blocks.get(key)
            if got.raised is not None or got.value is not expected:
                actual = shown(got) if got.raised is not None else repr(got.value)
                self.broken(
                    self.claimed_of(if_get, *self.unreadable),
                    f"get({key!r}) is {expected}",
                    actual,
                    self._why_resident(key),
                )
        idle = sorted(self.residents.idle)
        evictable = shown_evictable(self.driver.policy) if "list" in self.claims else None
        if evictable is None and "list" in self.claims:
            drained = eviction_order(self.driver.policy, self.capacity + 1)
            evictable = None if drained is None else list(drained)
            if drained is not None and set(drained) < set(idle):
                why = f"these are idle; a copy of the policy, asked for one after the other, gave {listed(drained)}"
                self.broken("evict-complete", f"1 of {listed(sorted(set(idle) - set(drained)))}", "None", why)
        if evictable is not None and sorted(evictable) != idle:
            why = "expected are the idle keys; actual is the policy's evictable list, or what it evicts one by one"
            self.broken(self.claimed_of(if_list, "evictable-exact"), listed(idle), listed(evictable), why)

    def _abstract_state(self) -> Hashable:
        return self.residents

    def _why_resident(self, key: OffloadKey) -> str:
        if key in self.blocks:
            return f"{key!r} was inserted, and neither evicted nor removed since"
        return f"{key!r} was evicted" if key in self.evicted else f"{key!r} is not resident"

    def _judge_whole(self) -> None:
        """Give the same calls to a new policy: it has to choose the same victims."""
        if "deterministic" not in self.claims:
            return
        other = PolicyDriver(self._make(self.capacity))
        for step in tuple(self.history):
            again = other.perform(step.op)
            if step.outcome is not None and not _same_victims(again, step.outcome):
                self._end_with(step)
                why = "a second policy was given the same calls"
                self.broken("deterministic", f"{_shown(step.outcome)} both times", f"then {_shown(again)}", why)

    def _end_with(self, last: Step) -> None:
        while self.history[-1] is not last:
            self.history.pop()


def _victims(outcome: Outcome) -> tuple[OffloadKey, ...] | None:
    if not isinstance(outcome.value, tuple):
        return None
    return tuple(key for key, _ in outcome.value)


def _same_victims(outcome: Outcome, other: Outcome) -> bool:
    return _victims(outcome) == _victims(other) and type(outcome.raised) is type(other.raised)


def _shown(outcome: Outcome) -> str:
    victims = _victims(outcome)
    if outcome.raised is not None:
        return shown(outcome)
    return "None" if victims is None else listed(victims)
