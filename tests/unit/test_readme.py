"""The README and the command's help are of today's policies and budget."""

from pathlib import Path

from kvoffload.contract.search.search import BUDGET
from kvoffload.policies.factory import OURS

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()


def test_the_command_s_help_tells_the_default_budget() -> None:
    cli = (ROOT / "kvoffload" / "cli.py").read_text()
    assert f"{BUDGET} unless given" in cli


def test_every_policy_has_a_row() -> None:
    assert all(f"| `{name}` | " in README for name in OURS)
