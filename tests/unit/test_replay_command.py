"""The command ``kvoffload replay``: what it prints, where, and with which exit code."""

import sys
from pathlib import Path

import pytest
from rich.console import Console
from typer.testing import CliRunner, Result

from kvoffload import CPUOffloadingManager, LookupResult, LRUCachePolicy, OffloadKey, ReqContext
from kvoffload.cli import app
from kvoffload.policies.factory import CachePolicyFactory
from kvoffload.replay import run
from kvoffload.replay.progress import progress_bar
from kvoffload.replay.report import print_report
from kvoffload.replay.results import CallTimes, ReplayResult
from kvoffload.replay.synthetic import SyntheticConversations
from kvoffload.types import NO_REQUEST


def invoked(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["replay", *map(str, arguments)])


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    path = tmp_path / "a.jsonl"
    path.write_text('{"hash_ids": [1, 2]}\n{"hash_ids": [1, 2, 3]}\n{"hash_ids": [4, 5, 6, 7, 8]}\n')
    return path


def times_of(elapsed_ns: int) -> CallTimes:
    times = CallTimes()
    times.counts[elapsed_ns] = 1
    return times


# --- exit code 0 ---


def test_a_pipe_gets_aligned_lines(trace: Path) -> None:
    result = invoked(trace, "--blocks", 4)
    assert result.exit_code == 0
    head, hits, times = result.stdout.split("\n\n")
    assert head == "a.jsonl: 3 requests, 10 block accesses\ncapacity 4 blocks; transfers complete at once"
    assert hits == (
        "policy  hit rate %  blocks evicted  stores refused\n"  #
        "lru          20.00               0               1"
    )
    heading, *rows = times.splitlines()
    assert heading.split() == ["policy", "call", "calls", "p50", "us", "p99", "us", "max", "us"]
    assert [row.split()[:3] for row in rows] == [
        ["lru", "lookup", "5"],
        ["lru", "prepare_load", "1"],
        ["lru", "prepare_store", "3"],
        ["lru", "complete_load", "1"],
        ["lru", "complete_store", "2"],
        ["lru", "touch", "3"],
    ]
    assert len({len(row) for row in (heading, *rows)}) == 1


def test_nothing_is_printed_on_standard_error(trace: Path) -> None:
    assert invoked(trace).stderr == ""


def test_a_fresh_clone_can_replay_a_synthetic_workload() -> None:
    result = invoked("--synthetic", "--seed", 3, "--requests", 40)
    assert result.exit_code == 0
    assert result.stdout.startswith("synthetic conversations, seed 3: 40 requests, ")


def test_the_latency_is_reported(trace: Path) -> None:
    assert "transfers complete 2 requests later" in invoked(trace, "--latency", 2).stdout


def test_limit_is_another_name_for_requests(trace: Path) -> None:
    assert "a.jsonl: 2 requests, 5 block accesses" in invoked(trace, "--limit", 2).stdout


def test_every_policy_has_a_row(trace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(CachePolicyFactory._registry, "lru-again", ("kvoffload.policies.lru", "LRUCachePolicy"))
    hits = invoked(trace, "--policy", "lru", "--policy", "lru-again", "--blocks", 9).stdout.split("\n\n")[1]
    assert hits == (
        "policy     hit rate %  blocks evicted  stores refused\n"
        "lru             20.00               0               0\n"
        "lru-again       20.00               0               0\n"
        "MIN             20.00               0               0"
    )


def test_a_policy_named_twice_is_replayed_once(trace: Path) -> None:
    assert len(invoked(trace, "--policy", "lru", "--policy", "lru").stdout.split("\n\n")[1].splitlines()) == 2


def test_one_policy_is_compared_with_min_on_demand(trace: Path) -> None:
    assert "\nMIN " not in invoked(trace).stdout
    assert "\nMIN " in invoked(trace, "--min").stdout


def test_a_verified_replay_says_how_many_calls_were_checked(trace: Path) -> None:
    result = invoked(trace, "--blocks", 4, "--verify")
    assert result.exit_code == 0
    assert result.stdout.endswith("\nlru: 15 calls checked against the specification; none broke a clause\n")


def test_a_verified_replay_shows_no_times(trace: Path) -> None:
    assert "p99" not in invoked(trace, "--verify").stdout


# --- exit code 1 ---


class SeesNothing(CPUOffloadingManager):
    """Misses every key."""

    def lookup(self, key: OffloadKey, req_context: ReqContext = NO_REQUEST) -> LookupResult:
        super().lookup(key, req_context)
        return LookupResult.MISS


def test_a_broken_clause_is_reported_with_exit_code_1(trace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "CPUOffloadingManager", SeesNothing)
    result = invoked(trace, "--verify")
    assert result.exit_code == 1
    assert result.stdout.startswith("Policy lru, request 2; the last calls up to it:\n\nlookup-truth: ")


class Stingy(LRUCachePolicy):
    """Has nothing to evict."""

    def evict(self, n: int, protected: object) -> None:
        return None


def test_what_was_replayed_before_the_broken_policy_is_reported(trace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(CachePolicyFactory._registry, "stingy", (__name__, "Stingy"))
    result = invoked(trace, "--policy", "lru", "--policy", "stingy", "--blocks", 5, "--verify")
    assert result.exit_code == 1
    assert "\nlru          20.00               3               0\n" in result.stdout
    assert "\nPolicy stingy, request 3; the last calls up to it:\n\nstore-refusal: " in result.stdout


# --- exit code 2 ---


def test_neither_a_trace_nor_synthetic_is_an_error() -> None:
    result = invoked()
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == (
        "kvoffload replay: Neither a trace nor --synthetic is given; a replay needs a workload. Name a trace file, or "
        "pass --synthetic for a made-up one.\n"
    )


def test_a_trace_and_synthetic_together_are_an_error() -> None:
    result = invoked("a.jsonl", "--synthetic")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == (
        "kvoffload replay: Both the trace a.jsonl and --synthetic are given; a replay has one workload. "
        "Leave one out.\n"
    )


def test_a_seed_for_a_trace_is_an_error() -> None:
    result = invoked("a.jsonl", "--seed", 1)
    assert result.exit_code == 2
    assert result.stderr.startswith("kvoffload replay: --seed is given with a trace; ")


def test_an_unknown_policy_is_an_error_that_lists_the_known_ones() -> None:
    result = invoked("--synthetic", "--policy", "belady")
    known = ", ".join(CachePolicyFactory.names())
    assert result.exit_code == 2
    wanted = "Name one of them, or MODULE:CLASS of your own."
    assert result.stderr == f"kvoffload replay: --policy is 'belady'; known are {known}. {wanted}\n"


@pytest.mark.parametrize("option", ["--blocks", "--latency"])
def test_a_negative_number_is_an_error(option: str) -> None:
    result = invoked("--synthetic", option, -1)
    assert result.exit_code == 2
    assert option in result.stderr


def test_a_malformed_line_is_an_error_with_file_and_line(tmp_path: Path) -> None:
    path = tmp_path / "b.jsonl"
    path.write_text('{"hash_ids": [1]}\n{"hash_ids": [1, -2]}\n')
    result = invoked(path)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == (
        f"kvoffload replay: {path}, line 2: hash_ids[1] is -2; a block id is an integer, 0 or more. "
        "Mend the line or remove it.\n"
    )


def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    result = invoked(tmp_path / "nowhere")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "there is no such file" in result.stderr


# --- on a terminal ---


def test_a_terminal_gets_tables() -> None:
    console = Console(width=80, force_terminal=True, color_system=None, record=True)
    with console.capture() as captured:
        result = ReplayResult("lru", 2, 10, 4, 1234, 5, {"lookup": times_of(1500), "touch": CallTimes()})
        print_report(console, "a.jsonl", [result], num_blocks=9, latency=1, as_tables=True)
    assert [line.rstrip() for line in captured.get().splitlines() if line.strip()] == [
        "a.jsonl: 2 requests, 10 block accesses",
        "capacity 9 blocks; transfers complete 1 request later",
        " policy   hit rate %   blocks evicted   stores refused",
        " ─────────────────────────────────────────────────────",
        " lru           40.00            1,234                5",
        " policy   call     calls   p50 us   p99 us   max us",
        " ──────────────────────────────────────────────────",
        " lru      lookup       1      1.5      1.5      1.5",
    ]


def test_a_terminal_has_a_progress_bar(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    workload = SyntheticConversations(4)
    with progress_bar("replay lru", workload) as update:
        for _ in workload:
            update()
    shown = capsys.readouterr()
    assert "replay lru" in shown.err
    assert shown.out == ""


def test_a_pipe_has_no_progress_bar(capsys: pytest.CaptureFixture[str]) -> None:
    workload = SyntheticConversations(4)
    with progress_bar("replay lru", workload) as update:
        for _ in workload:
            update()
    assert capsys.readouterr().err == ""


THEIRS = """
from kvoffload import LRUCachePolicy

class Theirs(LRUCachePolicy):
    pass

class Raises(LRUCachePolicy):
    def evict(self, n, protected):
        raise KeyError(n)
"""


@pytest.fixture
def theirs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A module of a user's, in the folder that the command is run from."""
    (tmp_path / "replayed_policies.py").write_text(THEIRS)
    monkeypatch.chdir(tmp_path)
    return "replayed_policies"


def test_a_policy_may_be_named_as_module_and_class(theirs: str) -> None:
    result = invoked("--synthetic", "--requests", 20, "--blocks", 50, "--policy", f"{theirs}:Theirs", "--policy", "lru")
    own, ours = result.stdout.split("\n\n")[1].splitlines()[1:3]
    assert (result.exit_code, own.split()[1:]) == (0, ours.split()[1:])


def test_a_policy_of_a_user_s_that_raises_ends_the_replay_with_a_sentence(theirs: str) -> None:
    result = invoked("--synthetic", "--requests", 20, "--blocks", 50, "--policy", f"{theirs}:Raises")
    assert result.exit_code == 1
    assert f"the policy raised KeyError: 24. kvoffload check {theirs}:Raises says which clause" in result.stdout


def test_verified_it_ends_with_the_violation(theirs: str) -> None:
    result = invoked("--synthetic", "--requests", 20, "--blocks", 50, "--policy", f"{theirs}:Raises", "--verify")
    assert result.exit_code == 1
    assert "actual    raises KeyError: " in result.stdout


@pytest.mark.parametrize(
    "name", ["Policy020", "Policy024", "Policy026", "Policy031", "Policy033", "InProcess", "MultiProcess"]
)
@pytest.mark.parametrize("verify", [[], ["--verify"]])
def test_a_policy_of_another_library_is_replayed(name: str, verify: list[str]) -> None:
    result = invoked("--synthetic", "--requests", 20, "--blocks", 50, "--policy", f"tests.unit.fakes:{name}", *verify)
    assert result.exit_code == 0, result.output
    assert f"tests.unit.fakes:{name}" in result.stdout


def test_an_lru_of_another_library_hits_as_often_as_ours() -> None:
    options = ["--synthetic", "--requests", 60, "--blocks", 200, "--policy", "lru"]
    result = invoked(*options, "--policy", "tests.unit.fakes:Policy026", "--policy", "tests.unit.fakes:InProcess")
    ours, *others = (line.split()[1:] for line in result.stdout.split("\n\n")[1].splitlines()[1:4])
    assert others == [ours, ours]


def test_a_policy_that_lacks_what_a_manager_calls_is_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "half_policies.py").write_text(
        "class Half:\n    def __init__(self, n): ...\n    def insert(self, key, block): ...\n"
        "    def evict(self, n, protected): ...\n"
    )
    monkeypatch.chdir(tmp_path)
    result = invoked("--synthetic", "--policy", "half_policies:Half")
    assert result.exit_code == 2
    assert "it made a Half, which has no get, remove, touch; a manager calls them." in result.stderr
