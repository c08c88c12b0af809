"""Hypothesis state machines: they choose the next operation and judge nothing.

What they choose is biased: pools of at most 5 blocks over 6 keys; stores and loads that complete in one step; loads
that draw from the ready keys; touches of what is resident and of what was evicted; rare resets; at the end, evictions
that show the whole order. ``python -m tests.stateful.seeded`` shows what that finds, and after how many histories.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import ClassVar, TypeAlias

from hypothesis import strategies as st
from hypothesis.stateful import initialize

from kvoffload.contract import operations as ops
from kvoffload.contract.choices import (
    CAPACITIES,
    EITHER,
    FAULTS,
    KEY_LISTS,
    KEYS,
    ONE_IN_FOUR,
    ONE_IN_TWELVE,
    PICKS,
    REQUESTS,
    Machine,
    choice,
    some_of,
)
from kvoffload.contract.manager_lockstep import ManagerLockstep
from kvoffload.contract.operations import Keys
from kvoffload.contract.policy_lockstep import PolicyLockstep
from kvoffload.types import OffloadKey
from kvoffload_spec import tier as spec

CHANGES: dict[str, tuple[Callable[[OffloadKey], ops.Operation], Callable[[int], bool]]] = {
    "finish": (ops.FinishStore, lambda ref_cnt: ref_cnt < 0),
    "pin": (ops.Pin, lambda ref_cnt: ref_cnt >= 0),
    "unpin": (ops.Unpin, lambda ref_cnt: ref_cnt > 0),
    "remove": (ops.Remove, lambda ref_cnt: ref_cnt <= 0),
}
"""What can happen to one resident block, and at which ref_cnt."""


class PolicyMachine(Machine):
    """Chooses calls on a policy."""

    start: ClassVar[Callable[[int], PolicyLockstep]]

    @initialize(capacity=st.sampled_from(CAPACITIES))
    def make(self, capacity: int) -> None:
        """A policy is made for 0 to 5 blocks."""
        self.lockstep = type(self).start(capacity)

    def begin(self, dice: random.Random) -> None:
        """A policy for a few blocks."""
        self.make(dice.choice(CAPACITIES))

    def _absent(self, pick: int) -> Keys:
        """One of the keys that are not resident, if there is any."""
        absent = [key for key in KEYS if key not in self.lockstep.blocks]
        return (absent[pick % len(absent)],) if absent else ()

    @choice(pick=PICKS, idle=EITHER, request=REQUESTS)
    def insert(self, pick: int, idle: bool, request: str) -> None:
        """A block that is pending or already idle."""
        for key in self._absent(pick):
            self.lockstep.apply(ops.Insert(key, idle, request))

    @choice(pick=PICKS, more=(0, 1, 2), request=REQUESTS)
    def store(self, pick: int, more: int, request: str) -> None:
        """One to three blocks, each of which becomes idle in the next step; a full policy is asked to make room."""
        for turn in range(1 + more):
            for key in self._absent(pick + turn):
                if len(self.lockstep.blocks) == self.lockstep.capacity:
                    self.lockstep.apply(ops.Evict(1))
                self.lockstep.apply(ops.Insert(key, request=request))
                self.lockstep.apply(ops.FinishStore(key))

    @choice(pick=PICKS)
    def load(self, pick: int) -> None:
        """One of the ready blocks, for one step."""
        ready = sorted(key for key, block in self.lockstep.blocks.items() if block.ref_cnt >= 0)
        if ready:
            self.lockstep.apply(ops.Pin(ready[pick % len(ready)]))
            self.lockstep.apply(ops.Unpin(ready[pick % len(ready)]))

    @choice(pick=PICKS, request=REQUESTS)
    def use(self, pick: int, request: str) -> None:
        """Some of the resident blocks, touched for a request that may have used them before."""
        self.lockstep.apply(ops.TouchPolicy(some_of(tuple(sorted(self.lockstep.blocks)), pick), request))

    def _change(self, kinds: tuple[str, str], pick: int) -> None:
        """The first of these changes that can happen to a block happens to one."""
        for operation, wanted in map(CHANGES.__getitem__, kinds):
            keys = [key for key, block in self.lockstep.blocks.items() if wanted(block.ref_cnt)]
            if keys:
                self.lockstep.apply(operation(keys[pick % len(keys)]))
                return

    @choice(pick=PICKS, pin=EITHER)
    def pin_or_unpin(self, pick: int, pin: bool) -> None:
        """One of the ready blocks."""
        self._change(("pin", "unpin") if pin else ("unpin", "pin"), pick)

    @choice(pick=PICKS, finish=EITHER)
    def finish_or_remove(self, pick: int, finish: bool) -> None:
        """One of the pending blocks, or one of those that are not pinned."""
        self._change(("finish", "pin") if finish else ("remove", "finish"), pick)

    @choice(keys=KEY_LISTS, request=REQUESTS)
    def touch(self, keys: Keys, request: str) -> None:
        """Any keys, repeats included, for a request that may have used them before."""
        self.lockstep.apply(ops.TouchPolicy(keys, request))

    @choice(pick=PICKS)
    def touch_evicted(self, pick: int) -> None:
        """Keys that were evicted: what ghosts are remembered of."""
        if evicted := tuple(sorted(self.lockstep.evicted)):
            self.lockstep.apply(ops.TouchPolicy(some_of(evicted, pick)))

    @choice(
        n=(1, 2, 1, 1, 3, 1, -1, 2, 1, -2, 1, 0),
        protected=KEY_LISTS,
        pick=PICKS,
        idle_only=EITHER,
    )
    def evict(self, n: int, protected: Keys, pick: int, idle_only: bool) -> None:
        """A few blocks, or (below 0) all idle ones or one more; protected are any keys, or some of the idle ones."""
        idle = tuple(sorted(self.lockstep.residents.idle))
        protected = some_of(idle, 32 + pick % 32) if idle_only else protected
        self.lockstep.apply(ops.Evict(n if n >= 0 else len(idle) - 1 - n, protected if n >= 0 else ()))

    @choice(key=KEYS, clear=ONE_IN_TWELVE)
    def get_or_clear(self, key: OffloadKey, clear: bool) -> None:
        """Rarely a clear: it throws away what the other rules have built."""
        self.lockstep.apply(ops.Clear() if clear else ops.Get(key))

    def teardown(self) -> None:
        """The history ends with the idle blocks evicted one by one, which shows the whole order."""
        if hasattr(self, "lockstep"):
            for _ in self.lockstep.residents.idle:
                self.lockstep.apply(ops.Evict(1))
            self.lockstep.finish()


Transfer: TypeAlias = tuple[int, Keys]


class ManagerMachine(Machine):
    """Chooses calls on a manager."""

    start: ClassVar[Callable[[int], ManagerLockstep]]

    @initialize(capacity=st.sampled_from(CAPACITIES), fault=st.sampled_from(FAULTS))
    def make(self, capacity: int, fault: tuple[str, int, bool, bool]) -> None:
        """A manager is made for 0 to 5 blocks; the fault in its policy comes last, since nothing is judged after it."""
        self.lockstep = type(self).start(capacity)
        self.fault = fault
        self.stores: list[Transfer] = []
        self.loads: list[Transfer] = []
        self.num_transfers = 0

    def begin(self, dice: random.Random) -> None:
        """A manager of a few blocks, with a fault to come."""
        self.make(dice.choice(CAPACITIES), dice.choice(FAULTS))

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

    @choice(keys=KEY_LISTS, success=(True,) * 11 + (False,), request=REQUESTS)
    def store(self, keys: Keys, success: bool, request: str = "") -> None:
        """A store that completes in the next step, and mostly succeeds."""
        op = self._prepare_store(keys, request=request)
        self.lockstep.apply(op)
        self.lockstep.apply(ops.CompleteStore(keys, success, op.transfer))

    @choice(keys=KEY_LISTS, one_shot=EITHER)
    def prepare_store(self, keys: Keys, one_shot: bool) -> None:
        """Any keys: new, resident, pending, evicted before, repeated, none."""
        self.lockstep.apply(self._prepare_store(keys, one_shot))

    @choice(which=PICKS, pick=PICKS, failure=ONE_IN_FOUR, one_shot=EITHER, stale=ONE_IN_TWELVE)
    def complete_store(self, which: int, pick: int, failure: bool, one_shot: bool, stale: bool) -> None:
        """All or a part of a store, in any order; mostly of one that is outstanding."""
        outstanding = {transfer for transfer, _ in self.lockstep.state.transfers.writes}
        transfer, keys = self._one_of(self.stores, outstanding, which, stale)
        self.lockstep.apply(ops.CompleteStore(some_of(keys, pick), not failure, transfer, one_shot))

    @choice(pick=PICKS, again=ONE_IN_TWELVE, one_shot=EITHER)
    def prepare_load(self, pick: int, again: bool, one_shot: bool) -> None:
        """Ready keys, now and then with a repeat."""
        if self._ready():
            keys = some_of(self._ready(), pick)
            self.lockstep.apply(self._prepare_load(keys + keys[:1] if again else keys, one_shot))

    @choice(which=PICKS, pick=PICKS, keyed=ONE_IN_FOUR, others=ONE_IN_TWELVE, one_shot=EITHER, stale=ONE_IN_FOUR)
    def complete_load(self, which: int, pick: int, keyed: bool, others: bool, one_shot: bool, stale: bool) -> None:
        """All or a part of a load, in any order, mostly by its id and of one that is outstanding; rarely other keys."""
        outstanding = {transfer for transfer, _ in self.lockstep.state.transfers.reads}
        transfer, keys = self._one_of(self.loads, outstanding, which, stale)
        keys = some_of(self._ready() if others else keys, pick)
        self.lockstep.apply(ops.CompleteLoad(keys, None if keyed else transfer, one_shot))

    @staticmethod
    def _one_of(transfers: list[Transfer], outstanding: set[int], which: int, stale: bool) -> Transfer:
        some = [transfer for transfer in transfers if (transfer[0] in outstanding) != stale] or transfers[-4:]
        return some[-1 - which % len(some)] if some else (0, ())

    @choice(keys=KEY_LISTS, one_shot=EITHER, request=REQUESTS)
    def touch(self, keys: Keys, one_shot: bool, request: str) -> None:
        """Any keys, for a request that may have used them before."""
        self.lockstep.apply(ops.TouchKeys(keys, one_shot, request))

    @choice(keys=KEY_LISTS, kind=("lookup", "events", "done", "failed", "load", "release"))
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

    @choice(reset=ONE_IN_TWELVE)
    def reset_cache(self, reset: bool) -> None:
        """Rarely: it throws away what the other rules have built."""
        if reset:
            self.lockstep.apply(ops.ResetCache())

    def teardown(self) -> None:
        """The history ends with evictions, a drain of the events and a fault, now and then in a second life."""
        if hasattr(self, "lockstep"):
            # One new block after the other shows the order, as far as blocks are idle.
            for key in spec.new_keys(self.lockstep.state.tier, KEYS):
                self.lockstep.apply(self._prepare_store((key,)))
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
            case "insert":
                stored = new[: spec.free(tier) + len(tier.idle)]
                return self._prepare_store(stored), len(stored) or 1
        return self._prepare_store(new), len(KEYS)
