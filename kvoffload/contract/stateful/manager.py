"""A state machine for managers: any calls in any order, and the specification beside the manager.

A rule makes a call and tells the model of it (``calls.py``); the invariants compare the two after every rule. The model
is ``kvoffload_spec``: ``Tier`` says which keys are pending, idle and pinned, ``Transfers`` which stores and loads are
in flight. Hypothesis chooses the calls, and makes a failure short.
"""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    MultipleResults,
    RuleBasedStateMachine,
    consumes,
    initialize,
    invariant,
    multiple,
    precondition,
    rule,
)

from kvoffload import NO_REQUEST, EventKind, OffloadingManager, OffloadKey, ReqContext
from kvoffload.contract.stateful.calls import ManagerCalls, Transfer
from kvoffload.contract.stateful.given import KEYS, REQUESTS, expect, shown
from kvoffload_spec import tier as spec

COUNTERS = (
    "hits",
    "pending_hits",
    "misses",
    "blocks_offered",
    "blocks_skipped",
    "stores_refused",
    "blocks_stored",
    "blocks_failed",
    "blocks_loaded",
    "blocks_evicted",
    "stale_completions",
)
"""What ``get_stats().counters`` counts."""

key_bundle: Bundle[OffloadKey] = Bundle("keys")
stores: Bundle[Transfer] = Bundle("stores")
loads: Bundle[Transfer] = Bundle("loads")
finished: Bundle[Transfer] = Bundle("finished")

any_keys = st.lists(key_bundle, max_size=4)
ready_keys = st.runner().flatmap(
    lambda machine: st.lists(st.sampled_from(sorted(spec.ready(machine.tier)) or KEYS), min_size=1, max_size=3)
)
new_keys = st.runner().flatmap(
    lambda machine: st.lists(st.sampled_from(spec.new_keys(machine.tier, KEYS)), min_size=1, max_size=3, unique=True)
)
some_keys = any_keys | ready_keys


class ManagerStateMachine(ManagerCalls, RuleBasedStateMachine):
    """Stores, loads, touches and resets of one manager, interleaved, with transfers in flight.

    Subclass it, say what to make, and have pytest collect its ``TestCase``::

        class MyMachine(ManagerStateMachine):
            make = staticmethod(lambda num_blocks: MyManager(num_blocks))

        TestMyManager = MyMachine.TestCase

    What a manager does not promise is left out by the name of its rule: ``take_events = None``. What it does not show
    (``num_free_blocks``, ``policy``, ``get_stats()``) is not compared.

    Attributes:
        make: makes the manager, of so many blocks.
        order: makes the order in which the victims have to go, for so many blocks: one of ``kvoffload_spec.order``.
            Without it any idle block that the call does not name may be a victim.
        tier: the model of what is resident.
        transfers: the model of what is in flight.
    """

    make: Callable[[int], OffloadingManager]

    @initialize(target=key_bundle, num_blocks=st.integers(0, 4), one_shot=st.booleans())
    def begin(self, num_blocks: int, one_shot: bool) -> MultipleResults[OffloadKey]:
        """A new manager, which is given its keys in one-shot iterators, or in lists that the caller uses again."""
        self._start(self.make(num_blocks), num_blocks, one_shot)
        return multiple(*KEYS)

    # --- stores ---

    @rule(target=stores, keys=any_keys, request=REQUESTS)
    def prepare_store(self, keys: list[OffloadKey], request: ReqContext) -> Transfer | MultipleResults[Transfer]:
        """Any keys: new, resident, pending, evicted before, repeated, none."""
        return self._prepare_store(keys, request) or multiple()

    @rule(target=finished, keys=any_keys | new_keys, request=REQUESTS)
    def store(self, keys: list[OffloadKey], request: ReqContext) -> Transfer | MultipleResults[Transfer]:
        """A store that completes before anything else happens, so that blocks become idle often."""
        store = self._prepare_store(keys, request)
        if store is None:
            return multiple()
        self._complete_store(keys, request, True, store)
        return store

    @rule(target=finished, store=consumes(stores), success=st.booleans(), by_id=st.booleans(), request=REQUESTS)
    def complete_store(self, store: Transfer, success: bool, by_id: bool, request: ReqContext) -> Transfer:
        """All keys of a store, by its id or by their names only; nothing changes if it was prepared before a reset."""
        self._complete_store(store.keys, request, success, store if by_id else None)
        return store

    @rule(store=stores, keys=some_keys, success=st.booleans(), by_id=st.booleans(), request=REQUESTS)
    def complete_part_of_store(
        self, store: Transfer, keys: list[OffloadKey], success: bool, by_id: bool, request: ReqContext
    ) -> None:
        """Some keys of a store, among them ones that are not its own; the store stays in flight with the others."""
        self._complete_store(keys, request, success, store if by_id else None)

    # --- loads ---

    @rule(target=loads, keys=any_keys, request=REQUESTS)
    def prepare_load(self, keys: list[OffloadKey], request: ReqContext) -> Transfer | MultipleResults[Transfer]:
        """Any keys: if one of them is not ready, the load raises and changes nothing."""
        return self._prepare_load(keys, request) or multiple()

    @precondition(lambda self: bool(spec.ready(self.tier)))
    @rule(target=loads, keys=ready_keys, request=REQUESTS)
    def load_what_is_ready(self, keys: list[OffloadKey], request: ReqContext) -> Transfer | MultipleResults[Transfer]:
        """Ready keys only, so that blocks are pinned often, and more than once."""
        return self._prepare_load(keys, request) or multiple()

    @rule(target=finished, load=consumes(loads), by_id=st.booleans(), request=REQUESTS)
    def complete_load(self, load: Transfer, by_id: bool, request: ReqContext) -> Transfer:
        """All keys of a load, by its id or by their names only; nothing changes if it was prepared before a reset."""
        self._complete_load(load.keys, request, load if by_id else None)
        return load

    @rule(load=loads, keys=some_keys, request=REQUESTS)
    def complete_part_of_load(self, load: Transfer, keys: list[OffloadKey], request: ReqContext) -> None:
        """Some keys of a load; if one of them is not its own, the completion raises and changes nothing."""
        self._complete_load(keys, request, load)

    @rule(keys=some_keys, request=REQUESTS)
    def release(self, keys: list[OffloadKey], request: ReqContext) -> None:
        """The oldest load of each key; if no load holds one of them, the release raises and changes nothing."""
        self._complete_load(keys, request, None)

    # --- the rest ---

    @rule(transfer=finished, success=st.booleans(), request=REQUESTS)
    def complete_late(self, transfer: Transfer, success: bool, request: ReqContext) -> None:
        """A completion that comes again, or after a reset: nothing changes."""
        if transfer.is_store:
            self._complete_store(transfer.keys, request, success, transfer)
        else:
            self._complete_load(transfer.keys, request, transfer)

    @rule(keys=some_keys, request=REQUESTS)
    def touch(self, keys: list[OffloadKey], request: ReqContext) -> None:
        """Any keys may be touched; only the order changes."""
        self._touch(keys, request)

    @rule(key=key_bundle, request=REQUESTS)
    def lookup(self, key: OffloadKey, request: ReqContext) -> None:
        """A lookup says what the key is: ``MISS``, ``HIT_PENDING`` or ``HIT``."""
        self._lookup(key, request)

    @precondition(lambda self: spec.free(self.tier) == 0)
    @rule()
    def reset_cache(self) -> None:
        """The manager is as new, and what is in flight does not count any more."""
        self._reset_cache()

    @rule()
    def take_events(self) -> None:
        """Replaying the drained events gives exactly the ready keys; stored and removed alternate for each key."""
        for event in self.manager.take_events():
            if event.kind is EventKind.CLEARED:
                self.told_ready.clear()
            for key in event.keys:
                is_stored = event.kind is EventKind.STORED
                sentence = f"a key is told {event.kind.value} if it was {'not ' * is_stored}ready by the events before"
                expect(self.last_call, f"{sentence}, {shown([key])} too", not is_stored, key in self.told_ready)
                self.told_ready ^= {key}
        ready = shown(sorted(spec.ready(self.tier)))
        expect(self.last_call, "replaying the events gives the ready keys", ready, shown(sorted(self.told_ready)))

    # --- what holds after every rule ---

    @invariant()
    def counter_is_exact(self) -> None:
        """The evictable counter is the number of ready blocks with ref_cnt 0."""
        sentence = "the evictable counter is the number of ready blocks with ref_cnt 0"
        expect(self.last_call, sentence, len(self.tier.idle), self.manager.num_evictable_cache_blocks)

    @invariant()
    def list_is_exact(self) -> None:
        """The evictable list holds exactly those."""
        evictable = getattr(self.manager.policy, "evictable_blocks", None)
        if evictable is not None:
            sentence = "the evictable list holds exactly the ready blocks with ref_cnt 0"
            expect(self.last_call, sentence, shown(sorted(self.tier.idle)), shown(sorted(evictable)))

    @invariant()
    def pool_is_filled(self) -> None:
        """Free and resident blocks fill the pool."""
        num_free = self.manager.num_free_blocks
        if num_free is not None:
            expect(self.last_call, "free and resident blocks fill the pool", spec.free(self.tier), num_free)

    @invariant()
    def lookups_agree(self) -> None:
        """A lookup of any key says what the model says."""
        for key in KEYS:
            self._lookup(key, NO_REQUEST)

    @invariant()
    def blocks_are_as_told(self) -> None:
        """A resident block stays where its store was told it is, and its ref_cnt is the number of its loads."""
        policy = self.manager.policy
        if policy is None:
            return
        for key in sorted(spec.resident(self.tier)):
            block = policy.get(key)
            ref_cnt = -1 if key in self.tier.pending else self.tier.pinned.get(key, 0)
            sentence = f"block id and ref_cnt of {shown([key])} are what the calls made of them"
            actual = None if block is None else (block.block_id, block.ref_cnt)
            expect(self.last_call, sentence, (self.block_ids[key], ref_cnt), actual)

    @invariant()
    def statistics_are_exact(self) -> None:
        """Every counter and gauge is what the history says."""
        stats = self.manager.get_stats()
        if stats is None:
            return
        for name in COUNTERS:
            expect(self.last_call, f"{name} is what was counted", self.counted[name], getattr(stats.counters, name))
        tier = self.tier
        gauges = (tier.capacity, len(tier.pending), len(tier.pinned), len(tier.idle))
        actual = (stats.num_blocks, stats.pending, stats.pinned, stats.idle)
        expect(self.last_call, "capacity, pending, pinned and idle blocks are what is there", gauges, actual)
