"""What ``kvoffload check`` writes for machines, and its text: JSON, JUnit, one seed one text, what was expected."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from typer.testing import CliRunner, Result

from kvoffload.cli import app
from kvoffload.contract import CLAUSES, CONTRACT_VERSION
from kvoffload.contract.reports.exports import FORMATS

MODULE = """
from kvoffload import LRUCachePolicy

class Kept(LRUCachePolicy):
    pass

class Unlisted(LRUCachePolicy):
    def mark_non_evictable(self, key):
        pass

class EmptiesList(LRUCachePolicy):
    def touch(self, keys, req_context):
        super().touch(tuple(keys), req_context)
        if len(keys) == 3:
            keys.clear()

class KeepsItsList(LRUCachePolicy):
    def clear(self):
        self.blocks.clear()
"""
POLICY_CLAUSES = [c.id for c in CLAUSES if "policy" in c.applies_to and not c.id.startswith("order-")]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "users_exports.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def checked(name: str, *options: str, budget: int = 20) -> Result:
    return CliRunner().invoke(app, ["check", f"users_exports:{name}", "--budget", str(budget), *options])


def data_of(result: Result) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(result.stdout)
    return data


# --- JSON ---


def test_json_has_every_clause_with_its_status() -> None:
    result = checked("Kept", "--json", budget=50)
    data = data_of(result)
    assert (result.exit_code, data["verdict"], data["exit_code"]) == (0, "kept", 0)
    assert list(data["clauses"]) == POLICY_CLAUSES
    assert {id for id, it in data["clauses"].items() if it != {"status": "kept"}} == {"evict-scales"}
    assert data["clauses"]["evict-scales"] == {"status": "not claimed"}
    assert data["not_claimed"] == ["scales"]


def test_json_says_what_was_checked_and_what_came_up() -> None:
    data = data_of(checked("Kept", "--json", "--order", "lru", "--seed", "3", budget=60))
    about = ("target", "subject", "contract", "order", "seed", "never_came_up")
    assert [data[name] for name in about] == ["users_exports:Kept", "policy", CONTRACT_VERSION, "lru", 3, []]
    assert data["histories"] >= 60 and data["calls"]["Evict"] and data["situations"]["evicted"]
    assert data["distinct_states"] > 0 and data["seconds"] > 0


def test_json_of_a_broken_clause_has_the_text_and_its_parts() -> None:
    result = checked("Unlisted", "--json")
    data = data_of(result)
    assert (result.exit_code, data["verdict"]) == (1, "broken")
    broken = data["clauses"]["evictable-exact"]
    assert broken["status"] == "broken"
    violation = broken["violation"]
    assert violation["text"].startswith("evictable-exact: the evictable list holds the idle keys, each once\n")
    assert violation["history"] == "policy 1; insert-idle a; pin a" and violation["num_calls"] == 2
    assert violation["why"] == "a is pinned, not idle"


def test_json_of_a_short_look_says_what_never_came_up() -> None:
    result = CliRunner().invoke(app, ["check", "kvoffload:CPUOffloadingManager", "--budget", "1", "--json"])
    data = data_of(result)
    assert (result.exit_code, data["verdict"], data["exit_code"]) == (3, "inconclusive", 3)
    assert data["never_came_up"]


# --- JUnit ---


def suite_of(path: Path) -> ElementTree.Element:
    return ElementTree.parse(path).getroot()


def test_junit_has_a_test_case_for_each_clause_and_counts_the_failures_and_skips(folder: Path) -> None:
    result = checked("Unlisted", "--junit", "report.xml")
    suite = suite_of(folder / "report.xml")
    assert result.exit_code == 1 and result.stdout.startswith("evictable-exact: ")
    assert (suite.tag, suite.get("name")) == ("testsuite", "users_exports:Unlisted")
    assert [case.get("name") for case in suite.findall("testcase")] == POLICY_CLAUSES
    numbers = [suite.get(name) for name in ("tests", "failures", "skipped")]
    assert numbers == [str(len(POLICY_CLAUSES)), "1", "2"]
    assert len(suite.findall("testcase/failure")) == 1 and len(suite.findall("testcase/skipped")) == 2
    (failure,) = suite.findall("testcase[@name='evictable-exact']/failure")
    assert failure.get("message") == "the evictable list holds the idle keys, each once"
    assert (failure.text or "").startswith("evictable-exact: ")
    (skipped,) = suite.findall("testcase[@name='evict-scales']/skipped")
    assert skipped.get("message") == "not claimed"
    (skipped,) = suite.findall("testcase[@name='memory-bounded']/skipped")
    assert skipped.get("message") == "not judged: probed once nothing else is broken"
    assert (suite.findtext("system-out") or "").startswith("BROKEN: users_exports:Unlisted")


def test_junit_of_a_short_look_has_a_failed_case_of_its_own(folder: Path) -> None:
    CliRunner().invoke(app, ["check", "kvoffload:CPUOffloadingManager", "--budget", "1", "--junit", "report.xml"])
    (failure,) = suite_of(folder / "report.xml").findall("testcase[@name='conclusive']/failure")
    assert (failure.get("message") or "").startswith("never came up, or not judged: ")


def test_what_a_policy_says_cannot_spoil_the_xml(folder: Path) -> None:
    (folder / "users_odd.py").write_text(
        "from kvoffload import LRUCachePolicy\n\nclass Odd(LRUCachePolicy):\n"
        "    def clear(self):\n        raise ValueError('<a> & \\x00\\x1b[31m')\n"
    )
    CliRunner().invoke(app, ["check", "users_odd:Odd", "--budget", "20", "--junit", "report.xml"])
    assert suite_of(folder / "report.xml").get("failures") == "1"


def test_a_report_that_cannot_be_written_is_a_sentence() -> None:
    result = checked("Kept", "--junit", "no/such/folder/report.xml")
    assert result.exit_code == 2
    assert result.stderr.startswith("kvoffload check: ") and "no/such/folder/report.xml" in result.stderr


# --- seeds ---


def test_the_same_seed_gives_the_same_text_and_another_one_looks_at_others() -> None:
    first, again, other = (checked("Kept", "--seed", seed, budget=8).stdout for seed in ("5", "5", "6"))
    assert first == again
    assert " histories with seed 5, " in first and " histories with seed 6, " in other
    assert first.partition(" with seed 5, ")[2] != other.partition(" with seed 6, ")[2]


# --- what is expected ---


def test_a_failure_that_is_expected_is_kept_and_shown() -> None:
    result = checked("KeepsItsList", "--expected-failure", "clear-fresh=our issue 12", budget=60)
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("KEPT: users_exports:KeepsItsList, ")
    assert "\n  broken, as expected: clear-fresh (our issue 12)\n" in result.stdout


def test_a_clause_that_is_kept_though_it_was_expected_to_fail_is_broken() -> None:
    result = checked("Kept", "--expected-failure", "evict-idle=our issue 7", budget=60)
    assert result.exit_code == 1
    line = "\n  kept, though expected to fail: evict-idle (our issue 7); take it off the list\n"
    assert result.stdout.startswith("BROKEN: ") and line in result.stdout


def test_expectations_are_in_json_and_junit_as_well(folder: Path) -> None:
    options = ["--expected-failure", "evictable-exact=our issue 12", "--expected-failure", "evict-idle=our issue 7"]
    clauses = data_of(checked("Unlisted", "--json", "--junit", "report.xml", *options))["clauses"]
    assert clauses["evictable-exact"]["status"] == "expected failure"
    assert clauses["evictable-exact"]["expected"] == "our issue 12"
    assert clauses["evict-idle"] == {"status": "kept, though expected to fail", "expected": "our issue 7"}
    suite = suite_of(folder / "report.xml")
    (skipped,) = suite.findall("testcase[@name='evictable-exact']/skipped")
    assert skipped.get("message") == "expected failure: our issue 12"
    (failure,) = suite.findall("testcase[@name='evict-idle']/failure")
    assert (failure.get("message"), failure.text) == ("kept, though expected to fail", "our issue 7")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--expected-failure", "evict-idle"], "'evict-idle' has no reason; write the clause, = and why"),
        (
            ["--expected-failure", "evict-ideal=x"],
            "'evict-ideal' is no clause; the clauses are get-agrees, evict-exact",
        ),
        (
            ["--expected-failure", "events-once=x"],
            "expected_failures names 'events-once', which is no clause of a policy",
        ),
        (["--contract", "99"], f"contract is 99; there are the versions 1 to {CONTRACT_VERSION}. Name one of them."),
        (["--contract", "0"], f"contract is 0; there are the versions 1 to {CONTRACT_VERSION}. Name one of them."),
    ],
)
def test_an_expectation_that_makes_no_sense_is_exit_code_2_and_a_sentence(options: list[str], sentence: str) -> None:
    result = checked("Kept", *options)
    assert (result.exit_code, result.stdout) == (2, "")
    assert sentence in " ".join(result.stderr.replace("│", " ").split())


def test_a_clause_that_came_after_the_contract_is_shown_as_new_and_not_failed() -> None:
    result = checked("EmptiesList", "--contract", "1", budget=60)
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("KEPT: users_exports:EmptiesList, policy contract 1, ")
    assert f"\n  new since contract 1 and not failed: arguments-kept (now {CONTRACT_VERSION})\n" in result.stdout


def test_what_is_new_is_a_failure_once_the_contract_is_the_newest() -> None:
    for options, status in (([], "broken"), (["--contract", "1"], "new")):
        clauses = data_of(checked("EmptiesList", "--json", *options))["clauses"]
        assert clauses["arguments-kept"]["status"] == status


# --- a file in any format ---


def test_a_report_is_written_to_a_file_in_each_format(folder: Path) -> None:
    options = [option for name in FORMATS for option in ("--report", f"{name}=report.{name}")]
    result = checked("Unlisted", "--junit", "report.xml", *options)
    assert result.exit_code == 1
    assert json.loads((folder / "report.json").read_text())["verdict"] == "broken"
    assert (folder / "report.junit").read_text() == (folder / "report.xml").read_text()
    assert (folder / "report.text").read_text().startswith("evictable-exact: ")


@pytest.mark.parametrize("text", ["pdf=report.pdf", "json", "json="])
def test_an_unknown_format_and_a_missing_file_are_exit_code_2_and_a_sentence(text: str) -> None:
    result = checked("Kept", "--report", text)
    assert result.exit_code == 2 and "is no report; write FORMAT=FILE" in " ".join(result.output.split())
