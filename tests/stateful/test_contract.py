"""Our manager and our policy keep every clause of the contract: one search each, one test per clause."""

from collections.abc import Callable
from functools import cache

import pytest
from hypothesis import settings

from kvoffload import CPUOffloadingManager, LRUCachePolicy
from kvoffload.contract import Clause, Report, Verdict, check_manager, check_policy
from kvoffload.contract.clauses import clauses_for


@cache
def policy_report() -> Report:
    return check_policy(
        LRUCachePolicy,
        order="lru",
        capabilities=("scales",),
        budget=settings(),
        name="kvoffload:LRUCachePolicy",
    )


@cache
def manager_report() -> Report:
    return check_manager(
        lambda num_blocks: CPUOffloadingManager(num_blocks, enable_events=True),
        order="lru",
        budget=settings(),
        name="kvoffload:CPUOffloadingManager",
        arguments=", enable_events=True",
    )


def expect_kept(clause: Clause, report: Report) -> None:
    if clause.id in report.broken:
        pytest.fail(str(report.broken[clause.id]), pytrace=False)
    assert clause in report.clauses and clause.id not in report.not_claimed


@pytest.mark.parametrize("clause", clauses_for("policy", "lru"), ids=lambda clause: clause.id)
def test_lru_policy(clause: Clause) -> None:
    expect_kept(clause, policy_report())


@pytest.mark.parametrize("clause", clauses_for("manager", "lru"), ids=lambda clause: clause.id)
def test_manager(clause: Clause) -> None:
    expect_kept(clause, manager_report())


@pytest.mark.parametrize("report", [policy_report, manager_report], ids=["lru_policy", "manager"])
def test_every_call_and_situation_came_up(report: Callable[[], Report]) -> None:
    found = report()
    assert found.verdict != Verdict.INCONCLUSIVE, f"never came up: {', '.join(found.never)}"
