"""``kvoffload replay-history``: the line that a report prints shows the same violation again."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from kvoffload.cli import app

MODULE = """
from kvoffload import CPUOffloadingManager, LRUCachePolicy

class Unlisted(LRUCachePolicy):
    def mark_non_evictable(self, key):
        pass

class NewestFirst(LRUCachePolicy):
    def touch(self, keys, req_context):
        super().touch(list(keys)[::-1], req_context)

class Miscounts(CPUOffloadingManager):
    def complete_load(self, keys, *arguments, **keywords):
        super().complete_load(keys, *arguments, **keywords)
        self._num_evictable_cache_blocks += 0 if keywords else 1

class StoresLate(CPUOffloadingManager):
    def __init__(self, num_blocks, store_threshold=0, max_tracker_size=64_000):
        super().__init__(num_blocks, store_threshold=store_threshold + 1, max_tracker_size=max_tracker_size)

class Hangs(LRUCachePolicy):
    def remove(self, key):
        import time
        time.sleep(5)
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "users_replayed.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments))


def replayed(*arguments: str) -> Result:
    return run("replay-history", *arguments)


# --- a clause is broken ---


@pytest.mark.parametrize(
    "arguments",
    [
        ["users_replayed:Unlisted"],
        ["users_replayed:Unlisted", "--capability", "no-repeated-keys", "--capability", "scales"],
        ["users_replayed:NewestFirst", "--order", "lru"],
        ["users_replayed:Miscounts"],
        ["users_replayed:StoresLate", "--store-threshold", "2"],
    ],
)
def test_the_line_that_check_prints_shows_the_same_violation(arguments: list[str]) -> None:
    checked = run("check", *arguments, "--budget", "20")
    assert checked.exit_code == 1, checked.output
    violation = checked.stdout.split("\n\n\n")[0]
    line = next(line for line in violation.splitlines() if line.startswith("  replay "))
    program, *words = shlex.split(line.removeprefix("  replay"))
    assert program == "kvoffload"
    again = run(*words)
    assert again.exit_code == 1
    assert violation.startswith(again.stdout.rstrip("\n"))


def test_a_violation_is_printed_whole() -> None:
    result = replayed("users_replayed:Unlisted", "policy 2; insert-idle a; pin a; evict 1")
    assert result.exit_code == 1
    assert (
        result.stdout
        == """\
evictable-exact: the evictable list holds the idle keys, each once

  from kvoffload.contract import BlockStatus, keys
  from users_replayed import Unlisted
  a, = keys("a")
  policy = Unlisted(2)
  a_block = BlockStatus(0, ref_cnt=0); policy.insert(a, a_block)
  a_block.ref_cnt += 1; policy.mark_non_evictable(a)

  expected  evictable list []
  actual    evictable list [a]
  why       a is pinned, not idle
  replay    kvoffload replay-history users_replayed:Unlisted 'policy 2; insert-idle a; pin a'
  explain   kvoffload explain evictable-exact
"""
    )


def test_a_call_that_hangs_is_interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    from kvoffload.contract import command
    from kvoffload.contract.targets.time_limit import time_limit

    monkeypatch.setattr(command, "time_limit", lambda: time_limit(0.05))
    result = replayed("users_replayed:Hangs", "policy 1; insert a; remove a")
    assert result.exit_code == 1
    assert "  actual    does not return within 2 s\n" in result.stdout


# --- no clause is broken ---


def test_a_history_of_a_manager_that_breaks_nothing_is_printed_with_what_the_calls_returned() -> None:
    history = "manager 2; store a b; done a b; load a; store c; lookup b; events; store d a; release a"
    result = replayed("kvoffload:CPUOffloadingManager", history)
    assert result.exit_code == 0, result.output
    assert (
        result.stdout
        == """\
no clause is broken by these 8 calls:

  from kvoffload.contract import keys
  from kvoffload import CPUOffloadingManager
  a, b, c, d = keys("abcd")
  manager = CPUOffloadingManager(2, enable_events=True)
  manager.prepare_store([a, b])   # -> store [a, b], evict []
  manager.complete_store([a, b])
  manager.prepare_load([a])       # -> blocks [0]
  manager.prepare_store([c])      # -> store [c], evict [b]
  manager.lookup(b)               # -> MISS
  manager.take_events()           # -> STORED [a, b], REMOVED [b]
  manager.prepare_store([d, a])   # -> None
  manager.complete_load([a])
"""
    )


def test_a_history_of_a_policy_that_breaks_nothing_is_printed_with_what_the_calls_returned() -> None:
    result = replayed("kvoffload:LRUCachePolicy", "policy 2; insert a; finish a; evict 1 not a; evict 1")
    assert result.exit_code == 0, result.output
    assert (
        result.stdout
        == """\
no clause is broken by these 4 calls:

  from kvoffload.contract import BlockStatus, keys
  from kvoffload import LRUCachePolicy
  a, = keys("a")
  policy = LRUCachePolicy(2)
  a_block = BlockStatus(0, ref_cnt=-1); policy.insert(a, a_block)
  a_block.ref_cnt = 0; policy.mark_evictable(a)
  policy.evict(1, {a})                                             # -> None
  policy.evict(1, set())                                           # -> evict [a]
"""
    )


def test_what_is_printed_of_a_history_that_breaks_nothing_runs() -> None:
    shown = replayed("kvoffload:LRUCachePolicy", "policy 1; insert-idle a; pin a; unpin a; get a").stdout
    program = "\n".join(line[2:] for line in shown.split("\n\n")[1].splitlines())
    names: dict[str, object] = {}
    exec(program + "\nshown = policy.get(a) is a_block", names)
    assert names["shown"] is True


def test_a_history_without_a_call_is_nothing_to_judge() -> None:
    result = replayed("kvoffload:LRUCachePolicy", "policy 0")
    assert result.exit_code == 2 and "there is nothing to judge" in result.stderr


def test_a_call_that_makes_no_sense_is_left_out() -> None:
    result = replayed("kvoffload:LRUCachePolicy", "policy 1; pin a; insert a; insert b; unpin a")
    assert result.stdout.startswith("no clause is broken by this call:\n")


# --- it could not be run ---


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ["kvoffload:LRUCachePolicy", "insert a"],
            "the history begins with 'insert a'; begin it with 'manager N' or 'policy N', for N blocks, as in "
            "'manager 2; store a b'.",
        ),
        (
            ["kvoffload:LRUCachePolicy", "policy 2; insert a; evct 1"],
            "call 2 is 'evct 1': 'evct' is no call on a policy; use one of get, insert, insert-idle, finish, pin, "
            "unpin, remove, touch, evict, clear, finish-request. Did you mean 'evict'?",
        ),
        (
            ["kvoffload:LRUCachePolicy", "manager 2; store a"],
            "kvoffload:LRUCachePolicy is a policy; the history is one of a manager.",
        ),
        (
            ["kvoffload:CPUOffloadingManager", "policy 2; evict 1"],
            "kvoffload:CPUOffloadingManager is a manager; the history is one of a policy.",
        ),
        (
            ["kvoffload:LRUCachePolicy", "policy 2", "--order", "belady"],
            "order is 'belady'; known are arc, fifo, lfu, lru, s3fifo, slru. Leave it out to have no order checked.",
        ),
    ],
)
def test_what_cannot_be_replayed_is_exit_code_2_and_a_sentence(arguments: list[str], sentence: str) -> None:
    result = replayed(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == f"kvoffload replay-history: {sentence}\n"


def test_a_policy_that_cannot_be_made_for_the_historys_blocks_is_exit_code_2_and_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "users_picky.py").write_text(
        "from kvoffload import LRUCachePolicy\n\nclass Picky(LRUCachePolicy):\n"
        "    def __init__(self, capacity):\n"
        "        if capacity == 0: raise ValueError('none is too few')\n"
        "        super().__init__(capacity)\n"
    )
    result = replayed("users_picky:Picky", "policy 0; evict 0")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("kvoffload replay-history: users_picky:Picky raised ValueError when it was made")
