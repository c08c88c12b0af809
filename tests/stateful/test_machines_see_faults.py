"""One fault each, put into our manager, LRU or ARC: a machine turns red by itself, and Hypothesis does the rest.

Independent of the lockstep and of the walks of ``check_manager``: the last tests show that none of it is even imported.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterable, Set
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, reproduce_failure, seed, settings
from hypothesis.database import InMemoryExampleDatabase
from hypothesis.stateful import RuleBasedStateMachine, run_state_machine_as_test

from kvoffload import (
    ARCCachePolicy,
    BlockStatus,
    CachePolicy,
    CPUOffloadingManager,
    EventKind,
    LRUCachePolicy,
    OffloadingError,
    OffloadKey,
)
from kvoffload.contract.stateful import ManagerStateMachine, PolicyStateMachine
from kvoffload.transfers import Transfers
from kvoffload_spec.order import ORDERS
from tests.stateful.profile import machine_settings

NUM_EXAMPLES = 1000
Victims = list[tuple[OffloadKey, BlockStatus]]


class LruManager(ManagerStateMachine):
    make = staticmethod(lambda num_blocks: CPUOffloadingManager(num_blocks, "lru", enable_events=True))
    order = staticmethod(ORDERS["lru"])


class ArcManager(ManagerStateMachine):
    make = staticmethod(lambda num_blocks: CPUOffloadingManager(num_blocks, "arc", enable_events=True))
    order = staticmethod(ORDERS["arc"])


class LruPolicy(PolicyStateMachine):
    make = staticmethod(LRUCachePolicy)
    order = staticmethod(ORDERS["lru"])


class ArcPolicy(PolicyStateMachine):
    make = staticmethod(ARCCachePolicy)
    order = staticmethod(ORDERS["arc"])


# --- the faults: what stands in for a method, given the method ---

Method = Callable[..., Any]


def counter_stays_when_a_block_is_pinned(prepare_load: Method) -> Method:
    def faulty(self: CPUOffloadingManager, *args: Any) -> Any:
        counter = self._num_evictable_cache_blocks
        spec = prepare_load(self, *args)
        self._num_evictable_cache_blocks = counter
        return spec

    return faulty


def counter_survives_a_reset(reset_cache: Method) -> Method:
    def faulty(self: CPUOffloadingManager) -> None:
        counter = self._num_evictable_cache_blocks
        reset_cache(self)
        self._num_evictable_cache_blocks = counter

    return faulty


def named_keys_are_evicted(evict: Method) -> Method:
    return lambda self, n, protected: evict(self, n, set())


def loads_are_released_twice(unpin: Method) -> Method:
    def faulty(self: CPUOffloadingManager, blocks: dict[OffloadKey, BlockStatus]) -> None:
        for block in blocks.values():
            block.ref_cnt -= block.ref_cnt > 1
        unpin(self, blocks)

    return faulty


def failed_store_keeps_its_block(free: Method) -> Method:
    return lambda self, block_ids: None


def every_event_is_told_twice(announce: Method) -> Method:
    def faulty(self: CPUOffloadingManager, kind: EventKind, keys: Iterable[OffloadKey] = ()) -> None:
        keys = tuple(keys)
        announce(self, kind, keys)
        announce(self, kind, keys)

    return faulty


def transfer_ids_start_again_after_a_reset(clear: Method) -> Method:
    def faulty(self: Transfers) -> None:
        clear(self)
        self._next_id = 1

    return faulty


def stale_completions_count_as_nameless(complete_store: Method) -> Method:
    def faulty(self: CPUOffloadingManager, *args: Any, transfer_id: int | None = None) -> None:
        is_stale = transfer_id is not None and not self._transfers.is_outstanding(transfer_id)
        complete_store(self, *args, transfer_id=None if is_stale else transfer_id)

    return faulty


def evictions_are_not_counted(evict: Method) -> Method:
    def faulty(self: CPUOffloadingManager, *args: Any) -> Any:
        num_evicted = self._counters.blocks_evicted
        evicted = evict(self, *args)
        self._counters.blocks_evicted = num_evicted
        return evicted

    return faulty


def hopeless_stores_ask_the_policy(prepare_store: Method) -> Method:
    def faulty(self: CPUOffloadingManager, keys: Iterable[OffloadKey], *args: Any) -> Any:
        keys = list(keys)
        self._policy.evict(len(keys) + self.num_evictable_cache_blocks, set(keys))
        return prepare_store(self, keys, *args)

    return faulty


def touch_goes_head_first(touch: Method) -> Method:
    return lambda self, keys, *args: touch(self, list(keys)[::-1], *args)


def touch_forgets_who_used_the_block(touch: Method) -> Method:
    return lambda self, keys, req_context: touch(self, keys)


def victims_go_before_they_are_enough(evict: Method) -> Method:
    def faulty(self: CachePolicy, n: int, protected: Set[OffloadKey]) -> Victims | None:
        victims: Victims = []
        while len(victims) < n:
            victim = evict(self, 1, protected)
            if victim is None:
                return None
            victims += victim
        return victims

    return faulty


def hook_is_left_out(hook: Method) -> Method:
    return lambda self, key: None


FAULTS: list[tuple[type[RuleBasedStateMachine], type, str, Callable[[Method], Method]]] = [
    (LruManager, CPUOffloadingManager, "prepare_load", counter_stays_when_a_block_is_pinned),
    (LruManager, CPUOffloadingManager, "reset_cache", counter_survives_a_reset),
    (LruManager, CPUOffloadingManager, "_evict", named_keys_are_evicted),
    (LruManager, CPUOffloadingManager, "_unpin", loads_are_released_twice),
    (LruManager, CPUOffloadingManager, "_free", failed_store_keeps_its_block),
    (LruManager, CPUOffloadingManager, "_announce", every_event_is_told_twice),
    (LruManager, Transfers, "clear", transfer_ids_start_again_after_a_reset),
    (LruManager, CPUOffloadingManager, "complete_store", stale_completions_count_as_nameless),
    (LruManager, CPUOffloadingManager, "_evict", evictions_are_not_counted),
    (LruManager, CPUOffloadingManager, "prepare_store", hopeless_stores_ask_the_policy),
    (LruManager, LRUCachePolicy, "touch", touch_goes_head_first),
    (LruPolicy, LRUCachePolicy, "touch", touch_goes_head_first),
    (LruPolicy, LRUCachePolicy, "evict", victims_go_before_they_are_enough),
    (LruPolicy, LRUCachePolicy, "mark_non_evictable", hook_is_left_out),
    (ArcManager, ARCCachePolicy, "mark_non_evictable", hook_is_left_out),
    (ArcPolicy, ARCCachePolicy, "touch", touch_forgets_who_used_the_block),
    (ArcPolicy, ARCCachePolicy, "evict", victims_go_before_they_are_enough),
    (ArcPolicy, ARCCachePolicy, "_forget_old_ghosts", lambda _: lambda self: None),
]


@pytest.mark.parametrize(
    ("machine", "owner", "method", "fault"),
    FAULTS,
    ids=[f"{machine.__name__}-{owner.__name__}-{method}-{fault.__name__}" for machine, owner, method, fault in FAULTS],
)
def test_fault_turns_the_machine_red(
    machine: type[RuleBasedStateMachine],
    owner: type,
    method: str,
    fault: Callable[[Method], Method],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(owner, method, fault(getattr(owner, method)))
    quick = settings(machine_settings(), max_examples=NUM_EXAMPLES, phases=[Phase.generate], derandomize=True)
    with pytest.raises((AssertionError, LookupError, OffloadingError)):
        run_state_machine_as_test(machine, settings=quick)


# --- what Hypothesis does with a failure ---


class Counting(LruManager):
    """Counts its histories."""

    num_histories = 0

    def teardown(self) -> None:
        type(self).num_histories += 1


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> type[Counting]:
    """A machine that fails."""
    fault = counter_stays_when_a_block_is_pinned(CPUOffloadingManager.prepare_load)
    monkeypatch.setattr(CPUOffloadingManager, "prepare_load", fault)

    class Broken(Counting):
        pass

    return Broken


def program(machine: type[RuleBasedStateMachine], chosen: settings) -> list[str]:
    """What Hypothesis prints of the failure, without the calls of the invariants."""
    with pytest.raises(AssertionError, match="the evictable counter is the number of ready blocks") as failure:
        run_state_machine_as_test(machine, settings=chosen)
    calls = [note for note in failure.value.__notes__ if " = state." in note or note.startswith("state.")]
    return [call for call in calls if not call.endswith(("exact()", "filled()", "agree()", "told()"))]


def test_a_failure_is_shrunk_to_a_few_calls_that_end_with_the_faulty_one(broken: type[Counting]) -> None:
    chosen = settings(machine_settings(), derandomize=True, database=None)
    calls = program(broken, chosen)
    rules = [call.partition("state.")[2].partition("(")[0] for call in calls]
    assert len(rules) <= chosen.stateful_step_count // 3, rules
    assert rules[0] == "begin"
    assert rules[-2] in ("load_what_is_ready", "prepare_load")


def test_the_second_run_replays_the_failure_from_the_example_database(broken: type[Counting]) -> None:
    kept = settings(machine_settings(), derandomize=False, database=InMemoryExampleDatabase())
    first = program(broken, kept)
    broken.num_histories = 0
    assert program(broken, settings(kept, phases=[Phase.reuse])) == first
    assert broken.num_histories <= 3


def test_a_printed_blob_reproduces_the_failure(broken: type[Counting]) -> None:
    printing = settings(machine_settings(), derandomize=True, database=None, print_blob=True)
    with pytest.raises(AssertionError) as failure:
        run_state_machine_as_test(broken, settings=printing)
    (note,) = [note for note in failure.value.__notes__ if "@reproduce_failure" in note]
    version, blob = note.partition("@reproduce_failure(")[2].partition(")")[0].split(", ")
    again = reproduce_failure(version.strip("'"), blob.removeprefix("b").strip("'").encode())(broken)
    broken.num_histories = 0
    with pytest.raises(AssertionError, match="the evictable counter is the number of ready blocks"):
        run_state_machine_as_test(again, settings=settings(machine_settings(), derandomize=False, database=None))
    assert broken.num_histories == 1


def test_the_same_seed_gives_the_same_failure(broken: type[Counting]) -> None:
    unshrunk = settings(machine_settings(), derandomize=False, database=None, phases=[Phase.generate])
    assert program(seed(7)(broken), unshrunk) == program(seed(7)(broken), unshrunk)


# --- independence ---


def test_the_machines_import_nothing_else_of_the_contract_library() -> None:
    script = "import kvoffload.contract.stateful, sys; print(*(name for name in sys.modules if 'contract' in name))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert [name for name in done.stdout.split() if not name.startswith("kvoffload.contract.stateful")] == [
        "kvoffload.contract"
    ]


def test_these_files_import_nothing_else_of_the_contract_library() -> None:
    files = ("test_manager", "test_policies", "test_machines_see_faults", "profile")
    texts = [(Path(__file__).parent / f"{file}.py").read_text() for file in files]
    imports = [line for text in texts for line in text.splitlines() if line.startswith("from kvoffload.contract")]
    assert set(imports) == {
        "from kvoffload.contract.stateful import ManagerStateMachine",
        "from kvoffload.contract.stateful import PolicyStateMachine",
        "from kvoffload.contract.stateful import ManagerStateMachine, PolicyStateMachine",
    }
