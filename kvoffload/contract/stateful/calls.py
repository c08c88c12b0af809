"""The calls on a manager, each with what the specification says of it: what has to come, and what is so then."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import NoReturn
from unittest.mock import patch

from kvoffload import (
    BlockNotFoundError,
    BlockNotReadyError,
    OffloadingManager,
    OffloadKey,
    ReqContext,
    UnbalancedReleaseError,
)
from kvoffload.contract.stateful.given import equal, expect, shown
from kvoffload_spec import tier as spec
from kvoffload_spec import transfer as flight
from kvoffload_spec.order import Order
from kvoffload_spec.tier import Tier
from kvoffload_spec.transfer import Transfers


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


class ManagerCalls:
    """A manager, and the model of it: every call is made on the one and told to the other.

    Attributes:
        order: makes the order in which the victims have to go, for so many blocks.
        tier: which keys are pending, idle and pinned.
        transfers: which stores and loads are in flight.
        in_order: the order as it is now, or ``None``.
        block_ids: the block of each resident key, as its store was told.
        counted: the statistics, by name.
        told_ready: what the events taken so far say is ready.
        last_call: the call that was made last, for whoever reads a failure.
    """

    order: Callable[[int], Order[OffloadKey]] | None = None

    def _start(self, manager: OffloadingManager, num_blocks: int, one_shot: bool) -> None:
        self.manager = manager
        self.num_transfers = 0
        self.transfer_ids: set[int] = set()
        self.told_ready: set[OffloadKey] = set()
        self.one_shot = one_shot
        self.last_call = "the start"
        self._start_model(num_blocks)

    def _start_model(self, num_blocks: int) -> None:
        self.tier: Tier[OffloadKey] = Tier(num_blocks)
        self.transfers: Transfers[OffloadKey] = Transfers()
        self.in_order = None if self.order is None else self.order(num_blocks)
        self.block_ids: dict[OffloadKey, int] = {}
        self.counted: Counter[str] = Counter()

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

    def _raises(self, error: type[Exception], call: Callable[[], object]) -> None:
        came: object = "nothing"
        try:
            call()
        except error as raised:
            came = type(raised).__name__
        expect(self.last_call, "a call that may not be made raises, and changes nothing", error.__name__, came)

    # --- stores ---

    def _prepare_store(self, keys: list[OffloadKey], request: ReqContext) -> Transfer | None:
        new, need = spec.new_keys(self.tier, keys), spec.need(self.tier, keys)
        guarded = self._policy_not_asked() if spec.is_hopeless(self.tier, keys) else nullcontext()
        with guarded, self._given("prepare_store", keys) as given:
            output = self.manager.prepare_store(given, request)
        self.counted["blocks_offered"] += len(new)
        if (output is None) != spec.refuses(self.tier, tuple(keys)):
            candidates = shown(sorted(spec.candidates(self.tier, keys)))
            sentence = f"a store is refused if and only if it lacks more blocks ({need}) than it may evict {candidates}"
            expect(self.last_call, sentence, "a store" if output is None else "a refusal", output)
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
        sentence = (
            f"a store evicts as many blocks as it lacks, all of them idle and not named {shown(sorted(candidates))}"
        )
        expect(self.last_call, sentence, need, len(candidates.intersection(victims)))
        expect(self.last_call, sentence, need, len(victims))
        if self.in_order is not None:
            sentence = "the victims are the next ones of the order"
            expect(self.last_call, sentence, shown(self.in_order.victims(need, keys)), shown(victims))
            self.in_order = self.in_order.evict(*victims, protected=keys)
        for key in victims:
            del self.block_ids[key]
        self.counted["blocks_evicted"] += need

    def _take_blocks(self, new: tuple[OffloadKey, ...], block_ids: list[int]) -> None:
        expect(self.last_call, "a store has a block for each new key", len(new), len(block_ids))
        self.block_ids.update(zip(new, block_ids, strict=True))
        usable = set(range(self.tier.capacity)).intersection(self.block_ids.values())
        sentence = f"resident keys have distinct blocks of the pool {self.block_ids}"
        expect(self.last_call, sentence, len(self.block_ids), len(usable))

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

    # --- loads ---

    def _prepare_load(self, keys: list[OffloadKey], request: ReqContext) -> Transfer | None:
        if not spec.may_load(self.tier, keys):
            unready = next(key for key in keys if spec.lookup(self.tier, key) != "HIT")
            error = BlockNotReadyError if unready in self.tier.pending else BlockNotFoundError
            with self._given("prepare_load", keys) as given:
                self._raises(error, lambda: self.manager.prepare_load(given, request))
            return None
        with self._given("prepare_load", keys) as given:
            output = self.manager.prepare_load(given, request)
        sentence = "a load is told the block of each of its keys"
        expect(self.last_call, sentence, [self.block_ids[key] for key in keys], output.block_ids)
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

    # --- the rest ---

    def _touch(self, keys: Sequence[OffloadKey], request: ReqContext) -> None:
        with self._given("touch", keys) as given:
            self.manager.touch(given, request)
        if self.in_order is not None:
            self.in_order = self.in_order.touch(keys, request.req_id)

    def _lookup(self, key: OffloadKey, request: ReqContext) -> None:
        expected = spec.lookup(self.tier, key)
        self.counted[{"MISS": "misses", "HIT_PENDING": "pending_hits", "HIT": "hits"}[expected]] += 1
        actual = self.manager.lookup(key, request).name
        expect(self.last_call, f"a lookup of {shown([key])} says what it is", expected, actual)

    def _reset_cache(self) -> None:
        self.last_call = "reset_cache()"
        self.manager.reset_cache()
        self._start_model(self.tier.capacity)
