"""The examples and the quickstart do what they say."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.quickstart_outputs import EXAMPLES, QUICKSTART, commands, refreshed, run, run_all, steady

PAGE = QUICKSTART.read_text()
FILES = sorted(EXAMPLES.glob("*.py"))
THE_GREEN_ONES = "python -m pytest -q usage.py -k 'good_policy or manager'"


def told(file: Path) -> tuple[str, list[str]]:
    """The command in the file's docstring, and the lines that it is said to print; ... stands for any."""
    docstring = ast.get_docstring(ast.parse(file.read_text())) or ""
    _, _, told = docstring.partition("\n$ ")
    command, *lines = told.partition("\n\n")[0].splitlines()
    return command, lines


@pytest.fixture(scope="module", autouse=True)
def side_by_side() -> None:
    """Everything is run before the first test asks, two at a time."""
    run_all(list(dict.fromkeys([*commands(PAGE), THE_GREEN_ONES, *(told(file)[0] for file in FILES)])))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_an_example_prints_what_its_docstring_tells(file: Path) -> None:
    command, lines = told(file)
    pattern = "".join(
        r"(.*\n)*" if line == "..." else re.escape(f"{line}\n") for line in steady("\n".join(lines)).split("\n")
    )
    assert re.fullmatch(pattern, steady(run(command))), run(command)


def test_the_good_ones_are_green() -> None:
    assert re.fullmatch(r"[.s]+ +\[100%\]\n\d+ passed, \d+ skipped, .*\n", run(THE_GREEN_ONES)), run(THE_GREEN_ONES)


def test_the_quickstart_shows_what_comes_out() -> None:
    today = refreshed(PAGE)
    assert steady(today) == steady(PAGE), "python -m tests.unit.quickstart_outputs rewrites the page"


def test_the_quickstart_s_tests_are_those_of_the_examples() -> None:
    examples = "".join(file.read_text() for file in FILES)
    assert [block for block in python_blocks() if block not in examples] == []


def python_blocks() -> Iterator[str]:
    return (found[1] for found in re.finditer(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL))
