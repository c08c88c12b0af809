"""The runner is not taken in by contracts that prove nothing."""

from __future__ import annotations

from time import monotonic

import pytest

from tests.prove.proof import CONFIRMED, REFUTED
from tests.prove.runner import judge

pytest.importorskip("crosshair", reason="CrossHair is not installed: pip install kvoffload[prove]")

TABLE = "tests.prove.hollow:HOLLOW"


@pytest.mark.parametrize(
    ("name", "verdicts"),
    [
        ("without_a_contract", ()),
        ("with_a_misspelt_condition", ()),
        ("with_an_impossible_precondition", ("PRE_UNSAT",)),
    ],
    ids=["no contract", "misspelt", "impossible"],
)
def test_a_contract_without_cases_is_not_confirmed(name: str, verdicts: tuple[str, ...]) -> None:
    assert judge(TABLE, name)["proof"].verdicts == verdicts


@pytest.mark.parametrize("name", ["that_expects_its_own_error", "about_a_case_that_never_comes"])
def test_a_vacuous_contract_is_given_away_by_its_witness(name: str) -> None:
    found = judge(TABLE, name)
    assert found["proof"].verdicts == (CONFIRMED,)
    assert found["witness"].verdicts == (CONFIRMED,) != (REFUTED,)


def test_a_contract_that_cannot_fail_is_given_away_by_its_fault() -> None:
    found = judge(TABLE, "that_cannot_fail")
    assert found["proof"].verdicts == found["fault"].verdicts == (CONFIRMED,)


def test_a_hang_ends_at_the_limit_without_a_verdict() -> None:
    start = monotonic()
    found = judge(TABLE, "that_hangs", limit=2)
    assert monotonic() - start < 10
    assert {judgement.verdicts for judgement in found.values()} == {()}
    assert found["proof"].says == "no verdict within 2 s"


def test_a_child_that_fails_gives_no_verdict_but_its_complaint() -> None:
    found = judge(TABLE, "no_such_property")["proof"]
    assert found.verdicts == ()
    assert found.says.startswith("exit code 1")
    assert "KeyError: 'no_such_property'" in found.says
