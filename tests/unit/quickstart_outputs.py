"""Runs what the quickstart tells its reader to run: ``python -m tests.unit.quickstart_outputs`` rewrites the page."""

from __future__ import annotations

import functools
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
QUICKSTART = ROOT / "docs" / "quickstart.md"
BLOCK = re.compile(r"(?<=^```console\n)(.*?)(?=^```$)", re.MULTILINE | re.DOTALL)


def commands(page: str) -> list[str]:
    """The commands in the page's console blocks."""
    return [line[2:] for block in BLOCK.findall(page) for line in block.splitlines() if line.startswith("$ ")]


def run_all(wanted: list[str]) -> dict[str, str]:
    """What each command prints: two at a time."""
    with ThreadPoolExecutor(2) as pool:
        return dict(zip(wanted, pool.map(run, wanted), strict=True))


@functools.cache
def run(command: str) -> str:
    """What the command prints, on a screen of 80 columns in a fresh copy of the examples."""
    environment = {
        **{
            name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "COV_", "CI", "BUILD_"))
        },
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "COLUMNS": "80",
    }
    with tempfile.TemporaryDirectory() as folder:
        for example in EXAMPLES.glob("*.py"):
            shutil.copy(example, folder)
        done = subprocess.run(
            command,
            shell=True,
            cwd=folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
    return done.stdout


def refreshed(page: str) -> str:
    """The page with the output of today under every command."""
    run_all(commands(page))
    return BLOCK.sub(lambda block: "".join(_with_output(block[1])), page)


def _with_output(block: str) -> Iterator[str]:
    for line in block.splitlines():
        if line.startswith("$ "):
            yield f"{line}\n"
            yield run(line[2:])


def steady(text: str) -> str:
    """The text without what another machine, another search or one more clause prints otherwise."""
    text = re.sub(r" in [\d.]+s\b", " in ...s", text)
    text = re.sub(r"\b\d+ (clauses|passed|skipped|deselected)\b", r"N \1", text)
    text = re.sub(r"\bcontract \d+, order", "contract N, order", text)
    text = re.sub(r"^[.sxF]{6,} +\[", "... [", text, flags=re.MULTILINE)
    return re.sub(r"^  (looked at|saw) .*$", r"  \1 ...", text, flags=re.MULTILINE)


if __name__ == "__main__":
    QUICKSTART.write_text(refreshed(QUICKSTART.read_text()))
