"""Every seeded bug is caught by the clause that names it, and nothing correct is taken for a bug."""

from collections.abc import Iterator
from functools import cache

import pytest
from hypothesis import settings

from kvoffload import CPUOffloadingManager
from kvoffload.contract.clauses import CLAUSES, Subject
from kvoffload.contract.reports.violation import describe_violation
from kvoffload.contract.search.search import search
from kvoffload.contract.targets.target import Target
from kvoffload.policies.factory import CachePolicyFactory
from tests.stateful.parallel import SideBySide
from tests.stateful.seeded import BUGS, CORRECT, SeededBug, Unusual, hunt

BUGS_BY_NAME = {bug.name: bug for bug in BUGS}
UNUSUAL_BY_NAME = {unusual.name: unusual for unusual in CORRECT}


@cache
def broken_without_a_bug(subject: Subject, order: str) -> str | None:
    """The clause that our own policy or manager breaks, and with it whatever bug is seeded in it."""
    policy = CachePolicyFactory.get_cache_policy_cls(order)
    ours = Target("policy", policy, order)
    if subject == "manager":
        ours = Target("manager", lambda num_blocks: CPUOffloadingManager(num_blocks, policy, enable_events=True), order)
    violation = search(ours, budget=40).violation
    return None if violation is None else violation.clause.id


def look(name: str) -> tuple[str | None, str | None]:
    """What our own code breaks, if anything; else the clause that the bug breaks, or how what is correct breaks one."""
    it = BUGS_BY_NAME.get(name) or UNUSUAL_BY_NAME[name]
    ours = broken_without_a_bug(it.subject, it.target.order or "lru")
    if ours is not None:
        return ours, None
    if isinstance(it, SeededBug):
        return None, hunt(it, 3 * settings().max_examples).clause
    violation = search(it.target, budget=120).violation
    return None, None if violation is None else describe_violation(violation)


@pytest.fixture(scope="module")
def found(request: pytest.FixtureRequest) -> Iterator[SideBySide[str, tuple[str | None, str | None]]]:
    ids = [item.callspec.id for item in request.session.items if hasattr(item, "callspec")]
    looks = SideBySide(look, [name for name in ids if name in BUGS_BY_NAME or name in UNUSUAL_BY_NAME])
    yield looks
    looks.close()


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.name)
def test_bug_is_caught_by_the_clause_that_names_it(
    bug: SeededBug, found: SideBySide[str, tuple[str | None, str | None]]
) -> None:
    ours, clause = found[bug.name]
    if ours is not None:
        pytest.skip(f"{ours} is broken without the bug: see test_contract.py")
    assert clause == bug.clause


def test_every_clause_catches_a_bug() -> None:
    assert {bug.clause for bug in BUGS} == {clause.id for clause in CLAUSES}


@pytest.mark.parametrize("unusual", CORRECT, ids=lambda unusual: unusual.name)
def test_what_is_correct_and_unusual_is_kept(
    unusual: Unusual, found: SideBySide[str, tuple[str | None, str | None]]
) -> None:
    ours, violation = found[unusual.name]
    if ours is not None:
        pytest.skip(f"{ours} is broken in our own code: see test_contract.py")
    if violation is not None:
        pytest.fail(violation, pytrace=False)
