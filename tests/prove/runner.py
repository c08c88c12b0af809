"""Runs CrossHair in child processes, each under a hard wall limit."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
LIMIT = 120.0  # wall seconds a property; CrossHair's own limits do not stop it where it hangs


@dataclass(frozen=True)
class Judgement:
    """What CrossHair found.

    Attributes:
        verdicts: one for each condition, in order; none if it gave none.
        says: its messages, or why there are none.
    """

    verdicts: tuple[str, ...]
    says: str


def judge(table: str, name: str, limit: float = LIMIT) -> dict[str, Judgement]:
    """What is found of the named property of a table of proofs: of its ``proof``, ``witness`` and ``fault``."""
    command = [sys.executable, "-m", "tests.prove.child", table, name]
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONOPTIMIZE"}
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=ROOT, env=environment, stdout=pipe, stderr=pipe, text=True) as child:
        try:
            printed, complaint = child.communicate(timeout=limit)
            ending = f"exit code {child.returncode}: {complaint[-2000:]}"
        except subprocess.TimeoutExpired:
            child.kill()
            printed, _ = child.communicate()
            ending = f"no verdict within {limit:.0f} s"
    found = [json.loads(line) for line in printed.splitlines()]
    judged = {
        one["kind"]: Judgement(tuple(one["verdicts"]), "\n".join(one["says"]) or "no conditions") for one in found
    }
    return {kind: judged.get(kind, Judgement((), ending)) for kind in ("proof", "witness", "fault")}
