"""What a lockstep judges, and by whose word: the subject's mistakes are told, and our own surface."""

from __future__ import annotations

import random
from dataclasses import fields
from types import SimpleNamespace
from typing import Any

import pytest

from kvoffload import BlockStatus, CachePolicy, CPUOffloadingManager, LRUCachePolicy, OffloadKey
from kvoffload.contract import Report, Verdict, check_manager, check_policy
from kvoffload.contract.calls import operations as ops
from kvoffload.contract.lockstep.base import Watch
from kvoffload.contract.lockstep.start import start
from kvoffload.contract.lockstep.violation import ContractViolation
from kvoffload.contract.search.search import search
from kvoffload.contract.targets.target import Target
from kvoffload.stats import OffloadingCounters, OffloadingStats
from tests.stateful.seeded.manager_stores import AsksWhenThereIsNoHope

a, b, c = ops.keys("abc")


def violation_of(target: Target, *history: ops.Operation, capacity: int = 2) -> ContractViolation:
    """What this history breaks."""
    lockstep = start(target, capacity, Watch())
    with pytest.raises(ContractViolation) as broken:
        for op in history:
            lockstep.apply(op)
        lockstep.finish()
    return broken.value


def texts(violation: ContractViolation) -> tuple[str, str, str]:
    return violation.clause.id, violation.expected, violation.actual


# --- whose error it is ---


def planted(*_: Any, **__: Any) -> Any:
    raise KeyError("ours")


def test_an_error_of_a_managers_judge_is_ours_and_surfaces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kvoffload_spec.transfer.open_load", planted)
    with pytest.raises(KeyError, match="ours"):
        search(Target("manager", CPUOffloadingManager), budget=40)


def test_an_error_of_a_policys_judge_is_ours_and_surfaces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kvoffload_spec.policy.mark_non_evictable", planted)
    with pytest.raises(KeyError, match="ours"):
        search(Target("policy", LRUCachePolicy), budget=40)


class Unhashable(CPUOffloadingManager):
    """Names lists where keys should be."""

    def prepare_store(self, *arguments: Any, **keywords: Any) -> Any:
        output = super().prepare_store(*arguments, **keywords)
        if output is not None:
            output.evicted_keys.append(["no", "key"])  # type: ignore[arg-type]
        return output


def test_an_answer_that_is_not_made_of_keys_is_the_subjects_error() -> None:
    violation = violation_of(Target("manager", Unhashable), ops.PrepareStore((a,), 1))
    assert texts(violation) == ("lookup-truth", "no exception", "TypeError: unhashable type: 'list'")


# --- policies that take no attributes ---


class SlotsPolicy:
    """LRU in an object without ``__dict__``."""

    __slots__ = ("blocks", "evictable_blocks")

    def __init__(self, cache_capacity: int) -> None:
        self.clear()

    def clear(self) -> None:
        self.blocks: dict[OffloadKey, BlockStatus] = {}
        self.evictable_blocks: dict[OffloadKey, None] = {}

    def get(self, key: OffloadKey) -> BlockStatus | None:
        return self.blocks.get(key)

    def insert(self, key: OffloadKey, block: BlockStatus) -> None:
        self.blocks[key] = block

    def on_store_miss(self, keys: Any, req_context: Any) -> None:
        pass

    def remove(self, key: OffloadKey) -> None:
        del self.blocks[key]
        self.evictable_blocks.pop(key, None)

    def touch(self, keys: Any, req_context: Any) -> None:
        for key in reversed(list(keys)):
            if key in self.evictable_blocks:
                del self.evictable_blocks[key]
                self.evictable_blocks[key] = None

    def evict(self, n: int, protected: set[OffloadKey]) -> list[tuple[OffloadKey, BlockStatus]] | None:
        victims = [key for key in self.evictable_blocks if key not in protected][:n]
        if len(victims) < n:
            return None
        pairs = [(key, self.blocks[key]) for key in victims]
        for key in victims:
            self.remove(key)
        return pairs

    def mark_evictable(self, key: OffloadKey) -> None:
        self.evictable_blocks[key] = None

    def mark_non_evictable(self, key: OffloadKey) -> None:
        del self.evictable_blocks[key]


class Unwatchable(SlotsPolicy):
    """An object whose class cannot be changed either."""

    __slots__ = ()

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "__class__":
            raise TypeError("fixed")
        super().__setattr__(name, value)


def check_slots(manager: type[CPUOffloadingManager], policy: Any, budget: int = 300) -> Report:
    return check_manager(lambda n: manager(n, policy, enable_events=True), order="lru", budget=budget)


def test_a_policy_with_slots_is_watched_and_faulted() -> None:
    report = check_slots(CPUOffloadingManager, SlotsPolicy)
    assert report.verdict is Verdict.KEPT, report


def test_a_guard_that_asks_a_policy_with_slots_is_told() -> None:
    assert list(check_slots(AsksWhenThereIsNoHope, SlotsPolicy).broken) == ["store-guarded"]


def test_what_cannot_be_watched_is_inconclusive_and_never_kept() -> None:
    report = check_slots(AsksWhenThereIsNoHope, Unwatchable, budget=40)
    assert report.verdict is Verdict.INCONCLUSIVE
    assert "refused by the guard" in str(report) and "fault in the policy" in str(report)


# --- what is judged by our own word ---


@pytest.mark.parametrize("missing", [counter.name for counter in fields(OffloadingCounters)])
def test_a_counter_that_is_not_there_breaks_stats_exact(missing: str) -> None:
    class Uncounted(CPUOffloadingManager):
        def get_stats(self) -> OffloadingStats:
            stats = super().get_stats()
            left = {name: getattr(stats.counters, name) for name in (*vars_of(stats.counters), "lookups")}
            left.pop(missing)
            counters: Any = SimpleNamespace(**left)
            return OffloadingStats(counters, stats.num_blocks, stats.pending, stats.pinned, stats.idle)

    violation = violation_of(Target("manager", Uncounted), ops.Lookup(a))
    assert (violation.clause.id, violation.actual) == ("stats-exact", f"no {missing}")


def vars_of(counters: OffloadingCounters) -> tuple[str, ...]:
    return tuple(counter.name for counter in fields(counters))


def test_a_block_that_says_wrongly_that_it_is_ready_breaks_lookup_truth(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(BlockStatus, "is_ready", True)
    violation = violation_of(Target("manager", CPUOffloadingManager), ops.PrepareStore((a,), 1))
    assert texts(violation) == ("lookup-truth", f"is_ready of {a!r} is False", f"is_ready of {a!r} is True")


class TellsNothing(CPUOffloadingManager):
    """Its policy has the blocks, and its lookup misses them all."""

    def lookup(self, key: OffloadKey, *arguments: Any) -> Any:
        return super().lookup(OffloadKey(b"another"), *arguments)


def test_the_end_of_a_history_looks_up_what_no_call_of_it_did() -> None:
    violation = violation_of(Target("manager", TellsNothing), ops.PrepareStore((a,), 1))
    assert texts(violation) == ("lookup-truth", "HIT_PENDING", "MISS")
    assert [type(step.op).__name__ for step in violation.history] == ["PrepareStore", "Lookup"]


def test_a_lookup_that_was_added_at_the_end_is_shortened_to_an_end() -> None:
    violation = search(Target("manager", TellsNothing)).violation
    assert violation is not None
    assert [type(step.op).__name__ for step in violation.history] == ["PrepareStore", "Lookup"]


# --- what is blamed ---


class LoadsTwiceAndLosesABlock(CPUOffloadingManager):
    """Pins the first key of a load once too often, and forgets the last one."""

    def prepare_load(self, keys: Any, *arguments: Any) -> Any:
        named = list(keys)
        spec = super().prepare_load(named, *arguments)
        first = self._policy.get(named[0])
        assert first is not None
        first.ref_cnt += 1
        self._policy.remove(named[-1])
        return spec


@pytest.mark.parametrize("named", [(a, b), (b, a)])
def test_of_several_differences_the_cause_is_blamed_whichever_key_was_named_first(named: Any) -> None:
    stored = ops.PrepareStore(named, 1), ops.CompleteStore(named, transfer=1)
    violation = violation_of(Target("manager", LoadsTwiceAndLosesABlock), *stored, ops.PrepareLoad((a, b), 2))
    assert texts(violation) == ("load-pinned", f"{b!r} is HIT", f"{b!r} is MISS")


class EvictsAtRandom(LRUCachePolicy):
    """Has dice of its own, which every new one throws differently."""

    thrown = random.Random(0)

    def evict(self, n: int, protected: Any) -> Any:
        candidates = [key for key in self.evictable_blocks if key not in protected]
        if len(candidates) < n:
            return None
        pairs = [(key, self.blocks[key]) for key in self.thrown.sample(candidates, n)]
        for key, _ in pairs:
            self.remove(key)
        return pairs


def test_what_is_not_deterministic_is_told_with_the_whole_history() -> None:
    policy: type[CachePolicy] = EvictsAtRandom
    report = check_policy(policy, seed=0)
    assert list(report.broken) == ["deterministic"]
    assert report.broken["deterministic"].history_text
