"""Every property of the specification is proved, is about something, and can fail."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.prove.manifest import PROOFS
from tests.prove.proof import CONFIRMED, REFUTED
from tests.prove.runner import Judgement, judge

pytest.importorskip("crosshair", reason="CrossHair is not installed: pip install kvoffload[prove]")

Judge = Callable[[str], dict[str, Judgement]]

every_property = pytest.mark.parametrize("name", PROOFS)


@pytest.fixture(scope="module")
def judged(request: pytest.FixtureRequest) -> Iterator[Judge]:
    """What CrossHair finds of a property; those that are tested are judged two at a time."""
    tests = [
        item for item in request.session.items if isinstance(item, pytest.Function) and "judged" in item.fixturenames
    ]
    names = dict.fromkeys(str(test.callspec.params["name"]) for test in tests)
    with ThreadPoolExecutor(max_workers=2) as children:
        found = {name: children.submit(judge, "tests.prove.manifest:PROOFS", name) for name in names}
        yield lambda name: found[name].result()
        children.shutdown(cancel_futures=True)


@every_property
def test_it_is_confirmed_over_all_paths(name: str, judged: Judge) -> None:
    found, proof = judged(name)["proof"], PROOFS[name]
    assert found.verdicts == (CONFIRMED,) * proof.conditions, found.says


@every_property
def test_its_interesting_case_is_reached(name: str, judged: Judge) -> None:
    found, proof = judged(name)["witness"], PROOFS[name]
    assert found.verdicts == (REFUTED,), f"that this never happens was to be refuted: {proof.witness}\n{found.says}"


@every_property
def test_it_is_refuted_with_the_planted_fault(name: str, judged: Judge) -> None:
    found, proof = judged(name)["fault"], PROOFS[name]
    fault = proof.fault
    assert found.verdicts == (REFUTED,) * proof.conditions, (
        f"{fault.wrong.__name__} instead of {fault.target} goes unseen\n{found.says}"
    )
