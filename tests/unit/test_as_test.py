"""A report and the test that goes with it: red while the bug is there, green without it."""

import contextlib
import re
import subprocess
import sys
import types
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from kvoffload import CPUOffloadingManager
from kvoffload.admission import AdmissionTracker
from kvoffload.cli import app
from kvoffload.contract.calls.history import read_history
from kvoffload.contract.lockstep.base import Watch
from kvoffload.contract.lockstep.start import start
from kvoffload.contract.lockstep.violation import ContractViolation
from kvoffload.contract.reports.as_test import as_test
from kvoffload.contract.reports.violation import describe_violation
from kvoffload.contract.search.minimise import replay, smaller_histories
from kvoffload.contract.search.search import search
from kvoffload.contract.targets.adapters import family_of
from kvoffload.contract.targets.time_limit import time_limit
from kvoffload.policies.factory import CachePolicyFactory
from tests.stateful.seeded import BUGS, SeededBug
from tests.stateful.seeded.bug import PROBED

MODULE = "subject_of_test"
SEARCHED = [bug for bug in BUGS if bug.clause not in PROBED and not bug.hangs]
SPECIAL = ("CompletesWhatTheCallerKept", "ProtectsByIdentity", "LoadsBlocks", "SortsTheCallersKeys")
"""Bugs that show only if the caller is hard on its subject, or if the keys are in another order."""
PER_CLAUSE = list({bug.clause: bug for bug in reversed(SEARCHED)}.values())
SAMPLE = [*PER_CLAUSE, *(bug for bug in SEARCHED if bug.name in SPECIAL and bug not in PER_CLAUSE)]


def made_by(bug: SeededBug) -> Any:
    """What a user names: where the class takes no capacity, the class itself."""
    cells = getattr(bug.make, "__closure__", None) or ()
    unsized = [cell.cell_contents for cell in cells if isinstance(cell.cell_contents, type)]
    return unsized[0] if unsized and family_of(unsized[0]) is not None else bug.make


def without_the_bug(bug: SeededBug) -> Any:
    """What makes a correct one of the same kind."""
    made = made_by(bug)
    cls = made.keywords.get("cache_policy", made.func) if isinstance(made, partial) else made
    shape = next((base for base in getattr(cls, "__mro__", ()) if base.__module__.endswith(".shapes")), None)
    if shape is not None:
        return shape
    policy: Any = CachePolicyFactory.get_cache_policy_cls((bug.order or "lru").partition(":")[0])
    hooks = {"on_request_finished": lambda *_: None} if hasattr(cls, "on_request_finished") else {}
    if bug.subject == "policy":
        return type("Correct", (policy,), hooks)
    manager_class: Any = type("Correct", (CPUOffloadingManager,), hooks)

    def make(num_blocks: int) -> Any:
        manager = manager_class(num_blocks, policy, enable_events=True)
        if bug.admission.threshold > 1:
            manager._admission = AdmissionTracker(bug.admission.threshold, bug.admission.most)
        return manager

    return make


@cache
def violation_of(name: str) -> ContractViolation:
    bug = next(bug for bug in BUGS if bug.name == name)
    violation = search(replace(bug.target, name=f"{MODULE}:Subject"), budget=1600).violation
    assert violation is not None
    return violation


@contextlib.contextmanager
def importable(make: Callable[[int], Any]) -> Iterator[None]:
    """What makes the subject, under the name that the tests import."""
    module: Any = types.ModuleType(MODULE)
    module.Subject = make
    sys.modules[MODULE] = module
    try:
        yield
    finally:
        del sys.modules[MODULE]


def bugs(some: list[SeededBug]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("bug", some, ids=lambda bug: bug.name)


def run_test(text: str) -> None:
    """Run the only test of such a file."""
    names: dict[str, Any] = {}
    exec(text, names)
    next(value for name, value in names.items() if name.startswith("test_"))()


@bugs(SAMPLE)
def test_the_test_is_red_with_the_bug_and_green_without_it(bug: SeededBug) -> None:
    if bug.clause == "deterministic":
        pytest.skip("chance decides")
    violation = violation_of(bug.name)
    target = replace(bug.target, name=f"{MODULE}:Subject")
    text = as_test(target, violation.style, violation.history_text, describe_violation(violation), violation)
    with importable(made_by(bug)), pytest.raises(ContractViolation) as raised:
        run_test(text)
    assert raised.value.clause == violation.clause
    with importable(without_the_bug(bug)):
        run_test(text)


@bugs(SAMPLE)
def test_a_report_of_few_calls_has_20_lines_at_most_and_its_program_runs(bug: SeededBug) -> None:
    violation = violation_of(bug.name)
    lines = describe_violation(violation).splitlines()
    assert len(lines) <= 20 or len(violation.history) > 6
    program = "\n".join(line[2:] for line in describe_violation(violation).split("\n\n")[1].splitlines())
    with importable(made_by(bug)), contextlib.suppress(*([Exception] if "# -> raises" in program else [])):
        exec(program, {})


@bugs(SAMPLE)
def test_the_history_in_a_report_shows_the_bug_again(bug: SeededBug) -> None:
    if bug.clause == "deterministic":
        pytest.skip("chance decides")
    violation = violation_of(bug.name)
    _, capacity, operations = read_history(violation.history_text)
    again = replay(start(bug.target, capacity, Watch()), operations)
    assert again is not None and again.clause == violation.clause


@bugs(SAMPLE[::3])
def test_no_single_change_of_a_minimised_history_keeps_the_violation(bug: SeededBug) -> None:
    if bug.clause == "deterministic":
        pytest.skip("chance decides")
    violation = violation_of(bug.name)
    operations = [step.op for step in violation.history]
    kept = [
        (capacity, history)
        for capacity, history in smaller_histories(violation.capacity, operations, bug.target.smallest)
        if (found := replay(start(bug.target, capacity, Watch()), history))
        and found.clause == violation.clause
        and len(found.history) <= len(history)  # else it is what the end of a history adds that shows it
    ]
    assert kept == []


# --- the command ---

USERS = """
import time

from kvoffload import CPUOffloadingManager, LRUCachePolicy

class Policy(LRUCachePolicy):
    def mark_non_evictable(self, key):
        {does}

class Manager(CPUOffloadingManager):
    def lookup(self, key, req_context=None):
        while {hangs}:
            time.sleep(0.01)
        return super().lookup(key)
"""
BROKEN = USERS.format(does="pass", hangs="True")
FIXED = USERS.format(does="super().mark_non_evictable(key)", hangs="False")
HISTORY = "policy 1; insert-idle a; pin a"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with a user's module, from which the command is run."""
    (tmp_path / "users_module.py").write_text(BROKEN)
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    sys.modules.pop("users_module", None)


def replayed(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["replay-history", *arguments])


def run_pytest(folder: Path) -> int:
    command = [sys.executable, "-B", "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_it.py"]
    return subprocess.run(command, cwd=folder, capture_output=True, check=False).returncode


def test_the_file_is_red_until_the_target_is_fixed(folder: Path) -> None:
    result = replayed("users_module:Policy", HISTORY, "--pytest", "test_it.py")
    assert result.exit_code == 1
    assert result.stdout.startswith("evictable-exact: ")
    assert result.stdout.endswith("\nthe test in test_it.py is red, and will be green when the clause is kept\n")
    assert run_pytest(folder) == 1
    (folder / "users_module.py").write_text(FIXED)
    assert run_pytest(folder) == 0


def test_the_file_holds_the_report_and_one_call(folder: Path) -> None:
    result = replayed("users_module:Policy", HISTORY, "--pytest", "-")
    assert result.exit_code == 1
    report, _, rest = result.stdout.partition("\n\nfrom users_module")
    assert all(line.startswith("#") for line in report.splitlines())
    assert report.startswith("# evictable-exact: the evictable list holds the idle keys, each once\n")
    assert "#   policy.mark_non_evictable(a)" in report.replace("; ", "\n#   ")
    assert "#   why       a is pinned, not idle\n" in report
    assert (
        rest
        == """ import Policy
from kvoffload.contract import replay_history


def test_evictable_exact() -> None:
    replay_history(Policy, 'policy 1; insert-idle a; pin a')
"""
    )
    assert result.stderr.endswith("\nthe test above is red, and will be green when the clause is kept\n")


def test_what_is_declared_stands_in_the_test(folder: Path) -> None:
    history = "manager 1; store a @r1; store a @r2; done a"
    options = ["--order", "lru", "--capability", "no-faults", "--store-threshold", "2", "--max-tracker-size", "3"]
    result = replayed("kvoffload:CPUOffloadingManager", history, *options, "--pytest", "test_it.py")
    assert result.exit_code == 0, result.output
    assert result.stdout.endswith("\nthe test in test_it.py is green\n")
    text = (folder / "test_it.py").read_text()
    assert "lambda num_blocks: CPUOffloadingManager(num_blocks, " in text
    assert "order='lru', capabilities=['no-faults'], store_threshold=2, max_tracker_size=3)" in text
    assert run_pytest(folder) == 0


def test_a_call_that_does_not_return_makes_the_test_red(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("command", "checks"):
        monkeypatch.setattr(f"kvoffload.contract.{module}.time_limit", partial(time_limit, 0.1))
    result = replayed("users_module:Manager", "manager 1; lookup a", "--pytest", "-")
    assert result.exit_code == 1
    with pytest.raises(ContractViolation, match="does not return"):
        run_test(result.stdout)
    (folder / "users_module.py").write_text(FIXED)
    del sys.modules["users_module"]
    run_test(result.stdout)


def test_a_file_that_cannot_be_written_is_exit_code_2_and_a_sentence(folder: Path) -> None:
    result = replayed("users_module:Policy", HISTORY, "--pytest", "no_such_folder/test_it.py")
    assert result.exit_code == 2
    assert re.search("no_such_folder/test_it.py cannot be written: No such file or directory", result.stderr)
