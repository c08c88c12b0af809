"""A policy and the specification in lockstep, under a manager that keeps the protocol."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import replace
from typing import Any

from kvoffload.contract.calls import operations as ops
from kvoffload.contract.calls.outcome import Outcome, Step
from kvoffload.contract.calls.style import NOWHERE, Origin
from kvoffload.contract.calls.text import block_of, listed, shown, shown_victims, victims_of
from kvoffload.contract.lockstep.base import Judges, Lockstep, Watch
from kvoffload.contract.lockstep.orders import start_order
from kvoffload.contract.lockstep.reading import read
from kvoffload.contract.targets.drivers import PolicyDriver
from kvoffload.contract.targets.view import eviction_order, shown_evictable
from kvoffload.policies.base import BlockStatus
from kvoffload.types import OffloadKey
from kvoffload_spec import policy as spec

REPEATS = 8
"""How often a policy that seems to differ from itself is tried again; chance hides one choice of two in 1 of 256."""

MARKS = ("mark_evictable", "mark_non_evictable")
"""The hooks that tell a policy that a block has become idle, or is so no more; it need not have them."""

JUDGES = Judges()
"""The judge of each call; the files beside this one fill it."""


class PolicyRun(Lockstep):
    """A policy, the model beside it, and what those who judge a call ask of both.

    Args:
        make: makes the policy for a capacity.
        capacity: in blocks.
        claims: ids of the capabilities that it claims.
        order: the order it declares, or ``None``.
        watch: what the run looks for.
        origin: where the policy comes from.
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
        origin: Origin = NOWHERE,
    ) -> None:
        super().__init__(capacity, claims, watch, origin=origin)
        self._make = make
        self.driver = PolicyDriver(make(capacity))
        calls = self.driver.calls
        has = calls.style.has | {hook for hook in MARKS if hasattr(calls.policy, hook)}
        self.style = replace(calls.style, takes_request=calls.takes_request, has=has)
        self.residents: spec.Residents[OffloadKey] = spec.Residents()
        self.order_id = order
        self.order = start_order(order, capacity)
        self.known: dict[OffloadKey, None] = {}
        self.evicted: set[OffloadKey] = set()
        self.left: dict[OffloadKey, str] = {}  # how the keys have left that are not resident
        self.twin: PolicyDriver | None = None

    @property
    def blocks(self) -> dict[OffloadKey, BlockStatus]:
        """The resident blocks."""
        return self.driver.blocks

    def _claimed(self, op: ops.Operation) -> ops.Operation | None:
        claimed = super()._claimed(op)
        match claimed:
            case ops.TouchPolicy() if "any-touch" not in self.claims:
                resident = tuple(key for key in claimed.keys if key in self.blocks)
                return claimed.but(keys=resident) if resident else None
            case ops.Evict() if "refusals" not in self.claims:
                n = min(claimed.n, len(self.candidates(claimed)))
                return claimed.but(n=n) if n or not claimed.n else None
        return claimed

    def _makes_sense(self, op: ops.Operation) -> bool:
        block = self.blocks.get(op.named[0]) if isinstance(op, ops.OneKey) else None
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

    def record(self, outcome: Outcome) -> Outcome:
        """Note what the last call returned, whose victims have to be keys."""
        read(hash, victims_of(super().record(outcome)))
        return outcome

    def perform(self, op: ops.Operation) -> Outcome:
        """Make the call, on a fresh policy as well if this one has been cleared."""
        outcome = self.record(self.driver.perform(op))
        if self.twin is not None:
            other = self.twin.perform(op)
            if not read(_same_victims, outcome, other):
                if not self._repeats_itself():
                    why = "new policies were given the same calls"
                    self.broken("deterministic", "the same from all of them", shown_victims(outcome), why)
                why = "both were given the calls since the last clear(): this one, and a new one"
                expected = f"{shown_victims(other)}, as a new policy answers"
                self.broken("clear-fresh", expected, shown_victims(outcome), why)
        return outcome

    def _repeats_itself(self) -> bool:
        """Whether new policies answer the calls since the last clear alike: one that does not is never fresh either."""
        calls = [step.op for step in self.history]
        last_clear = max((i for i, op in enumerate(calls) if isinstance(op, ops.Clear)), default=-1)
        first = self.anew()
        answers = [first.perform(op) for op in calls[last_clear + 1 :]]
        for _ in range(REPEATS):
            other = self.anew()
            again = [other.perform(op) for op in calls[last_clear + 1 :]]
            if not read(_all_the_same, answers, again):
                return False
        return True

    def candidates(self, op: ops.Evict) -> list[OffloadKey]:
        """The blocks that it may evict."""
        return sorted(spec.candidates(self.residents, op.keys))

    def eviction_order(self) -> tuple[OffloadKey, ...] | None:
        """The idle keys in the order in which they would be evicted; ``None`` if that means or shows nothing."""
        if not self.claims >= {"list", "deterministic"}:
            return None
        return eviction_order(self.driver.policy, self.capacity + 1)

    def observe(self, if_get: str, if_list: str) -> None:
        """Compare all that the policy shows with the model; the arguments name the clause that a difference breaks."""
        for key, got in self.driver.get_all(self.known) if "get" in self.claims else ():
            expected = self.blocks.get(key)
            if got.raised is not None or got.value is not expected:
                actual = read(shown, got) if got.raised is not None else shown_block(got.value)
                self.broken(
                    self.claimed_of(if_get, *self.unreadable),
                    f"get({key!r}) is {block_of(key, expected)}",
                    actual,
                    self.why_resident(key),
                )
        if "list" in self.claims:
            self._observe_list(if_list)

    def evictable(self) -> list[OffloadKey] | None:
        """The keys in its evictable list; ``None`` if it shows none."""
        return read(shown_evictable, self.driver.policy)

    def _observe_list(self, if_list: str) -> None:
        idle, policy = sorted(self.residents.idle), self.driver.policy
        evictable = self.evictable()
        is_shown = evictable is not None
        if not is_shown:
            drained = eviction_order(policy, self.capacity + 1)
            evictable = None if drained is None else list(drained)
            if drained is not None and read(set, drained) < set(idle):
                why = f"these are idle; a copy of the policy, asked for one after the other, gave {listed(drained)}"
                expected = f"evict 1 of {listed(sorted(set(idle) - set(drained)))}"
                self.broken("evict-complete", expected, "None", why)
        if evictable is not None and read(sorted, evictable) != idle:
            what = "evictable list" if is_shown else "a copy of it, emptied one by one:"
            self.broken(
                self.claimed_of(if_list, "evictable-exact"),
                f"{what} {listed(idle)}",
                f"{what} {listed(evictable)}",
                self._why_listed(evictable),
            )

    def _why_listed(self, evictable: list[OffloadKey]) -> str:
        """What is wrong with one of the keys that are, or are not, in the evictable list."""
        for key in evictable:
            if key not in self.residents.idle:
                block = self.blocks.get(key)
                if block is None:
                    return self.why_resident(key)
                return f"{key!r} is {'pending' if block.ref_cnt < 0 else 'pinned'}, not idle"
        repeated = [key for key in evictable if evictable.count(key) > 1]
        if repeated:
            return f"{repeated[0]!r} is in it more than once"
        missing = next(key for key in sorted(self.residents.idle) if key not in evictable)
        return f"{missing!r} is idle: its ref_cnt is 0"

    def _abstract_state(self) -> Hashable:
        return self.residents

    def why_resident(self, key: OffloadKey) -> str:
        """Why the model says of the key that it is resident, or not."""
        if key in self.blocks:
            return f"{key!r} was inserted, and neither evicted nor removed since"
        return f"{key!r} was {self.left[key]}" if key in self.left else f"{key!r} was never inserted"

    def anew(self) -> PolicyDriver:
        """Drives a new policy."""
        return read(lambda: PolicyDriver(self._make(self.capacity)))

    def _judge_whole(self) -> None:
        """Give the same calls to a new policy: it has to choose the same victims."""
        if "deterministic" not in self.claims:
            return
        other = self.anew()
        for step in tuple(self.history):
            again = other.perform(step.op)
            if step.outcome is not None and not read(_same_victims, again, step.outcome):
                self._end_with(step)
                why = "a second policy was given the same calls"
                first, then = shown_victims(step.outcome), shown_victims(again)
                self.broken("deterministic", f"{first} both times", f"{first}, then {then}", why)

    def _end_with(self, last: Step) -> None:
        while self.history[-1] is not last:
            self.history.pop()
            self.num_calls -= 1


def _same_victims(outcome: Outcome, other: Outcome) -> bool:
    return victims_of(outcome) == victims_of(other) and type(outcome.raised) is type(other.raised)


def _all_the_same(outcomes: Iterable[Outcome], others: Iterable[Outcome]) -> bool:
    return all(map(_same_victims, outcomes, others))


def shown_block(value: object) -> str:
    """What ``get`` gave that it should not have given."""
    return read(str, value)
