"""Targets that are built in unusual ways: none of them is misjudged for it, and none ends the check by itself."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from kvoffload import BlockStatus, CPUOffloadingManager, LRUCachePolicy, OffloadKey
from kvoffload.cli import app
from kvoffload.contract import Verdict, check_manager, check_policy
from kvoffload.contract.targets.resolve import resolve
from kvoffload.contract.targets.target import TargetError


class Proxy:
    """Passes every call on to a policy."""

    def __init__(self, policy: Any) -> None:
        self.policy = policy

    def __getattr__(self, name: str) -> Any:
        return getattr(self.policy, name)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return Proxy(copy.deepcopy(self.policy, memo))


class TakesTheRequest(LRUCachePolicy):
    """Is told at each insert for which request it is made."""

    def insert(self, key: OffloadKey, block: BlockStatus, req_context: Any = None) -> None:
        super().insert(key, block)


class WithItsOwnEvict(LRUCachePolicy):
    """Has ``evict`` as an attribute of the object."""

    def __init__(self, cache_capacity: int) -> None:
        super().__init__(cache_capacity)
        self.__dict__["evict"] = super().evict

    def __deepcopy__(self, memo: dict[int, Any]) -> WithItsOwnEvict:
        made = WithItsOwnEvict(self.cache_capacity)
        made.blocks.update(self.blocks)
        made.evictable_blocks.update(self.evictable_blocks)
        return made


class WithoutTouch:
    """Has every call but ``touch``."""

    def __init__(self, cache_capacity: int) -> None:
        inner = LRUCachePolicy(cache_capacity)
        self.inner = inner

    def get(self, key: OffloadKey) -> Any:
        return self.inner.get(key)

    def insert(self, key: OffloadKey, block: BlockStatus) -> None:
        self.inner.insert(key, block)

    def remove(self, key: OffloadKey) -> None:
        self.inner.remove(key)

    def evict(self, n: int, protected: set[OffloadKey]) -> Any:
        return self.inner.evict(n, protected)

    def mark_evictable(self, key: OffloadKey) -> None:
        self.inner.mark_evictable(key)

    def mark_non_evictable(self, key: OffloadKey) -> None:
        self.inner.mark_non_evictable(key)


@pytest.mark.parametrize("inner", [TakesTheRequest, LRUCachePolicy])
def test_two_proxies_of_one_class_are_called_each_as_its_policy_takes_it(inner: type[LRUCachePolicy]) -> None:
    report = check_policy(lambda capacity: Proxy(inner(capacity)), order="lru", budget=120)
    assert not report.broken, report


def test_a_method_of_the_object_itself_outlives_a_fault_that_was_put_in_its_place() -> None:
    report = check_manager(lambda n: CPUOffloadingManager(n, WithItsOwnEvict, enable_events=True), budget=200)
    assert not report.broken, report


def test_a_policy_without_touch_does_not_claim_it_and_is_kept() -> None:
    report = check_policy(WithoutTouch)
    assert report.verdict is Verdict.KEPT, report
    assert "touch" in {capability.id for capability in report.not_claimed}


def test_a_module_that_ends_the_process_is_exit_code_2(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "ends_at_once.py").write_text("import sys\nsys.exit(0)\n")
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(app, ["check", "ends_at_once:Policy"])
    assert result.exit_code == 2 and "cannot be imported: SystemExit" in result.stderr


def test_a_factory_that_ends_the_process_cannot_be_checked() -> None:
    def make(capacity: int) -> LRUCachePolicy:
        raise SystemExit(0)

    with pytest.raises(TargetError, match="raised SystemExit when it was made for 2 blocks"):
        check_policy(make)


def test_a_policy_that_raises_only_when_it_is_large_does_not_scale() -> None:
    class RefusesMany(LRUCachePolicy):
        def insert(self, key: OffloadKey, block: BlockStatus) -> None:
            if len(self.blocks) > 100:
                raise MemoryError("too many")
            super().insert(key, block)

    report = check_policy(RefusesMany, capabilities=["scales"], budget=120)
    assert list(report.broken) == ["evict-scales"]
    assert report.broken["evict-scales"].actual == "MemoryError at 256 blocks: too many"


def test_an_event_of_an_unknown_kind_is_of_another_type() -> None:
    class Event:
        kind = "stored"
        keys = ()

    class TellsLowerCase(CPUOffloadingManager):
        def take_events(self) -> Any:
            return [Event() for _ in super().take_events()]

    report = check_manager(lambda n: TellsLowerCase(n, enable_events=True), budget=120)
    assert report.broken["events-once"].expected == "an event whose kind is named STORED, REMOVED, CLEARED"


class PassesKeywordsOn(CPUOffloadingManager):
    def __init__(self, num_blocks: int, **options: Any) -> None:
        super().__init__(num_blocks, **options)


class TakesNoEvents(CPUOffloadingManager):
    def __init__(self, num_blocks: int, **options: Any) -> None:
        if options:
            raise TypeError(f"TakesNoEvents got {options}")
        super().__init__(num_blocks)


def test_a_manager_that_passes_keywords_on_is_made_with_events() -> None:
    assert "events" in resolve(f"{__name__}:PassesKeywordsOn").claims
    assert resolve(f"{__name__}:PassesKeywordsOn").origin.arguments == ", enable_events=True"


def test_a_manager_that_refuses_the_keyword_is_made_without_it() -> None:
    target = resolve(f"{__name__}:TakesNoEvents")
    assert "events" not in target.claims and target.origin.arguments == ""
