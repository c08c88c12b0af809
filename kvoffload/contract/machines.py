"""Hypothesis state machines: they choose the next operation and judge nothing.

The biases, with what they were chosen by (examples until the seeded bug named is found, median of 20 seeds; see
``tests/stateful/seeded``): pools of at most 5 blocks over 6 keys; a rule that stores and completes in one step; loads
that draw from the ready keys; a rule that touches what was evicted; rare resets.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import ClassVar, TypeAlias

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from kvoffload.contract import operations as ops
from kvoffload.contract.manager_lockstep import ManagerLockstep
from kvoffload.contract.operations import Keys
from kvoffload.contract.policy_lockstep import PolicyLockstep
from kvoffload.types import OffloadKey
from kvoffload_spec import tier as spec

KEYS = ops.keys("abcdef")
_DICE = random.Random(0)

capacities = st.sampled_from((3, 2, 4, 1, 5, 0))
key_names = st.sampled_from(KEYS)
key_lists = st.sampled_from(
    [tuple(_DICE.choices(KEYS, k=k)) for k, times in ((1, 50), (2, 60), (3, 40), (4, 20)) for _ in range(times)]
    + [()] * 4
)
"""Lists of up to four keys, some with repeats, drawn in one step: lists drawn key by key are mostly empty or short."""
picks = st.sampled_from(range(64))
requests = st.sampled_from(("", "r1", "r2"))
one_in_four = st.sampled_from((False, False, False, True))
one_in_twelve = st.sampled_from((False,) * 11 + (True,))
faults = st.tuples(
    st.sampled_from(("insert", "remove", "evict", "mark_evictable", "mark_non_evictable", "touch", "clear", "get")),
    st.integers(0, 2),
    st.booleans(),
    st.sampled_from((False, False, True)),
)


def some_of(keys: Keys, pick: int) -> Keys:
    """All of the keys, for a third of the picks, or a part, turned round or rotated: every number is a choice."""
    if pick % 64 < 24:
        return keys if pick % 2 else keys[::-1]
    chosen = tuple(key for i, key in enumerate(keys) if pick >> (i % 4) & 1)
    turn = pick % (len(chosen) or 1)
    return chosen[turn:] + chosen[:turn]


CHANGES: dict[str, tuple[Callable[[OffloadKey], ops.Operation], Callable[[int], bool]]] = {
    "finish": (ops.FinishStore, lambda ref_cnt: ref_cnt < 0),
    "pin": (ops.Pin, lambda ref_cnt: ref_cnt >= 0),
    "unpin": (ops.Unpin, lambda ref_cnt: ref_cnt > 0),
    "remove": (ops.Remove, lambda ref_cnt: ref_cnt <= 0),
}
"""What can happen to one resident block, and at which ref_cnt."""


class PolicyMachine(RuleBasedStateMachine):
    """Chooses calls on a policy."""

    start: ClassVar[Callable[[int], PolicyLockstep]]

    @initialize(capacity=capacities)
    def make(self, capacity: int) -> None:
        """A policy is made for 0 to 5 blocks."""
        self.lockstep = type(self).start(capacity)

    def _absent(self, pick: int) -> Keys:
        """One of the keys that are not resident, if there is any."""
        absent = [key for key in KEYS if key not in self.lockstep.blocks]
        return (absent[pick % len(absent)],) if absent else ()

    @rule(pick=picks, idle=st.booleans(), request=requests)
    def insert(self, pick: int, idle: bool, request: str) -> None:
        """A block that is pending or already idle."""
        for key in self._absent(pick):
            self.lockstep.apply(ops.Insert(key, idle, request))

    @rule(pick=picks, more=st.booleans())
    def store(self, pick: int, more: bool) -> None:
        """One or two blocks, each of which becomes idle in the next step."""
        for key in self._absent(pick) + (self._absent(pick + 1) if more else ()):
            self.lockstep.apply(ops.Insert(key))
            self.lockstep.apply(ops.FinishStore(key))

    def _change(self, kinds: tuple[str, str], pick: int) -> None:
        """The first of these changes that can happen to a block happens to one."""
        for operation, wanted in map(CHANGES.__getitem__, kinds):
            keys = [key for key, block in self.lockstep.blocks.items() if wanted(block.ref_cnt)]
            if keys:
                self.lockstep.apply(operation(keys[pick % len(keys)]))
                return

    @rule(pick=picks, pin=st.booleans())
    def pin_or_unpin(self, pick: int, pin: bool) -> None:
        """One of the ready blocks."""
        self._change(("pin", "unpin") if pin else ("unpin", "pin"), pick)

    @rule(pick=picks, finish=st.booleans())
    def finish_or_remove(self, pick: int, finish: bool) -> None:
        """One of the pending blocks, or one of those that are not pinned."""
        self._change(("finish", "pin") if finish else ("remove", "finish"), pick)

    @rule(keys=key_lists, request=requests)
    def touch(self, keys: Keys, request: str) -> None:
        """Any keys, repeats included, for a request that may have used them before."""
        self.lockstep.apply(ops.TouchPolicy(keys, request))

    @rule(pick=picks)
    def touch_evicted(self, pick: int) -> None:
        """Keys that were evicted: what ghosts are remembered of."""
        if evicted := tuple(sorted(self.lockstep.evicted)):
            self.lockstep.apply(ops.TouchPolicy(some_of(evicted, pick)))

    @rule(n=st.sampled_from((1, 2, 1, 3, -1, 1, -2, 2, 0)), protected=key_lists, pick=picks, idle_only=st.booleans())
    def evict(self, n: int, protected: Keys, pick: int, idle_only: bool) -> None:
        """A few blocks, or (below 0) all idle ones or one more; protected are any keys, or some of the idle ones."""
        idle = tuple(sorted(self.lockstep.residents.idle))
        protected = some_of(idle, 32 + pick % 32) if idle_only else protected
        self.lockstep.apply(ops.Evict(n if n >= 0 else len(idle) - 1 - n, protected if n >= 0 else ()))

    @rule(key=key_names, clear=one_in_twelve)
    def get_or_clear(self, key: OffloadKey, clear: bool) -> None:
        """Rarely a clear: it throws away what the other rules have built."""
        self.lockstep.apply(ops.Clear() if clear else ops.Get(key))

    def teardown(self) -> None:
        """The history is over."""
        if hasattr(self, "lockstep"):
            self.lockstep.finish()


Transfer: TypeAlias = tuple[int, Keys]


class ManagerMachine(RuleBasedStateMachine):
    """Chooses calls on a manager."""

    start: ClassVar[Callable[[int], ManagerLockstep]]

    @initialize(capacity=capacities, fault=faults)
    def make(self, capacity: int, fault: tuple[str, int, bool, bool]) -> None:
        """A manager is made for 0 to 5 blocks; the fault in its policy comes last, since nothing is judged after it."""
        self.lockstep = type(self).start(capacity)
        self.fault = fault
        self.stores: list[Transfer] = []
        self.loads: list[Transfer] = []
        self.num_transfers = 0

    def _next_transfer(self) -> int:
        self.num_transfers += 1
        return self.num_transfers

    def _prepare_store(self, keys: Keys, one_shot: bool = False, request: str = "") -> ops.PrepareStore:
        op = ops.PrepareStore(keys, self._next_transfer(), one_shot, request)
        self.stores.append((op.transfer, keys))
        return op

    def _prepare_load(self, keys: Keys, one_shot: bool = False) -> ops.PrepareLoad:
        op = ops.PrepareLoad(keys, self._next_transfer(), one_shot)
        self.loads.append((op.transfer, keys))
        return op

    def _ready(self) -> Keys:
        return tuple(sorted(spec.ready(self.lockstep.state.tier)))

    @rule(keys=key_lists, success=one_in_twelve.map(lambda failure: not failure), request=requests)
    def store(self, keys: Keys, success: bool, request: str = "") -> None:
        """A store that completes in the next step, and mostly succeeds."""
        op = self._prepare_store(keys, request=request)
        self.lockstep.apply(op)
        self.lockstep.apply(ops.CompleteStore(keys, success, op.transfer))

    @rule(keys=key_lists, one_shot=st.booleans())
    def prepare_store(self, keys: Keys, one_shot: bool) -> None:
        """Any keys: new, resident, pending, evicted before, repeated, none."""
        self.lockstep.apply(self._prepare_store(keys, one_shot))

    @precondition(lambda self: self.stores)
    @rule(which=picks, pick=picks, failure=one_in_four, one_shot=st.booleans(), stale=one_in_twelve)
    def complete_store(self, which: int, pick: int, failure: bool, one_shot: bool, stale: bool) -> None:
        """All or a part of a store, in any order; mostly of one that is outstanding."""
        outstanding = {transfer for transfer, _ in self.lockstep.state.transfers.writes}
        transfer, keys = self._one_of(self.stores, outstanding, which, stale)
        self.lockstep.apply(ops.CompleteStore(some_of(keys, pick), not failure, transfer, one_shot))

    @precondition(lambda self: self._ready())
    @rule(pick=picks, again=one_in_twelve, one_shot=st.booleans())
    def prepare_load(self, pick: int, again: bool, one_shot: bool) -> None:
        """Ready keys, now and then with a repeat."""
        keys = some_of(self._ready(), pick)
        self.lockstep.apply(self._prepare_load(keys + keys[:1] if again else keys, one_shot))

    @precondition(lambda self: self.loads)
    @rule(which=picks, pick=picks, keyed=one_in_four, others=one_in_twelve, one_shot=st.booleans(), stale=one_in_four)
    def complete_load(self, which: int, pick: int, keyed: bool, others: bool, one_shot: bool, stale: bool) -> None:
        """All or a part of a load, in any order, mostly by its id and of one that is outstanding; rarely other keys."""
        outstanding = {transfer for transfer, _ in self.lockstep.state.transfers.reads}
        transfer, keys = self._one_of(self.loads, outstanding, which, stale)
        keys = some_of(self._ready() if others else keys, pick)
        self.lockstep.apply(ops.CompleteLoad(keys, None if keyed else transfer, one_shot))

    @staticmethod
    def _one_of(transfers: list[Transfer], outstanding: set[int], which: int, stale: bool) -> Transfer:
        choice = [transfer for transfer in transfers if (transfer[0] in outstanding) != stale] or transfers[-4:]
        return choice[-1 - which % len(choice)]

    @rule(keys=key_lists, one_shot=st.booleans(), request=requests)
    def touch(self, keys: Keys, one_shot: bool, request: str) -> None:
        """Any keys, for a request that may have used them before."""
        self.lockstep.apply(ops.TouchKeys(keys, one_shot, request))

    @rule(keys=key_lists, kind=st.sampled_from(("lookup", "events", "done", "failed", "load", "release")))
    def any_keys(self, keys: Keys, kind: str) -> None:
        """The calls that matter less often, with any keys and no transfer."""
        match kind:
            case "lookup":
                for key in keys:
                    self.lockstep.apply(ops.Lookup(key))
            case "events":
                self.lockstep.apply(ops.TakeEvents())
            case "load":
                self.lockstep.apply(self._prepare_load(keys))
            case "release":
                self.lockstep.apply(ops.CompleteLoad(keys))
            case _:
                self.lockstep.apply(ops.CompleteStore(keys, kind == "done"))

    @rule(reset=one_in_twelve)
    def reset_cache(self, reset: bool) -> None:
        """Rarely: it throws away what the other rules have built."""
        if reset:
            self.lockstep.apply(ops.ResetCache())

    def teardown(self) -> None:
        """The history ends with a drain of the events and a fault in the policy, now and then in a second life."""
        if hasattr(self, "lockstep"):
            self.lockstep.apply(ops.TakeEvents())
            method, nth, after, new_life = self.fault
            if new_life:
                self.lockstep.apply(ops.ResetCache())
            # Something idle, something pending and something pinned, so that there is something for the policy to do.
            self.store(KEYS[:3], success=True)
            self.prepare_store(KEYS[3:5], one_shot=False)
            self.lockstep.apply(self._prepare_load(self._ready()[:1]))
            during, num_calls = self._call_that_uses(method)
            self.lockstep.apply(ops.PolicyFault(during, method, nth % num_calls, after))
            self.lockstep.finish()

    def _call_that_uses(self, method: str) -> tuple[ops.Operation, int]:
        """A call on the manager that makes that call on its policy, and how often it makes it."""
        tier = self.lockstep.state.tier
        pinned, pending = tuple(sorted(tier.pinned)), tuple(sorted(tier.pending))
        new = spec.new_keys(tier, KEYS)
        match method:
            case "touch":
                return ops.TouchKeys(KEYS), 1
            case "clear":
                return ops.ResetCache(), 1
            case "mark_non_evictable" if tier.idle:
                return self._prepare_load(tuple(sorted(tier.idle))), len(tier.idle)
            case "mark_evictable" if pinned:
                return ops.CompleteLoad(pinned), len(pinned)
            case "mark_evictable" | "remove" if pending:
                return ops.CompleteStore(pending, method == "mark_evictable"), len(pending)
            case "evict" if tier.idle:
                return self._prepare_store(new[: spec.free(tier) + 1]), 1
            case "insert" if spec.free(tier):
                return self._prepare_store(new[: spec.free(tier)]), min(len(new), spec.free(tier)) or 1
        return self._prepare_store(new), len(KEYS)
