"""Policies and managers shaped like vLLM's from 0.20 to 0.33: kept if they behave, else the right clause."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from kvoffload import EventKind, LookupResult, OffloadKey
from kvoffload.contract import BlockStatus, Verdict, check_manager, check_policy, keys
from kvoffload.contract.calls import operations as ops
from kvoffload.contract.targets.adapters import as_manager, as_policy
from kvoffload.contract.targets.drivers import PolicyDriver
from kvoffload.contract.targets.requests import Request
from kvoffload.contract.targets.target import Target
from tests.unit.fakes import (
    Manager020,
    Manager024,
    Manager025,
    Manager033,
    Policy020,
    Policy024,
    Policy026,
    Policy031,
    Policy033,
    Result,
    Victims,
    first_broken,
)

a, b, c = keys("abc")
r1 = Request("r1")
BUDGET = 50


# --- policies ---


@pytest.mark.parametrize("policy", [Policy020, Policy024, Policy026, Policy031, Policy033])
def test_a_policy_of_each_shape_is_kept(policy: type[Any]) -> None:
    report = check_policy(policy, budget=BUDGET)
    assert report.verdict is Verdict.KEPT, report


class EvictsPinned(Policy020):
    def evict(self, n: int, protected: set[OffloadKey]) -> Victims | None:
        idle = [(key, block) for key, block in self.blocks.items() if block.ref_cnt >= 0 and key not in protected]
        if len(idle) < n:
            return None
        for key, _ in idle[:n]:
            del self.blocks[key]
        return idle[:n]


class ForgetsToUnlist(Policy024):
    def mark_non_evictable(self, key: OffloadKey) -> None:
        pass


class TouchNeedsResidents(Policy026):
    def touch(self, keys: Iterable[OffloadKey], req_context: Any) -> None:  # type: ignore[override]
        for key in keys:
            self.evictable_blocks.move_to_end(key)


class ClearLeavesRanks(Policy031):
    def clear(self) -> None:
        self.chunks.clear()
        self._idle.clear()

    def insert(self, key: OffloadKey, chunk: Any) -> None:
        before = self._ranks.get(key)
        super().insert(key, chunk)
        self._ranks[key] = before or self._ranks[key]


class FinishNeedsResidents(Policy031):
    def on_request_finished(
        self, key_groups: Any, insertion_only_keys: Any, reused_keys: Any, req_context: Any
    ) -> None:
        for group in key_groups:
            for key in group:
                self._ranks[key] = self._ranks[key][0] + 1, 0


class EvictsProtected(Policy033):
    def evict(self, n: int, protected: set[OffloadKey]) -> Victims | None:
        return super().evict(n, protected) or super().evict(n, set())


@pytest.mark.parametrize(
    ("policy", "clause"),
    [
        (EvictsPinned, "evictable-exact"),
        (ForgetsToUnlist, "evictable-exact"),
        (TouchNeedsResidents, "touch-total"),
        (ClearLeavesRanks, "clear-fresh"),
        (FinishNeedsResidents, "touch-total"),
        (EvictsProtected, "evict-protected"),
    ],
)
def test_a_mistake_in_a_policy_of_any_shape_is_the_clause_that_says_so(policy: type[Any], clause: str) -> None:
    assert first_broken(Target("policy", policy)) == clause


def test_hooks_that_a_policy_does_not_have_are_not_called() -> None:
    fitted = as_policy(Policy020(2))
    block = BlockStatus(0, ref_cnt=0)
    fitted.on_store_miss([a], r1)
    fitted.on_request_access([a], r1)
    fitted.insert(a, block, r1)
    fitted.mark_non_evictable(a)
    fitted.mark_evictable(a)
    fitted.on_request_finished([[a]], {a}, set(), r1)
    assert fitted.evict(1, set()) == [(a, block)]


@pytest.mark.parametrize(
    ("policy", "told"),
    [
        (Policy020, set()),
        (Policy024, set()),
        (Policy026, {"touch"}),
        (Policy031, {"touch", "on_store_miss", "on_request_finished"}),
        (Policy033, {"insert", "touch", "on_store_miss", "on_request_access", "on_request_finished"}),
    ],
)
def test_a_policy_is_told_the_request_where_it_takes_it(policy: type[Any], told: set[str]) -> None:
    assert as_policy(policy(2)).takes_request == told


def test_a_flag_with_a_default_is_no_request() -> None:
    class WithFlag(Policy020):
        def touch(self, keys: Iterable[OffloadKey], front: bool = False) -> None:
            assert front is False

    fitted = as_policy(WithFlag(2))
    fitted.touch([a], r1)
    assert fitted.takes_request == set()


def test_a_request_with_a_default_is_told_all_the_same() -> None:
    class WithDefault(Policy020):
        def touch(self, keys: Iterable[OffloadKey], req_ctx: Any = None) -> None:
            assert req_ctx is r1

    as_policy(WithDefault(2)).touch([a], r1)


def test_a_finished_request_tells_which_keys_it_inserted_and_which_it_reused() -> None:
    told: list[Any] = []

    class Told(Policy031):
        def on_request_finished(self, *arguments: Any) -> None:
            told.extend(arguments)

    driver = PolicyDriver(Told(2))
    driver.perform(ops.Insert(b, request="r1"))
    driver.perform(ops.TouchPolicy((a, c), "r1"))
    request = driver.requests["r1"]
    driver.perform(ops.FinishRequest("r1"))
    assert told == [[(b, a, c)], {b}, {a, c}, request]


def test_what_a_request_named_before_a_clear_is_not_told_after_it() -> None:
    told: list[Any] = []

    class Told(Policy031):
        def on_request_finished(self, key_groups: Any, *_: Any) -> None:
            told.extend(key_groups)

    driver = PolicyDriver(Told(2))
    for op in (ops.Insert(a, request="r1"), ops.Clear(), ops.TouchPolicy((b,), "r1"), ops.FinishRequest("r1")):
        driver.perform(op)
    assert told == [(b,)]


# --- managers ---


@pytest.mark.parametrize("manager", [Manager020, Manager024, Manager025, Manager033])
def test_a_manager_of_each_shape_is_kept(manager: type[Any]) -> None:
    report = check_manager(manager, budget=BUDGET)
    assert report.verdict is Verdict.KEPT, report


class EvictsForNothing(Manager020):
    def _make_room(self, need: int, protected: set[OffloadKey]) -> Any:
        return super()._make_room(need + (need > 0), protected) or super()._make_room(need, protected)


class CountsPinned(Manager024):
    def _moves(self, key: OffloadKey, block: BlockStatus, by: int) -> None:
        was_idle = block.ref_cnt == 0
        super()._moves(key, block, by)
        self._num_evictable_cache_blocks += was_idle


class PendingIsHit(Manager025):
    def lookup(self, key: OffloadKey, req_context: Any) -> Any:
        return Result.MISS if self._policy.get(key) is None else Result.HIT


class TellsReservations(Manager033):
    def _insert(self, key: OffloadKey, block: BlockStatus, req_context: Any) -> None:
        super()._insert(key, block, req_context)
        self._tell([key], removed=False)


class NoWayBack(Manager033):
    def reset_cache(self) -> None:
        self._policy.clear()
        self._free = list(range(self._num_blocks))


@pytest.mark.parametrize(
    ("manager", "clause"),
    [
        (EvictsForNothing, "store-refusal"),
        (CountsPinned, "counter-exact"),
        (PendingIsHit, "lookup-truth"),
        (TellsReservations, "events-replay"),
        (NoWayBack, "reset-fresh"),
    ],
)
def test_a_mistake_in_a_manager_of_any_shape_is_the_clause_that_says_so(manager: type[Any], clause: str) -> None:
    assert first_broken(Target("manager", manager)) == clause


@pytest.mark.parametrize(
    ("manager", "untold"),
    [
        (Manager020, {"touch", "complete_load", "complete_store"}),
        (Manager024, set()),
        (Manager025, set()),
        (Manager033, set()),
    ],
)
def test_a_manager_is_told_the_request_where_it_takes_it(manager: type[Any], untold: set[str]) -> None:
    methods = {"lookup", "prepare_store", "complete_store", "prepare_load", "complete_load", "touch"}
    assert methods - as_manager(manager(2)).takes_request == untold


@pytest.mark.parametrize(
    ("manager", "missing", "pending", "ready"),
    [
        (Manager020, "MISS", "MISS", "HIT"),
        (Manager024, "MISS", "HIT_PENDING", "HIT"),
        (Manager025, "MISS", "HIT_PENDING", "HIT"),
    ],
)
def test_a_lookup_is_read_by_name_or_as_false_none_and_true(
    manager: type[Any], missing: str, pending: str, ready: str
) -> None:
    fitted = as_manager(manager(2))
    assert fitted.lookup(a, r1) is LookupResult[missing]
    fitted.prepare_store([a], r1)
    assert fitted.lookup(a, r1) is LookupResult[pending]
    fitted.complete_store([a], r1, success=True, transfer_id=None)
    assert fitted.lookup(a, r1) is LookupResult[ready]


@pytest.mark.parametrize("manager", [Manager020, Manager033])
def test_block_ids_are_read_out_of_an_array_and_out_of_chunk_ids(manager: type[Any]) -> None:
    stored = as_manager(manager(2)).prepare_store([a, b], r1)
    assert stored is not None and stored.store_spec.block_ids == [0, 1]
    assert [type(id) for id in stored.store_spec.block_ids] == [int, int]


def test_events_of_a_generator_are_read_but_for_those_that_concern_no_reader() -> None:
    fitted = as_manager(Manager033(1))
    for key in (a, b):
        fitted.prepare_store([key], r1)
        fitted.complete_store([key], r1, success=True, transfer_id=None)
    told = [(event.kind, event.keys) for event in fitted.take_events()]
    assert told == [(EventKind.STORED, (a,)), (EventKind.REMOVED, (a,)), (EventKind.STORED, (b,))]
    assert fitted.take_events() == []


def test_a_failed_store_is_told_by_keyword_and_a_successful_one_not_at_all() -> None:
    told: list[Any] = []

    class Told(Manager024):
        def complete_store(self, keys: Any, req_context: Any, **keywords: Any) -> None:  # type: ignore[override]
            told.append(keywords)

    fitted = as_manager(Told(1))
    fitted.complete_store([a], r1, success=True, transfer_id=None)
    fitted.complete_store([a], r1, success=False, transfer_id=None)
    assert told == [{}, {"success": False}]
