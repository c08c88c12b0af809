"""A state machine for managers: any calls in any order, and the specification beside the manager.

A rule makes one call and tells the model of it; the invariants compare the two after every rule. The model is
``kvoffload_spec``: ``Tier`` says which keys are pending, idle and pinned, ``Transfers`` which stores and loads are in
flight. Hypothesis chooses the calls, and makes a failure short.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import NoReturn
from unittest.mock import patch

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

from kvoffload import (
    BlockNotFoundError,
    BlockNotReadyError,
    EventKind,
    OffloadingManager,
    OffloadKey,
    ReqContext,
    UnbalancedReleaseError,
)
from kvoffload.contract.stateful.given import KEYS, REQUESTS, equal, expect, shown
from kvoffload_spec import tier as spec
from kvoffload_spec import transfer as flight
from kvoffload_spec.order import Order
from kvoffload_spec.tier import Tier
from kvoffload_spec.transfer import Transfers

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


@dataclass(frozen=True)
class Transfer:
    """A store or a load that was prepared: its number in the model, the manager's id for it, and the keys it names."""

    number: int
    id: int
    keys: tuple[OffloadKey, ...]
    is_store: bool


def _named(transfer: Transfer | None) -> tuple[int | None, int | None]:
    """Its number and its id; a completion that names no transfer has neither."""
    return (None, None) if transfer is None else (transfer.number, transfer.id)


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


class ManagerStateMachine(RuleBasedStateMachine):
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
    order: Callable[[int], Order[OffloadKey]] | None = None

    @initialize(target=key_bundle, num_blocks=st.integers(0, 4), one_shot=st.booleans())
    def begin(self, num_blocks: int, one_shot: bool) -> MultipleResults[OffloadKey]:
        """A new manager, which is given its keys in one-shot iterators, or in lists that the caller uses again."""
        self.manager = self.make(num_blocks)
        self.num_transfers = 0
        self.transfer_ids: set[int] = set()
        self.told_ready: set[OffloadKey] = set()
        self.one_shot = one_shot
        self.last_call = "the start"
        self._start_model(num_blocks)
        return multiple(*KEYS)

    def _start_model(self, num_blocks: int) -> None:
        self.tier: Tier[OffloadKey] = Tier(num_blocks)
        self.transfers: Transfers[OffloadKey] = Transfers()
        self.in_order = None if self.order is None else self.order(num_blocks)
        self.block_ids: dict[OffloadKey, int] = {}
        self.counted: Counter[str] = Counter()

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
        with self._given("touch", keys) as given:
            self.manager.touch(given, request)
        if self.in_order is not None:
            self.in_order = self.in_order.touch(keys, request.req_id)

    @rule(key=key_bundle, request=REQUESTS)
    def lookup(self, key: OffloadKey, request: ReqContext) -> None:
        """A lookup says what the key is: ``MISS``, ``HIT_PENDING`` or ``HIT``."""
        expected = spec.lookup(self.tier, key)
        self.counted[{"MISS": "misses", "HIT_PENDING": "pending_hits", "HIT": "hits"}[expected]] += 1
        actual = self.manager.lookup(key, request).name
        expect(self.last_call, f"a lookup of {shown([key])} says what it is", expected, actual)

    @precondition(lambda self: spec.free(self.tier) == 0)
    @rule()
    def reset_cache(self) -> None:
        """The manager is as new, and what is in flight does not count any more."""
        self.last_call = "reset_cache()"
        self.manager.reset_cache()
        self._start_model(self.tier.capacity)

    @rule()
    def take_events(self) -> None:
        """Replaying the drained events gives exactly the ready keys; stored and removed alternate for each key."""
        for event in self.manager.take_events():
            if event.kind is EventKind.CLEARED:
                self.told_ready.clear()
            for key in event.keys:
                is_stored = event.kind is EventKind.STORED
                rule = f"a key is told {event.kind.value} if it was {'not ' * is_stored}ready by the events before"
                expect(self.last_call, f"{rule}, {shown([key])} too", not is_stored, key in self.told_ready)
                self.told_ready ^= {key}
        ready = shown(sorted(spec.ready(self.tier)))
        expect(self.last_call, "replaying the events gives the ready keys", ready, shown(sorted(self.told_ready)))

    # --- what holds after every rule ---

    @invariant()
    def counter_is_exact(self) -> None:
        """The evictable counter is the number of ready blocks with ref_cnt 0."""
        rule = "the evictable counter is the number of ready blocks with ref_cnt 0"
        expect(self.last_call, rule, len(self.tier.idle), self.manager.num_evictable_cache_blocks)

    @invariant()
    def list_is_exact(self) -> None:
        """The evictable list holds exactly those."""
        evictable = getattr(self.manager.policy, "evictable_blocks", None)
        if evictable is not None:
            rule = "the evictable list holds exactly the ready blocks with ref_cnt 0"
            expect(self.last_call, rule, shown(sorted(self.tier.idle)), shown(sorted(evictable)))

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
            self.lookup(key, ReqContext())

    @invariant()
    def blocks_are_as_told(self) -> None:
        """A resident block stays where its store was told it is, and its ref_cnt is the number of its loads."""
        policy = self.manager.policy
        if policy is None:
            return
        for key in spec.resident(self.tier):
            block = policy.get(key)
            ref_cnt = -1 if key in self.tier.pending else self.tier.pinned.get(key, 0)
            rule = f"block id and ref_cnt of {shown([key])} are what the calls made of them"
            actual = None if block is None else (block.block_id, block.ref_cnt)
            expect(self.last_call, rule, (self.block_ids[key], ref_cnt), actual)

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

    # --- the calls, and what the model says of each ---

    @contextmanager
    def _given(self, call: str, keys: Sequence[OffloadKey], how: str = "") -> Iterator[Iterable[OffloadKey]]:
        """Hand the keys to a call, as it may get them. Afterwards the list is the caller's own, and is emptied."""
        self.last_call = f"{call}({shown(keys)}{how})"
        if self.one_shot:
            yield map(equal, keys)
        else:
            given = [equal(key) for key in keys]
            yield given
            expect(self.last_call, "a call leaves the list that it is given as it is", shown(keys), shown(given))
            given.clear()

    def _transfer(self, id: int, keys: Iterable[OffloadKey], is_store: bool) -> Transfer:
        expect(self.last_call, f"transfer id {id} is never given out twice", False, id in self.transfer_ids)
        self.transfer_ids.add(id)
        self.num_transfers += 1
        return Transfer(self.num_transfers, id, tuple(keys), is_store)

    def _prepare_store(self, keys: list[OffloadKey], request: ReqContext) -> Transfer | None:
        new, need = spec.new_keys(self.tier, keys), spec.need(self.tier, keys)
        guarded = self._policy_not_asked() if spec.is_hopeless(self.tier, keys) else nullcontext()
        with guarded, self._given("prepare_store", keys) as given:
            output = self.manager.prepare_store(given, request)
        self.counted["blocks_offered"] += len(new)
        refused = spec.refuses(self.tier, tuple(keys))
        candidates = spec.candidates(self.tier, keys)
        rule = f"a store is refused if and only if it lacks more blocks ({need}) than it may evict {shown(candidates)}"
        expect(
            self.last_call, rule, "a refusal" if refused else "a store", "a refusal" if output is None else "a store"
        )
        if output is None:
            self.counted["stores_refused"] += 1
            return None
        expect(self.last_call, "a store takes the keys that were not resident", shown(new), shown(output.keys_to_store))
        self._evict(keys, need, output.evicted_keys)
        store = self._transfer(output.transfer_id, keys, is_store=True)
        self._take_blocks(new, output.store_spec.block_ids)
        self.tier = spec.prepare_store(self.tier, tuple(keys), frozenset(output.evicted_keys))
        self.transfers = flight.open_store(self.transfers, store.number, new)
        if self.in_order is not None:
            self.in_order = self.in_order.insert(new, request.req_id)
        for answer in (output.keys_to_store, output.evicted_keys):
            answer.clear()  # they are the caller's own
        return store

    def _policy_not_asked(self) -> AbstractContextManager[object]:
        def evict(n: int, protected: object) -> NoReturn:
            raise AssertionError(f"the counter alone shows that evict({n}) must fail: the policy is not asked")

        policy = self.manager.policy
        return nullcontext() if policy is None else patch.object(policy, "evict", evict)

    def _evict(self, keys: list[OffloadKey], need: int, victims: list[OffloadKey]) -> None:
        candidates = spec.candidates(self.tier, keys)
        rule = f"a store evicts as many blocks as it lacks, all of them idle and not named {shown(sorted(candidates))}"
        expect(self.last_call, rule, need, len(candidates.intersection(victims)))
        expect(self.last_call, rule, need, len(victims))
        if self.in_order is not None:
            rule = "the victims are the next ones of the order"
            expect(self.last_call, rule, shown(self.in_order.victims(need, keys)), shown(victims))
            self.in_order = self.in_order.evict(*victims, protected=keys)
        for key in victims:
            del self.block_ids[key]
        self.counted["blocks_evicted"] += need

    def _take_blocks(self, new: tuple[OffloadKey, ...], block_ids: list[int]) -> None:
        expect(self.last_call, "a store has a block for each new key", len(new), len(block_ids))
        self.block_ids.update(zip(new, block_ids, strict=True))
        usable = set(range(self.tier.capacity)).intersection(self.block_ids.values())
        rule = f"resident keys have distinct blocks of the pool {self.block_ids}"
        expect(self.last_call, rule, len(self.block_ids), len(usable))

    def _complete_store(
        self, keys: Sequence[OffloadKey], request: ReqContext, success: bool, store: Transfer | None
    ) -> None:
        number, id = _named(store)
        with self._given("complete_store", keys, f", success={success}, transfer_id={id}") as given:
            self.manager.complete_store(given, request, success, transfer_id=id)
        done = flight.stored(self.transfers, keys, number)
        if store is not None and all(writer != number for writer, _ in self.transfers.writes):
            self.counted["stale_completions"] += 1
        self.counted["blocks_stored" if success else "blocks_failed"] += len(done)
        self.tier = spec.complete_store(self.tier, done, success)
        self.transfers = flight.close_store(self.transfers, done)
        if not success:
            for key in done:
                del self.block_ids[key]
        if self.in_order is not None:
            last_first = tuple(key for key in reversed(dict.fromkeys(keys)) if key in done)
            self.in_order = self.in_order.mark_evictable(*last_first) if success else self.in_order.remove(*last_first)

    def _prepare_load(self, keys: list[OffloadKey], request: ReqContext) -> Transfer | None:
        if not spec.may_load(self.tier, keys):
            unready = next(key for key in keys if spec.lookup(self.tier, key) != "HIT")
            error = BlockNotReadyError if unready in self.tier.pending else BlockNotFoundError
            with self._given("prepare_load", keys) as given:
                self._raises(error, lambda: self.manager.prepare_load(given, request))
            return None
        with self._given("prepare_load", keys) as given:
            output = self.manager.prepare_load(given, request)
        rule = "a load is told the block of each of its keys"
        expect(self.last_call, rule, [self.block_ids[key] for key in keys], output.block_ids)
        load = self._transfer(output.transfer_id, keys, is_store=False)
        self.counted["blocks_loaded"] += len(set(keys))
        if self.in_order is not None:
            pinned = (key for key in dict.fromkeys(keys) if key in self.tier.idle)
            self.in_order = self.in_order.mark_non_evictable(*pinned)
        self.tier = spec.prepare_load(self.tier, keys)
        self.transfers = flight.open_load(self.transfers, load.number, keys)
        return load

    def _complete_load(self, keys: Sequence[OffloadKey], request: ReqContext, load: Transfer | None) -> None:
        number, id = _named(load)
        holds = flight.released(self.transfers, keys, number)
        is_stale = flight.is_stale_load(self.transfers, number)
        with self._given("complete_load", keys, f", transfer_id={id}") as given:
            if not is_stale and {key for _, key in holds} != set(keys):
                self._raises(UnbalancedReleaseError, lambda: self.manager.complete_load(given, request, transfer_id=id))
                return
            self.manager.complete_load(given, request, transfer_id=id)
        if is_stale:
            self.counted["stale_completions"] += 1
            return
        idle_before = self.tier.idle
        self.tier = spec.complete_load(self.tier, keys)
        self.transfers = flight.close_load(self.transfers, holds)
        if self.in_order is not None:
            idle = self.tier.idle - idle_before
            last_first = (key for key in reversed(dict.fromkeys(keys)) if key in idle)
            self.in_order = self.in_order.mark_evictable(*last_first)

    def _raises(self, error: type[Exception], call: Callable[[], object]) -> None:
        came: object = "nothing"
        try:
            call()
        except error as raised:
            came = type(raised).__name__
        expect(self.last_call, "a call that may not be made raises, and changes nothing", error.__name__, came)
