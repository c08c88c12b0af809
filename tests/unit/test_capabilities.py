"""What an implementation promises: seen on it, declared by its owner, and shown where it is not claimed."""

from __future__ import annotations

import random
from typing import Any

import pytest

from kvoffload import CPUOffloadingManager, LRUCachePolicy
from kvoffload.contract import Verdict, check_policy
from kvoffload.contract.clauses.capabilities import capabilities_of, claims_of
from kvoffload.contract.targets.target import Target
from tests.unit.fakes import (
    InProcess,
    Manager020,
    Manager024,
    Manager025,
    Manager033,
    Policy020,
    Policy024,
    Policy031,
    Victims,
)

WITHOUT_IDS = {
    "repeated-keys",
    "one-shot",
    "unready-loads",
    "unbalanced-releases",
    "late-completions",
    "order-on-refusal",
    "reset-events",
    "faults",
    "transfer-ids",
    "statistics",
}


def lacks(target: Target) -> set[str]:
    """The capabilities that it does not claim, but for those that only a declaration brings."""
    return {it.id for it in capabilities_of(target.subject)} - target.claims - {"scales", "admission"}


# --- what is seen ---


@pytest.mark.parametrize(
    ("policy", "missing"),
    [
        (LRUCachePolicy, {"requests"}),
        (Policy020, {"clear", "requests"}),
        (Policy024, {"requests"}),
        (Policy031, set()),
        (
            lambda capacity: InProcess(),
            {"get", "clear", "any-touch", "refusals", "repeated-keys", "requests"},
        ),
    ],
)
def test_what_a_policy_shows_is_claimed_and_nothing_else(policy: Any, missing: set[str]) -> None:
    assert lacks(Target("policy", policy)) == missing


@pytest.mark.parametrize(
    ("manager", "missing"),
    [
        (lambda n: CPUOffloadingManager(n, enable_events=True), {"requests"}),
        (lambda n: CPUOffloadingManager(n), {"events", "requests"}),
        (Manager020, WITHOUT_IDS | {"reset", "counter", "list", "pending-lookups", "requests"}),
        (Manager024, WITHOUT_IDS | {"requests"}),
        (lambda n: Manager025(n, enable_events=False), WITHOUT_IDS | {"events", "requests"}),
        (Manager033, WITHOUT_IDS | {"list"}),
    ],
)
def test_what_a_manager_shows_is_claimed_and_nothing_else(manager: Any, missing: set[str]) -> None:
    assert lacks(Target("manager", manager)) == missing


def test_a_list_that_is_not_shown_is_read_off_a_copy() -> None:
    assert "list" in Target("policy", Policy031).claims


def test_a_policy_that_can_be_neither_read_nor_copied_claims_no_list() -> None:
    class Uncopied(Policy031):
        def __deepcopy__(self, memo: object) -> Any:
            raise TypeError("not this one")

    assert "list" not in Target("policy", Uncopied).claims


def test_a_policy_that_cannot_be_made_for_no_block_does_not_claim_it_and_is_kept() -> None:
    class AtLeastOne(LRUCachePolicy):
        def __init__(self, capacity: int) -> None:
            if capacity < 1:
                raise ValueError("at least one")
            super().__init__(capacity)

    report = check_policy(AtLeastOne, budget=50)
    assert report.verdict is Verdict.KEPT, report
    assert "empty" in {it.id for it in report.not_claimed}


# --- what is declared ---


def test_scales_is_claimed_where_it_is_declared_only() -> None:
    assert "scales" not in Target("policy", LRUCachePolicy).claims
    assert "scales" in Target("policy", LRUCachePolicy, capabilities=("scales",)).claims


def test_what_is_assumed_can_be_disclaimed() -> None:
    assert "repeated-keys" in Target("policy", LRUCachePolicy).claims
    assert "repeated-keys" not in Target("policy", LRUCachePolicy, capabilities=("no-repeated-keys",)).claims


def test_what_is_seen_can_be_disclaimed() -> None:
    assert "clear" not in Target("policy", LRUCachePolicy, capabilities=("no-clear",)).claims


def test_what_the_family_does_not_promise_can_be_claimed_all_the_same() -> None:
    assert "repeated-keys" in Target("manager", Manager033, capabilities=("repeated-keys",)).claims


def test_of_two_declarations_the_last_one_counts() -> None:
    claims = claims_of("policy", (), (), ("no-deterministic", "deterministic"))
    assert "deterministic" in claims


def test_an_unknown_capability_is_told_with_the_known_ones() -> None:
    with pytest.raises(ValueError) as caught:
        check_policy(LRUCachePolicy, capabilities=["flies"])
    assert str(caught.value) == (
        "the capability is 'flies'; known of a policy are scales, empty, repeated-keys, deterministic, touch, list, "
        "get, clear, any-touch, refusals, requests, and each with 'no-' before it. Leave it out, or name one."
    )


@pytest.mark.parametrize("name", ["events", "no-events", "no-no-clear", "no-", ""])
def test_a_capability_of_managers_or_of_nobody_is_unknown_of_a_policy(name: str) -> None:
    with pytest.raises(ValueError, match=f"the capability is {name!r}; known of a policy are scales, "):
        check_policy(LRUCachePolicy, capabilities=[name])


def test_to_claim_what_is_seen_not_to_be_there_is_an_error() -> None:
    with pytest.raises(ValueError) as caught:
        check_policy(Policy020, capabilities=["clear"])
    assert str(caught.value) == (
        "the capability 'clear' is declared, which says: it has clear(); it does not show any."
    )


# --- what is not claimed ---


class ClearsNothing(Policy024):
    def clear(self) -> None:
        pass


def test_a_clause_that_is_not_claimed_is_never_failed_and_is_shown_with_its_capability() -> None:
    assert "clear-fresh" in check_policy(ClearsNothing, budget=20).broken
    report = check_policy(ClearsNothing, budget=50, capabilities=["no-clear"])
    assert report.verdict is Verdict.KEPT, report
    assert str(report).endswith("\n  not claimed: scales (evict-scales); clear (clear-fresh)")
    (clause,) = [clause for clause in report.clauses if clause.id == "clear-fresh"]
    assert report.status(clause) == "not claimed"


def test_a_capability_without_a_clause_of_its_own_is_shown_alone() -> None:
    report = check_policy(LRUCachePolicy, budget=1, capabilities=["no-repeated-keys", "no-any-touch"])
    assert str(report).endswith("\n  not claimed: scales (evict-scales); repeated-keys; any-touch (touch-total)")


class ByChance(LRUCachePolicy):
    """Evicts whatever is idle."""

    def evict(self, n: int, protected: Any) -> Victims | None:
        idle = [key for key in self.evictable_blocks if key not in protected]
        if len(idle) < n:
            return None
        chosen = random.sample(idle, n)
        for key in chosen:
            del self.evictable_blocks[key]
        return [(key, self.blocks.pop(key)) for key in chosen]


def test_chance_breaks_deterministic_and_no_other_clause() -> None:
    assert list(check_policy(ByChance, budget=20).broken) == ["deterministic"]


def test_a_policy_that_declares_chance_is_kept() -> None:
    report = check_policy(ByChance, budget=50, capabilities=["no-deterministic"])
    assert report.verdict is Verdict.KEPT, report


class NewestFirst(LRUCachePolicy):
    """An order that nobody knows."""

    def evict(self, n: int, protected: Any) -> Victims | None:
        idle = [key for key in reversed(self.evictable_blocks) if key not in protected][:n]
        if len(idle) < n:
            return None
        for key in idle:
            del self.evictable_blocks[key]
        return [(key, self.blocks.pop(key)) for key in idle]


def test_without_a_declared_order_nothing_about_order_is_checked() -> None:
    report = check_policy(NewestFirst, budget=50)
    assert report.verdict is Verdict.KEPT, report
    assert not [clause.id for clause in report.clauses if clause.id.startswith("order-")]
    assert list(check_policy(NewestFirst, budget=20, order="lru").broken) == ["order-lru"]
