"""These tests download other people's packages, so they run only where ``tests/peers`` is named: pytest tests/peers."""

from __future__ import annotations

from pathlib import Path

import pytest

HERE = Path(__file__).parent


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--all-versions", action="store_true", help="check every release from 0.20 to 0.33, not only some")


def pytest_ignore_collect(config: pytest.Config) -> bool | None:
    """Asked about what lies in this folder only."""
    started_in = config.invocation_params.dir
    named = [(started_in / argument.partition("::")[0]).resolve() for argument in config.args]
    return None if any(path.is_relative_to(HERE) for path in named) else True


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test that takes a ``subject`` is run for each."""
    from tests.peers.subjects import OLDER, SUBJECTS, UNPROMISED

    if "subject" in metafunc.fixturenames:
        older = OLDER if metafunc.config.getoption("--all-versions") else ()
        metafunc.parametrize("subject", (*SUBJECTS, *older), ids=str)
    if "unpromised" in metafunc.fixturenames:
        metafunc.parametrize("unpromised", UNPROMISED, ids=str)
