"""Our manager and our policies keep every clause of the contract: one search each, one test per clause."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

import pytest

from kvoffload import CPUOffloadingManager, SLRUCachePolicy
from kvoffload.contract import Clause, Report, Verdict, check_manager, check_policy
from kvoffload.contract.clauses import clauses_for
from kvoffload.policies.factory import OURS, CachePolicyFactory
from tests.stateful.parallel import SideBySide
from tests.stateful.profile import effort

POLICIES = tuple(OURS)
THRESHOLD, TRACKER = 2, 3


def check_our_policy(name: str) -> Report:
    make = CachePolicyFactory.get_cache_policy_cls(name)
    return check_policy(make, order=name, capabilities=capabilities_of(name), name=class_of(name), **effort())


def capabilities_of(name: str) -> tuple[str, ...]:
    # FIFO, the baseline, passes over a pinned block once, so that a load does not renew the block's place.
    return () if name == "fifo" else ("scales",)


def class_of(name: str) -> str:
    return ":".join(OURS[name])


def check_our_manager(policy: str) -> Report:
    return check_manager(
        lambda num_blocks: CPUOffloadingManager(num_blocks, cache_policy=policy, enable_events=True),
        order=policy,
        **effort(),
        name="kvoffload:CPUOffloadingManager",
        arguments=f', cache_policy="{policy}", enable_events=True',
    )


def check_our_admission() -> Report:
    return check_manager(
        lambda num_blocks: CPUOffloadingManager(
            num_blocks, enable_events=True, store_threshold=THRESHOLD, max_tracker_size=TRACKER
        ),
        order="lru",
        **effort(),
        name="kvoffload:CPUOffloadingManager",
        arguments=f", enable_events=True, store_threshold={THRESHOLD}, max_tracker_size={TRACKER}",
        store_threshold=THRESHOLD,
        max_tracker_size=TRACKER,
    )


def check_our_shares() -> Report:
    # With the usual share, no two blocks go back to probation in so small a policy.
    return check_policy(
        partial(SLRUCachePolicy, protected_share=0.5),
        order="slru:0.5",
        capabilities=("scales",),
        **effort(),
        name="kvoffload:SLRUCachePolicy",
        arguments=", protected_share=0.5",
    )


SUBJECTS: dict[str, Callable[[], Report]] = {
    **{f"policy-{name}": partial(check_our_policy, name) for name in POLICIES},
    **{f"manager-{name}": partial(check_our_manager, name) for name in POLICIES},
    "manager-admission": check_our_admission,
    "policy-slru-half": check_our_shares,
}
CLAUSES = [
    *(
        (f"policy-{name}", clause)
        for name in POLICIES
        for clause in clauses_for("policy", name)
        if clause.id != "evict-scales" or capabilities_of(name)
    ),
    *((f"manager-{name}", clause) for name in POLICIES for clause in clauses_for("manager", name)),
    *(("policy-slru-half", clause) for clause in clauses_for("policy", "slru")),
    *(("manager-admission", clause) for clause in clauses_for("manager", "lru", admission=True)),
]


class Findings(NamedTuple):
    """What is left of a report when it comes from another process."""

    broken: dict[str, str]
    kept: frozenset[str]
    never: tuple[str, ...]


def check(subject: str) -> Findings:
    report = SUBJECTS[subject]()
    broken = {id: str(violation) for id, violation in report.broken.items()}
    kept = {clause.id for clause in report.claimed} - broken.keys()
    return Findings(broken, frozenset(kept), report.never if report.verdict is Verdict.INCONCLUSIVE else ())


@pytest.fixture(scope="module")
def findings(request: pytest.FixtureRequest) -> Iterator[SideBySide[str, Findings]]:
    wanted = [item.callspec.params.get("subject") for item in request.session.items if hasattr(item, "callspec")]
    checks = SideBySide(check, [subject for subject in wanted if subject in SUBJECTS])
    yield checks
    checks.close()


@pytest.mark.parametrize(("subject", "clause"), CLAUSES, ids=[f"{subject}-{clause.id}" for subject, clause in CLAUSES])
def test_clause(subject: str, clause: Clause, findings: SideBySide[str, Findings]) -> None:
    if subject.startswith("manager-") and subject != "manager-lru" and clause.id in findings["manager-lru"].broken:
        pytest.skip("broken whatever the policy: see manager-lru")
    if clause.id in findings[subject].broken:
        pytest.fail(findings[subject].broken[clause.id], pytrace=False)
    assert clause.id in findings[subject].kept


@pytest.mark.parametrize("subject", SUBJECTS)
def test_every_call_and_situation_came_up(subject: str, findings: SideBySide[str, Findings]) -> None:
    assert not findings[subject].never, "the run is inconclusive: some calls or situations never came up"
