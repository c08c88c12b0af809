"""Chooses calls on a policy: which are likely, and with what."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum

from kvoffload.contract.calls import operations as ops
from kvoffload.contract.calls.operations import Keys
from kvoffload.contract.lockstep.policy.judges import PolicyLockstep
from kvoffload.contract.search.choices import (
    EITHER,
    INDICES,
    KEY_LISTS,
    KEYS,
    ONE_IN_TWELVE,
    PARTS,
    REQUESTS,
    SOME,
    Chooser,
    Some,
    choice,
)
from kvoffload.types import OffloadKey

CHANGES: dict[str, tuple[Callable[[OffloadKey], ops.Operation], Callable[[int], bool]]] = {
    "finish": (ops.FinishStore, lambda ref_cnt: ref_cnt < 0),
    "pin": (ops.Pin, lambda ref_cnt: ref_cnt >= 0),
    "unpin": (ops.Unpin, lambda ref_cnt: ref_cnt > 0),
    "remove": (ops.Remove, lambda ref_cnt: ref_cnt <= 0),
}
"""What can happen to one resident block, and at which ref_cnt."""


class Asked(Enum):
    """How many blocks an eviction is asked for: all that are idle, and so many more."""

    ALL_IDLE = 0
    ONE_TOO_MANY = 1


class PolicyChooser(Chooser):
    """Chooses calls on a policy of 0 to 5 blocks.

    It is biased to stores and loads that complete in one step, to touches of what is resident and of what was evicted,
    and against clears.
    """

    lockstep: PolicyLockstep

    def _absent(self, pick: int) -> Keys:
        """One of the keys that are not resident, if there is any."""
        absent = [key for key in KEYS if key not in self.lockstep.blocks]
        return (absent[pick % len(absent)],) if absent else ()

    @choice(pick=INDICES, idle=EITHER, request=REQUESTS)
    def insert(self, pick: int, idle: bool, request: str) -> None:
        """A block that is pending or already idle."""
        for key in self._absent(pick):
            self.lockstep.apply(ops.Insert(key, idle, request))

    @choice(pick=INDICES, more=(0, 1, 2), request=REQUESTS)
    def store(self, pick: int, more: int, request: str) -> None:
        """One to three blocks, each of which becomes idle in the next step; a full policy is asked to make room."""
        for turn in range(1 + more):
            for key in self._absent(pick + turn):
                if len(self.lockstep.blocks) == self.lockstep.capacity:
                    self.lockstep.apply(ops.Evict(1))
                self.lockstep.apply(ops.Insert(key, request=request))
                self.lockstep.apply(ops.FinishStore(key))

    @choice(pick=INDICES)
    def load(self, pick: int) -> None:
        """One of the ready blocks, for one step."""
        ready = sorted(key for key, block in self.lockstep.blocks.items() if block.ref_cnt >= 0)
        if ready:
            self.lockstep.apply(ops.Pin(ready[pick % len(ready)]))
            self.lockstep.apply(ops.Unpin(ready[pick % len(ready)]))

    @choice(pick=SOME, request=REQUESTS)
    def use(self, pick: Some, request: str) -> None:
        """Some of the resident blocks, touched for a request that may have used them before."""
        self.lockstep.apply(ops.TouchPolicy(pick.of(tuple(sorted(self.lockstep.blocks))), request))

    def _change(self, kinds: tuple[str, str], pick: int) -> None:
        """The first of these changes that can happen to a block happens to one."""
        for operation, wanted in map(CHANGES.__getitem__, kinds):
            keys = [key for key, block in self.lockstep.blocks.items() if wanted(block.ref_cnt)]
            if keys:
                self.lockstep.apply(operation(keys[pick % len(keys)]))
                return

    @choice(pick=INDICES, pin=EITHER)
    def pin_or_unpin(self, pick: int, pin: bool) -> None:
        """One of the ready blocks."""
        self._change(("pin", "unpin") if pin else ("unpin", "pin"), pick)

    @choice(pick=INDICES, finish=EITHER)
    def finish_or_remove(self, pick: int, finish: bool) -> None:
        """One of the pending blocks, or one of those that are not pinned."""
        self._change(("finish", "pin") if finish else ("remove", "finish"), pick)

    @choice(keys=KEY_LISTS, request=REQUESTS)
    def touch(self, keys: Keys, request: str) -> None:
        """Any keys, repeats included, for a request that may have used them before."""
        self.lockstep.apply(ops.TouchPolicy(keys, request))

    @choice(pick=SOME)
    def touch_evicted(self, pick: Some) -> None:
        """Keys that were evicted: what ghosts are remembered of."""
        if evicted := tuple(sorted(self.lockstep.evicted)):
            self.lockstep.apply(ops.TouchPolicy(pick.of(evicted)))

    @choice(
        n=(1, 2, 1, 1, 3, 1, Asked.ALL_IDLE, 2, 1, Asked.ONE_TOO_MANY, 1, 0),
        protected=KEY_LISTS,
        pick=PARTS[32:] * 2,
        idle_only=EITHER,
    )
    def evict(self, n: int | Asked, protected: Keys, pick: Some, idle_only: bool) -> None:
        """A few blocks, with any keys protected or some of the idle ones; or all idle ones, or one more."""
        idle = tuple(sorted(self.lockstep.residents.idle))
        if isinstance(n, Asked):
            self.lockstep.apply(ops.Evict(len(idle) + n.value))
        else:
            self.lockstep.apply(ops.Evict(n, pick.of(idle) if idle_only else protected))

    @choice(key=KEYS, clear=ONE_IN_TWELVE, finished=("",) * 4 + REQUESTS)
    def get_or_clear(self, key: OffloadKey, clear: bool, finished: str) -> None:
        """Rarely a clear: it throws away what the others have built; now and then the end of a request, before it."""
        if finished:
            self.lockstep.apply(ops.FinishRequest(finished))
        self.lockstep.apply(ops.Clear() if clear else ops.Get(key))

    def finish(self) -> None:
        """Evict the idle blocks one by one, which shows the whole order."""
        for _ in self.lockstep.residents.idle:
            self.lockstep.apply(ops.Evict(1))
        self.lockstep.finish()
