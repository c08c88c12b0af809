"""``kvoffload check``: its verdicts, its errors, its exit codes."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from kvoffload.cli import app
from kvoffload.contract.clauses.page import contract_page
from kvoffload_spec.order import ORDERS
from tests.unit.quickstart_outputs import steady

BROKEN = """
from kvoffload import CPUOffloadingManager, LRUCachePolicy

class Broken(LRUCachePolicy):
    def mark_non_evictable(self, key):
        pass

class NeedsMore(LRUCachePolicy):
    def __init__(self, capacity, more):
        super().__init__(capacity)

value = 7

def without_events(num_blocks):
    return CPUOffloadingManager(num_blocks)

class RaisesOnTouch(CPUOffloadingManager):
    def touch(self, keys, req_context=None):
        raise KeyError("touched")
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a user's module, from which the command is run."""
    (tmp_path / "users_policies.py").write_text(BROKEN)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def checked(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["check", *arguments])


def test_a_kept_contract_is_exit_code_0() -> None:
    result = checked("kvoffload:LRUCachePolicy", "--order", "lru", "--capability", "scales")
    assert result.exit_code == 0, result.output
    begin = "KEPT: kvoffload:LRUCachePolicy, policy contract N, order lru: N clauses\n"
    assert steady(result.stdout).startswith(begin)


def test_a_broken_clause_is_exit_code_1_and_a_program_that_shows_it(folder: Path) -> None:
    result = checked("users_policies:Broken", "--order", "lru")
    assert result.exit_code == 1
    assert steady(result.stdout).startswith(
        """\
evictable-exact: the evictable list holds the idle keys, each once

  from kvoffload.contract import BlockStatus, keys
  from users_policies import Broken
  a, = keys("a")
  policy = Broken(1)
  a_block = BlockStatus(0, ref_cnt=0); policy.insert(a, a_block)
  a_block.ref_cnt += 1; policy.mark_non_evictable(a)

  expected  evictable list []
  actual    evictable list [a]
  why       a is pinned, not idle
  replay    kvoffload replay-history users_policies:Broken --order lru 'policy 1; insert-idle a; pin a'
  explain   kvoffload explain evictable-exact

BROKEN: users_policies:Broken, policy contract N, order lru: 1 of N clauses broken
"""
    )


def test_the_program_of_a_violation_runs(folder: Path) -> None:
    shown = checked("users_policies:Broken").stdout.split("\n\n")[1]
    program = re.sub("^  ", "", shown, flags=re.MULTILINE)
    names: dict[str, object] = {}
    exec(program + "\nshown = list(policy.evictable_blocks) == [a]", names)
    assert names["shown"] is True


def test_a_manager_whose_events_are_off_is_kept_and_does_not_claim_them(folder: Path) -> None:
    result = checked("users_policies:without_events")
    assert result.exit_code == 0, result.output
    assert result.stdout.endswith("  not claimed: events (events-replay, events-once)\n")


def test_too_short_a_look_is_exit_code_3_and_says_what_never_came_up() -> None:
    result = checked("kvoffload:CPUOffloadingManager", "--budget", "1")
    assert result.exit_code == 3
    assert "INCONCLUSIVE: " in result.stdout and "  never came up: " in result.stdout


@pytest.mark.parametrize(
    ("target", "sentence"),
    [
        ("LRUCachePolicy", "the target is 'LRUCachePolicy'; name it as MODULE:CLASS"),
        ("no_such_module:X", "no_such_module cannot be imported: ModuleNotFoundError"),
        ("kvoffload:LRUCachePolice", "kvoffload has no LRUCachePolice; it has LRUCachePolicy"),
        ("users_policies:value", "users_policies:value is int; name a class"),
        ("users_policies:NeedsMore", "users_policies:NeedsMore raised TypeError when it was called with (2)"),
        ("kvoffload:BlockStatus", "which is no policy and no manager. To be a policy it lacks insert, remove, evict."),
    ],
)
def test_what_cannot_be_checked_is_exit_code_2_and_a_sentence(folder: Path, target: str, sentence: str) -> None:
    result = checked(target)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("kvoffload check: ") and sentence in result.stderr


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--order", "belady"], f"order is 'belady'; known are {', '.join(ORDERS)}"),
        (["--order", "lru:0.5"], "order is 'lru:0.5'; a share goes with "),
        (["--order", ""], "order is ''; known are"),
        *(
            (["--order", f"slru:{it}"], f"order is 'slru:{it}'; a share goes with")
            for it in ("", ".", "much", "1.5", "-1")
        ),
        (["--capability", "flies"], "the capability is 'flies'; known of a policy are scales, empty, repeated-keys"),
    ],
)
def test_an_unknown_declaration_is_exit_code_2_and_lists_the_known_ones(options: list[str], sentence: str) -> None:
    result = checked("kvoffload:LRUCachePolicy", *options)
    assert result.exit_code == 2
    assert sentence in result.stderr


def test_the_same_check_gives_the_same_text() -> None:
    first, second = (checked("kvoffload:LRUCachePolicy").stdout for _ in range(2))
    assert first == second


def test_what_else_it_is_made_with_is_given_by_name_and_stands_in_the_replay_line(folder: Path) -> None:
    result = checked("users_policies:RaisesOnTouch", "--argument", "cache_policy=arc", "--order", "arc")
    assert result.exit_code == 1
    replay = "replay-history users_policies:RaisesOnTouch --order arc --argument cache_policy=arc 'manager 0; touch'"
    assert f"  replay    kvoffload {replay}\n" in result.stdout


def test_an_argument_without_a_value_is_exit_code_2_and_a_sentence() -> None:
    result = checked("kvoffload:CPUOffloadingManager", "--argument", "cache_policy")
    assert result.exit_code == 2 and "is no argument; write its name" in result.output


def test_the_module_is_the_command() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "kvoffload", "explain", "no-such"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2 and done.stderr.startswith("kvoffload explain: 'no-such' is no clause")


def test_the_page_of_the_contract_is_printed() -> None:
    assert CliRunner().invoke(app, ["clauses", "--page"]).stdout == contract_page()
