"""How requests are turned into calls on a manager, and what is counted."""

import gzip
import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from kvoffload import CPUOffloadingManager, LoadStoreSpec, LookupResult, OffloadKey, PrepareStoreOutput, ReqContext
from kvoffload.contract import as_manager
from kvoffload.replay import run
from kvoffload.replay.results import CallTimes, ReplayResult
from kvoffload.replay.run import BrokenManagerError, replay
from kvoffload.replay.simulate import Simulation, block_key
from kvoffload.replay.synthetic import SyntheticConversations
from kvoffload.replay.traces import TraceFile
from kvoffload.replay.verified import VerifiedManager
from kvoffload.types import NO_REQUEST, make_offload_key
from tests.unit.fakes import Manager024, Manager025, Manager033

TRACES = Path(__file__).parents[2].parent / "shared" / "traces"
CONVERSATION = TRACES / "mooncake_conversation.jsonl.gz"


class Requests:
    """A workload of given requests."""

    progress = 0.0

    def __init__(self, *requests: Sequence[int]) -> None:
        self.requests = requests

    def __iter__(self) -> Iterator[Sequence[int]]:
        return iter(self.requests)


class Recorder(CPUOffloadingManager):
    """Notes every call as text, with block ids instead of keys."""

    def __init__(self, num_blocks: int) -> None:
        super().__init__(num_blocks)
        self.calls: list[str] = []
        self.contexts: list[str] = []
        self.keys: list[OffloadKey] = []
        self._names = {block_key(block_id): str(block_id) for block_id in range(20)}

    def _note(self, call: str, keys: Iterable[OffloadKey], req_context: ReqContext, suffix: str = "") -> None:
        keys = list(keys)
        self.keys.extend(keys)
        self.calls.append(f"{call} {' '.join(self._names[key] for key in keys)}{suffix}")
        self.contexts.append(req_context.req_id)

    def lookup(self, key: OffloadKey, req_context: ReqContext = NO_REQUEST) -> LookupResult:
        self._note("lookup", [key], req_context)
        return super().lookup(key, req_context)

    def prepare_store(
        self, keys: Iterable[OffloadKey], req_context: ReqContext = NO_REQUEST
    ) -> PrepareStoreOutput | None:
        self._note("prepare_store", keys, req_context)
        return super().prepare_store(keys, req_context)

    def complete_store(
        self,
        keys: Iterable[OffloadKey],
        req_context: ReqContext = NO_REQUEST,
        success: bool = True,
        *,
        transfer_id: int | None = None,
    ) -> None:
        self._note("complete_store", keys, req_context, f" of {transfer_id}")
        super().complete_store(keys, req_context, success, transfer_id=transfer_id)

    def prepare_load(self, keys: Iterable[OffloadKey], req_context: ReqContext = NO_REQUEST) -> LoadStoreSpec:
        self._note("prepare_load", keys, req_context)
        return super().prepare_load(keys, req_context)

    def complete_load(
        self, keys: Iterable[OffloadKey], req_context: ReqContext = NO_REQUEST, *, transfer_id: int | None = None
    ) -> None:
        self._note("complete_load", keys, req_context, f" of {transfer_id}")
        super().complete_load(keys, req_context, transfer_id=transfer_id)

    def touch(self, keys: Iterable[OffloadKey], req_context: ReqContext = NO_REQUEST) -> None:
        self._note("touch", keys, req_context)
        super().touch(keys, req_context)


def simulated(num_blocks: int, *requests: Sequence[int], latency: int = 0) -> tuple[Recorder, ReplayResult]:
    """The requests served, without finish()."""
    manager = Recorder(num_blocks)
    simulation = Simulation(manager, ReplayResult("lru"), latency)
    for request in requests:
        simulation.serve(request)
    return manager, simulation.result


# --- the calls ---


def test_a_new_prompt_is_looked_up_to_its_first_miss_and_stored() -> None:
    manager, _ = simulated(4, [1, 2])
    assert manager.calls == ["lookup 1", "prepare_store 1 2", "complete_store 1 2 of 1", "touch 1 2"]


def test_hits_are_loaded_and_the_rest_stored_while_they_are_pinned() -> None:
    manager, _ = simulated(4, [1, 2], [1, 2, 3])
    assert manager.calls[4:] == [
        *("lookup 1", "lookup 2", "lookup 3"),
        *("prepare_load 1 2", "prepare_store 3"),
        *("complete_load 1 2 of 2", "complete_store 3 of 3"),
        "touch 1 2 3",
    ]


def test_a_prompt_that_hits_whole_stores_nothing() -> None:
    manager, _ = simulated(4, [1], [1])
    assert manager.calls[4:] == ["lookup 1", "prepare_load 1", "complete_load 1 of 2", "touch 1"]


def test_a_request_without_blocks_stores_nothing() -> None:
    manager, _ = simulated(4, [])
    assert manager.calls == ["touch "]


def test_a_transfer_completes_as_many_requests_later_as_the_latency_says() -> None:
    manager, _ = simulated(4, [1], [2], [3], latency=2)
    assert [call for call in manager.calls if call.startswith("complete")] == ["complete_store 1 of 1"]
    assert manager.calls[-2:] == ["complete_store 1 of 1", "touch 3"]


def test_a_block_in_flight_is_no_hit() -> None:
    _, result = simulated(4, [1], [1], latency=2)
    assert result.num_hits == 0


def test_every_call_says_for_which_request_it_is() -> None:
    manager, _ = simulated(4, [1], [2], latency=1)
    assert manager.contexts == ["1", "1", "1", "2", "2", "1", "2"]


def test_every_request_computes_its_keys_anew() -> None:
    manager, _ = simulated(4, [1], [1])
    first, second = manager.keys[0], manager.keys[-1]
    assert first == second
    assert first is not second


def test_a_key_has_36_bytes() -> None:
    assert len(block_key(7)) == 36


def test_finish_completes_what_is_in_flight() -> None:
    manager = CPUOffloadingManager(4)
    simulation = Simulation(manager, ReplayResult("lru"), latency=9)
    simulation.serve([1, 2])
    assert (simulation.num_in_flight, manager.num_evictable_cache_blocks) == (1, 0)
    simulation.finish()
    assert (simulation.num_in_flight, manager.num_evictable_cache_blocks) == (0, 2)


def test_a_negative_latency_is_refused() -> None:
    with pytest.raises(ValueError, match="latency is -1; a transfer completes 0 or more requests later"):
        Simulation(CPUOffloadingManager(1), ReplayResult("lru"), latency=-1)


# --- the counts ---


def test_only_hits_that_follow_one_another_from_the_head_count() -> None:
    _, result = simulated(8, [1, 2, 3], [1, 9, 3])
    assert (result.num_hits, result.num_accesses) == (1, 6)


def test_the_hit_rate_is_hits_over_all_block_accesses() -> None:
    assert ReplayResult("lru", num_accesses=8, num_hits=2).hit_rate == 0.25


def test_without_an_access_the_hit_rate_is_zero() -> None:
    assert ReplayResult("lru").hit_rate == 0.0


def test_evicted_blocks_are_counted() -> None:
    _, result = simulated(3, [1, 2], [3, 4])
    assert result.num_evicted == 1


def test_a_prompt_larger_than_the_capacity_is_refused_and_counted() -> None:
    _, result = simulated(2, [1, 2, 3], [1, 2])
    assert (result.num_requests, result.num_refused, result.num_hits) == (2, 1, 0)


def test_every_call_is_timed() -> None:
    _, result = simulated(4, [1, 2], [1, 2, 3])
    assert {name: times.num_calls for name, times in result.times.items()} == {
        "lookup": 4,
        "prepare_load": 1,
        "prepare_store": 2,
        "complete_load": 1,
        "complete_store": 2,
        "touch": 2,
    }


def test_a_percentile_is_a_time_that_was_taken() -> None:
    times = CallTimes()
    times.counts.update({10: 98, 500: 1, 7000: 1})
    assert [times.percentile(percent) for percent in (50, 98, 99, 100)] == [10, 10, 500, 7000]


def test_the_percentile_of_no_call_is_zero() -> None:
    assert CallTimes().percentile(99) == 0


# --- whole replays ---


def test_every_policy_gets_a_new_manager() -> None:
    workload = Requests([1, 2], [1, 2])
    assert [replay(workload, "lru", 4).num_hits for _ in range(2)] == [2, 2]


def test_after_every_request_the_caller_is_told() -> None:
    told: list[None] = []
    replay(Requests([1], [2], [3]), "lru", 4, on_request=lambda: told.append(None))
    assert len(told) == 3


def test_a_verified_replay_counts_what_an_unverified_one_counts() -> None:
    workload = SyntheticConversations(60, num_recent=8)
    counts = [
        (result.num_hits, result.num_evicted, result.num_refused)
        for result in (replay(workload, "lru", 250, latency=3, verify=verify) for verify in (False, True))
    ]
    assert counts[0] == counts[1]
    assert all(counts[0])


def test_a_verified_replay_says_how_many_calls_were_checked() -> None:
    assert replay(Requests([1, 2]), "lru", 4, verify=True).num_verified == 4


def test_every_key_is_compared_every_500_requests_and_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[int] = []
    monkeypatch.setattr(VerifiedManager, "verify_all", lambda self: compared.append(self.num_calls))
    result = replay(SyntheticConversations(510, num_recent=4), "lru", 50, verify=True)
    assert len(compared) == 2
    assert compared[-1] == result.num_verified


class ForgetsLoads(CPUOffloadingManager):
    """Leaves every block pinned that was ever loaded."""

    def complete_load(
        self, keys: Iterable[OffloadKey], req_context: ReqContext = NO_REQUEST, *, transfer_id: int | None = None
    ) -> None:
        pass


class SeesWhatIsNotThere(CPUOffloadingManager):
    """Finds every key ready."""

    def lookup(self, key: OffloadKey, req_context: ReqContext = NO_REQUEST) -> LookupResult:
        return LookupResult.HIT


def test_blocks_left_in_flight_at_the_end_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "CPUOffloadingManager", ForgetsLoads)
    with pytest.raises(BrokenManagerError) as caught:
        replay(Requests([1, 2], [1, 2]), "lru", 4)
    assert str(caught.value) == (
        "Policy lru, after the last completion: 2 blocks are free and 0 evictable, 2 together; with nothing in flight "
        "it is the whole capacity, 4. Replay with --verify to see the call that went wrong."
    )


def test_a_call_that_raises_is_an_error_that_names_the_request(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "CPUOffloadingManager", SeesWhatIsNotThere)
    with pytest.raises(BrokenManagerError, match=r"^Policy lru, request 1: prepare_load was given key .* not resident"):
        replay(Requests([1]), "lru", 4)


def test_a_broken_clause_is_an_error_that_names_request_and_clause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "CPUOffloadingManager", SeesWhatIsNotThere)
    with pytest.raises(BrokenManagerError, match=r"^Policy lru, request 1; the last calls up to it:\n\nlookup-truth: "):
        replay(Requests([1]), "lru", 4, verify=True)


def test_the_keys_are_those_of_the_trace_s_description() -> None:
    zero = bytes.fromhex("5feceb66ffc86f38d952786c6d696c79c2dbc239dd4e91b46729d73a27fb57e9")
    assert block_key(0) == make_offload_key(zero, 0)


# --- what an independent simulation found on a real trace ---


@pytest.mark.skipif(not CONVERSATION.exists(), reason=f"the trace {CONVERSATION} is not there")
@pytest.mark.parametrize(("num_blocks", "percent"), [(9_140, 19.6), (36_558, 34.5)])
def test_lru_hits_as_often_as_an_independent_simulation(num_blocks: int, percent: float) -> None:
    result = replay(TraceFile(CONVERSATION), "lru", num_blocks)
    assert 100 * result.hit_rate == pytest.approx(percent, abs=0.1)


@pytest.mark.skipif(not CONVERSATION.exists(), reason=f"the trace {CONVERSATION} is not there")
def test_arc_hits_as_often_as_an_independent_simulation() -> None:
    result = replay(TraceFile(CONVERSATION), "arc", 9_140)
    assert 100 * result.hit_rate == pytest.approx(21.2, abs=0.1)


@pytest.mark.skipif(not CONVERSATION.exists(), reason=f"the trace {CONVERSATION} is not there")
def test_the_run_form_and_the_original_form_of_a_trace_are_the_same(tmp_path: Path) -> None:
    runs = TraceFile(CONVERSATION, num_requests=500)
    original = tmp_path / "original.jsonl.gz"
    original.write_bytes(gzip.compress(b"".join(json.dumps({"hash_ids": ids}).encode() + b"\n" for ids in runs)))
    assert list(TraceFile(original)) == list(runs)


@pytest.mark.parametrize("manager", [Manager024, Manager025, Manager033])
def test_a_manager_of_another_library_is_driven_and_verified(manager: type[Any]) -> None:
    workload = [[1, 2], [1, 2, 3], [5, 6], [7], [1, 2]]
    plain, verified = ReplayResult("theirs"), ReplayResult("theirs")
    for driven, result in ((as_manager(manager(4)), plain), (VerifiedManager(manager(4), 4), verified)):
        simulation = Simulation(driven, result, latency=1)
        for block_ids in workload:
            simulation.serve(block_ids)
        simulation.finish()
        assert driven.num_free_blocks + driven.num_evictable_cache_blocks == 4
    assert (plain.num_hits, plain.num_evicted) == (verified.num_hits, verified.num_evicted)
    assert plain.num_evicted > 0
