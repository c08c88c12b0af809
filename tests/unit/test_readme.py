"""The README tells the truth about the contract."""

from pathlib import Path

import pytest

from kvoffload.contract import CLAUSES, CONTRACT_VERSION, Clause
from kvoffload.contract.search.search import BUDGET
from kvoffload.policies.factory import CachePolicyFactory

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()


@pytest.mark.parametrize("clause", CLAUSES, ids=lambda clause: clause.id)
def test_every_clause_has_its_row(clause: Clause) -> None:
    assert (
        f"| `{clause.id}` | {clause.sentence} | {', '.join(clause.applies_to)} | {', '.join(clause.needs)} |" in README
    )


def test_no_row_is_about_a_clause_that_does_not_exist() -> None:
    table = README.partition("| clause | says |")[2].partition("\n\n")[0]
    rows = [line.split("`")[1] for line in table.splitlines() if line.startswith("| `")]
    assert rows == [clause.id for clause in CLAUSES]


def test_the_version_is_the_contract_s() -> None:
    assert f"Version {CONTRACT_VERSION}." in README


def test_the_command_s_help_tells_the_default_budget() -> None:
    cli = (ROOT / "kvoffload" / "cli.py").read_text()
    assert f"{BUDGET} unless given" in cli


def test_every_policy_has_a_row() -> None:
    assert all(f"| `{name}` | " in README for name in CachePolicyFactory.names())
