"""LMCache's two families of policies: kept if they behave, else the right clause; checked as a class by the command."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import pytest
from typer.testing import CliRunner

from kvoffload.cli import app
from kvoffload.contract import BlockStatus, check_policy, keys
from kvoffload.contract.targets.adapters import as_policy, family_of
from kvoffload.contract.targets.requests import Request
from kvoffload.contract.targets.resolve import resolve
from kvoffload.contract.targets.target import Target
from tests.unit.fakes import Action, InProcess, MultiProcess, Policy020, first_broken
from tests.unit.quickstart_outputs import steady

a, b, c = keys("abc")
FAMILIES: list[type[Any]] = [InProcess, MultiProcess]
r1 = Request("r1")


class TakesAny(InProcess):
    def get_evict_candidates(self, cache_dict: OrderedDict[Any, Any], num_candidates: int = 1) -> list[Any]:
        return list(cache_dict)[:num_candidates]


class RepeatsItself(InProcess):
    def get_evict_candidates(self, cache_dict: OrderedDict[Any, Any], num_candidates: int = 1) -> list[Any]:
        return (super().get_evict_candidates(cache_dict) * num_candidates)[:num_candidates]


class ForgetsTheFilter(MultiProcess):
    def get_eviction_actions(self, expected_ratio: float, *_: Any, **__: Any) -> list[Action]:
        return super().get_eviction_actions(expected_ratio)


class KeepsRemoved(MultiProcess):
    def on_keys_removed(self, keys: list[Any]) -> None:
        pass

    def get_num_tracked_keys(self) -> int:
        return len(self._order)


class ProposesTooMany(MultiProcess):
    def get_eviction_actions(self, expected_ratio: float, *arguments: Any, **keywords: Any) -> list[Action]:
        return super().get_eviction_actions(expected_ratio * 2, *arguments, **keywords)


@pytest.mark.parametrize(
    ("policy", "clause"),
    [
        (TakesAny, "evictable-exact"),
        (RepeatsItself, "evict-exact"),
        (ForgetsTheFilter, "evictable-exact"),
        (ProposesTooMany, "evict-exact"),
    ],
)
def test_a_mistake_in_either_family_is_the_clause_that_says_so(policy: type[Any], clause: str) -> None:
    assert first_broken(Target("policy", lambda capacity: policy())) == clause


def test_keys_that_are_remembered_for_ever_are_the_clause_that_says_so() -> None:
    assert list(check_policy(lambda capacity: KeepsRemoved(), budget=4).broken) == ["memory-bounded"]


@pytest.mark.parametrize("policy", FAMILIES)
def test_what_neither_family_promises_is_not_claimed(policy: type[Any]) -> None:
    report = check_policy(lambda capacity: policy(), budget=1)
    ruled_out = ["scales", "repeated-keys", "get", "clear", "any-touch", "refusals"]
    assert [it.id for it in report.not_claimed] == ruled_out


@pytest.mark.parametrize("policy", FAMILIES)
def test_protected_keys_stay(policy: type[Any]) -> None:
    fitted = as_policy(policy())
    blocks = {key: BlockStatus(i, ref_cnt=0) for i, key in enumerate((a, b, c))}
    for key, block in blocks.items():
        fitted.insert(key, block, r1)
    assert fitted.evict(2, {b}) == [(a, blocks[a]), (c, blocks[c])]
    assert fitted.evict(1, {b}) is None
    assert fitted.evict(0, set()) == []
    assert fitted.evict(1, set()) == [(b, blocks[b])]


def test_a_pending_key_is_reserved_and_created_once_it_is_ready() -> None:
    told: list[str] = []

    class Told(MultiProcess):
        def on_keys_reserved(self, keys: list[Any]) -> None:
            told.append("reserved")

        def on_keys_created(self, keys: list[Any]) -> None:
            told.append("created")

    fitted = as_policy(Told())
    fitted.insert(a, BlockStatus(0), r1)
    assert told == ["reserved"]
    fitted.mark_evictable(a)
    fitted.mark_evictable(a)
    assert told == ["reserved", "created"]


def test_every_key_of_the_multi_process_family_has_the_salt_that_it_is_asked_for() -> None:
    salts: list[Any] = []

    class Salted(MultiProcess):
        def on_keys_created(self, keys: list[Any]) -> None:
            super().on_keys_created(keys)
            salts.extend(key.cache_salt for key in keys)

        def get_eviction_actions(self, expected_ratio: float, *arguments: Any, **keywords: Any) -> list[Action]:
            salts.append(keywords["cache_salt"])
            return super().get_eviction_actions(expected_ratio, *arguments, **keywords)

    fitted = as_policy(Salted())
    fitted.insert(a, BlockStatus(0, ref_cnt=0), r1)
    fitted.evict(1, set())
    assert salts == ["salt", "salt"]


@pytest.mark.parametrize("policy", FAMILIES)
def test_a_class_of_either_family_is_made_without_a_capacity(policy: type[Any]) -> None:
    assert not family_of(policy).sized and family_of(Policy020) is None
    assert resolve(f"tests.unit.fakes:{policy.__name__}").make(2) is not None


@pytest.mark.parametrize("name", ["InProcess", "MultiProcess"])
def test_a_policy_of_either_family_is_kept_when_the_command_checks_its_class(name: str) -> None:
    result = CliRunner().invoke(app, ["check", f"tests.unit.fakes:{name}", "--budget", "50"])
    assert result.exit_code == 0, result.output
    begin = f"KEPT: tests.unit.fakes:{name}, policy contract N, order not declared: N clauses\n"
    assert steady(result.stdout).startswith(begin)


def test_the_program_of_a_violation_makes_the_policy_out_of_the_class_and_runs() -> None:
    result = CliRunner().invoke(app, ["check", "tests.unit.test_adapters_lmcache:TakesAny", "--budget", "4"])
    assert result.exit_code == 1
    program = result.stdout.split("\n\n")[1]
    assert "  from kvoffload.contract import BlockStatus, as_policy, keys\n" in program
    assert "  policy = as_policy(TakesAny())\n" in program
    exec("\n".join(line[2:] for line in program.splitlines()), {})
