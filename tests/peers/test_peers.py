"""The contract, run on other people's released code; each subject has a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.peers.subject import UNAVAILABLE
from tests.peers.subjects import Subject

ROOT = Path(__file__).parents[2]
unavailable: dict[tuple[str, str], str] = {}
"""The releases that could not be had in this run, each with the reason: none is asked for twice."""


def report_on(subject: Subject) -> dict[str, Any]:
    """The report on the subject, as JSON has it; the test is skipped if its release cannot be had."""
    release = (subject.package, subject.version)
    if release not in unavailable:
        declared = [f"--capability={name}" for name in subject.capabilities]
        called = [subject.package, subject.version, subject.kind, subject.policy, *declared]
        command = [sys.executable, "-m", "tests.peers.subject", *called]
        done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=900, check=False)
        if done.returncode != UNAVAILABLE:
            assert done.stdout, done.stderr
            report: dict[str, Any] = json.loads(done.stdout)
            return report
        unavailable[release] = done.stderr.strip()
    pytest.skip(unavailable[release])


def test_a_release_breaks_the_clauses_that_it_is_known_to_break_and_no_others(subject: Subject) -> None:
    report = report_on(subject)
    assert broken(report) == set(subject.known), texts(report)
    assert report["verdict"] == "kept", report["never_came_up"]


def test_what_is_not_promised_is_known_to_be_so_or_not(unpromised: Subject) -> None:
    report = report_on(unpromised)
    assert broken(report) == set(unpromised.known), texts(report)


def broken(report: dict[str, Any]) -> set[str]:
    """The ids of the clauses that were seen broken."""
    return {id for id, clause in report["clauses"].items() if "violation" in clause}


def texts(report: dict[str, Any]) -> str:
    """What was seen, as a reader wants it."""
    return "\n\n".join(it["violation"]["text"] for it in report["clauses"].values() if "violation" in it)
