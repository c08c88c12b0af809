"""The command as a user types it, in a folder with nothing but a module of theirs."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

THEIRS = """
from kvoffload import LRUCachePolicy

class Good(LRUCachePolicy):
    pass

class Forgetful(LRUCachePolicy):
    def mark_non_evictable(self, key):
        pass

class KeepsNewest(LRUCachePolicy):
    def touch(self, keys, req_context=None):
        super().touch(keys[::-1], req_context)
"""
BY_MODULE = "theirs:Forgetful"
BY_VLLMS_CONFIGURATION = json.dumps({"eviction_policy": "Forgetful", "cache_policy_module_path": "theirs"})
HISTORY = "policy 1; insert-idle a; pin a"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "theirs.py").write_text(THEIRS)
    return tmp_path


def typed(folder: Path, *arguments: str) -> tuple[int, str]:
    """The exit code of ``kvoffload`` with these arguments, and what it prints."""
    command = [str(Path(sys.executable).parent / "kvoffload"), *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    return done.returncode, done.stdout


def test_a_kept_contract_is_exit_code_0(folder: Path) -> None:
    code, text = typed(folder, "check", "theirs:Good", "--order", "lru", "--budget", "100")
    assert code == 0, text
    assert text.startswith("KEPT: theirs:Good, policy contract ")


@pytest.mark.parametrize("target", [BY_MODULE, BY_VLLMS_CONFIGURATION], ids=["module", "json"])
def test_a_broken_clause_is_exit_code_1(folder: Path, target: str) -> None:
    code, text = typed(folder, "check", target, "--budget", "40")
    assert code == 1, text
    assert text.startswith("evictable-exact: the evictable list holds the idle keys, each once\n\n  from kvoffload")
    assert "BROKEN: theirs:Forgetful, policy contract " in text


def test_an_expected_failure_is_exit_code_0(folder: Path) -> None:
    declared = ("--order", "lru", "--budget", "100")
    code, text = typed(folder, "check", "theirs:KeepsNewest", *declared, "--expected-failure", "order-lru=our issue 12")
    assert code == 0, text
    assert "  broken, as expected: order-lru (our issue 12)\n" in text


@pytest.mark.parametrize(("target", "code"), [(BY_MODULE, 1), (BY_VLLMS_CONFIGURATION, 1), ("theirs:Good", 0)])
def test_a_history_is_replayed(folder: Path, target: str, code: int) -> None:
    replayed, text = typed(folder, "replay-history", target, HISTORY)
    assert replayed == code, text
    assert ("evictable-exact: " in text) == bool(code)


def test_the_replay_line_of_a_report_can_be_typed(folder: Path) -> None:
    _, report = typed(folder, "check", BY_MODULE, "--budget", "40")
    (line,) = (line for line in report.splitlines() if line.startswith("  replay "))
    _, target, history = line.partition("kvoffload replay-history ")[2].partition("theirs:Forgetful")
    code, text = typed(folder, "replay-history", target, history.strip().strip("'"))
    assert code == 1
    assert report.startswith(text)


def test_a_clause_is_explained(folder: Path) -> None:
    code, text = typed(folder, "explain", "evictable-exact")
    assert code == 0
    assert text.startswith("evictable-exact")
