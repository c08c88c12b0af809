"""Chooses calls on a manager: which are likely, and with what.

Measured by the share of 1,000 walks or more in which a seeded bug shows. Stores of evicted keys (``store_again``): from
1.9 % to 5.0 % for an ARC in a manager that counts every touch, from 0.1 % to 0.6 % for one that looks at one side only.
A request at ``prepare_store``, which may finish before its store: from 1.1 % to 7.7 % for a manager that then gives the
store up. A late completion right after a reset: from 0.6 % to 22 % for a manager that gives transfer ids out twice.
More faults in those calls that a manager makes several times: from 0.5 % to 3.0 % for one that keeps half a store, from
1.7 % to 2.3 % for half a load. Others moved by less than half, both ways, but for faults in a touch or a clear, which
have become half as likely: 6.0 % and 4.5 %. Tried and not kept, since rarer things became rarer still: stores of new
keys with idle ones beside them, touches of ready or of evicted keys only.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, TypeAlias

from kvoffload.contract.calls import operations as ops
from kvoffload.contract.calls.operations import Keys
from kvoffload.contract.lockstep.manager.judges import ManagerLockstep
from kvoffload.contract.search.choices import (
    CAPACITIES,
    EITHER,
    FAULTS,
    INDICES,
    KEY_LISTS,
    KEYS,
    ONE_IN_FOUR,
    ONE_IN_TWELVE,
    REQUESTS,
    SOME,
    Chooser,
    Pools,
    Some,
    choice,
)
from kvoffload_spec import tier as spec

Transfer: TypeAlias = tuple[int, Keys]


class ManagerChooser(Chooser):
    """Chooses calls on a manager of 0 to 5 blocks.

    It is biased to stores that complete in one step, to loads of what is ready and completions of what is outstanding,
    and against resets. A fault in the manager's policy comes last, since nothing is judged after it.

    Args:
        start: makes a manager of a capacity, in lockstep with the specification.
        capacity: the capacity.
        fault: the policy's method that raises, on which of its calls, whether after its work, and whether in a second
            life, after a reset.
    """

    beginning: ClassVar[Pools] = {"capacity": CAPACITIES, "fault": FAULTS}
    lockstep: ManagerLockstep

    def __init__(
        self, start: Callable[[int], ManagerLockstep], capacity: int, fault: tuple[str, int, bool, bool]
    ) -> None:
        super().__init__(start, capacity)
        self.fault = fault
        self.stores: list[Transfer] = []
        self.loads: list[Transfer] = []
        self.life = 0  # of the stores, the first since the last reset

    def _next_transfer(self) -> int:
        return len(self.stores) + len(self.loads) + 1

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

    @choice(keys=KEY_LISTS, one_shot=EITHER, request=REQUESTS)
    def prepare_store(self, keys: Keys, one_shot: bool, request: str = "") -> None:
        """Any keys: new, resident, pending, evicted before, repeated, none; the request may finish before the store."""
        self.lockstep.apply(self._prepare_store(keys, one_shot, request))

    @choice(pick=INDICES, times=(1, 2, 3), request=REQUESTS)
    def store_again(self, pick: int, times: int, request: str) -> None:
        """One to three keys that were evicted come back, one after the other: what ghosts are remembered for."""
        state = self.lockstep.state
        for turn in range(times):
            if gone := [key for key in spec.new_keys(state.tier, KEYS) if key in state.evicted]:
                self.store((gone[(pick + turn) % len(gone)],), True, request)

    @choice(which=INDICES, pick=SOME, failure=ONE_IN_FOUR, one_shot=EITHER, stale=ONE_IN_TWELVE)
    def complete_store(self, which: int, pick: Some, failure: bool, one_shot: bool, stale: bool) -> None:
        """All or a part of a store, in any order; mostly of one that is outstanding."""
        outstanding = {transfer for transfer, _ in self.lockstep.state.transfers.writes}
        transfer, keys = self._one_of(self.stores, outstanding, which, stale)
        self.lockstep.apply(ops.CompleteStore(pick.of(keys), not failure, transfer, one_shot))

    @choice(pick=SOME, again=ONE_IN_TWELVE, one_shot=EITHER)
    def prepare_load(self, pick: Some, again: bool, one_shot: bool) -> None:
        """Ready keys, now and then with a repeat."""
        if self._ready():
            keys = pick.of(self._ready())
            self.lockstep.apply(self._prepare_load(keys + keys[:1] if again else keys, one_shot))

    @choice(which=INDICES, pick=SOME, keyed=ONE_IN_FOUR, others=ONE_IN_TWELVE, one_shot=EITHER, stale=ONE_IN_FOUR)
    def complete_load(self, which: int, pick: Some, keyed: bool, others: bool, one_shot: bool, stale: bool) -> None:
        """All or a part of a load, in any order, mostly by its id and of one that is outstanding; rarely other keys."""
        outstanding = {transfer for transfer, _ in self.lockstep.state.transfers.reads}
        transfer, keys = self._one_of(self.loads, outstanding, which, stale)
        keys = pick.of(self._ready() if others else keys)
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

    @choice(rare=("reset", "late", "r1", "r2") + ("nothing",) * 8)
    def reset_or_finish_request(self, rare: str) -> None:
        """Rarely: a reset throws away what the others have built, and the end of a request what is known of its use."""
        if rare in ("reset", "late"):
            life, self.life = self.stores[self.life :], len(self.stores)
            self.lockstep.apply(ops.ResetCache())
            if life and rare == "late":  # the first store of the life before is made again, then the first completes
                transfer, keys = life[0]
                self.lockstep.apply(self._prepare_store(keys))
                self.lockstep.apply(ops.CompleteStore(keys, transfer=transfer))
        elif rare != "nothing":
            self.lockstep.apply(ops.FinishRequest(rare))

    def finish(self) -> None:
        """End with evictions, a drain of the events and a fault in the policy, now and then in a second life."""
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
