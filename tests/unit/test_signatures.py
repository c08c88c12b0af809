"""A signature that fits nothing is told before anything is searched: the method, what it takes, how it is called."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from kvoffload import CPUOffloadingManager, LRUCachePolicy
from kvoffload.cli import app
from kvoffload.contract import check_manager, check_policy
from kvoffload.contract.targets.adapters import SignatureError, as_manager, as_policy
from tests.unit.fakes import Manager024, Policy024

ADVICE = "Give it one of these signatures, or check a factory that wraps it."


def policy_with(**methods: Callable[..., Any]) -> type[Any]:
    return type("Users", (Policy024,), methods)


def manager_with(**methods: Callable[..., Any]) -> type[Any]:
    return type("Users", (Manager024,), methods)


def sentence_of(check: Callable[[Any], Any], make: Any) -> str:
    with pytest.raises(SignatureError) as caught:
        check(make)
    return str(caught.value)


def evict_without_protected(self: Any, n: int) -> None: ...
def evict_with_three(self: Any, n: int, protected: Any, now: float) -> None: ...
def insert_of_key(self: Any, key: bytes) -> None: ...
def touch_of_nothing(self: Any) -> None: ...
def touch_with_clock(self: Any, keys: Any, now: float, weight: float) -> None: ...
def get_by_name(self: Any, *, key: bytes) -> None: ...
def clear_with_flag(self: Any, hard: bool) -> None: ...
def store_of_nothing(self: Any) -> None: ...
def lookup_of_two(self: Any, key: bytes, context: Any, now: float) -> None: ...


@pytest.mark.parametrize(
    ("method", "function", "takes", "called"),
    [
        ("evict", evict_without_protected, "(n: 'int') -> 'None'", "evict(n, protected)"),
        ("evict", evict_with_three, "(n: 'int', protected: 'Any', now: 'float') -> 'None'", "evict(n, protected)"),
        ("insert", insert_of_key, "(key: 'bytes') -> 'None'", "insert(key, block, req_context) or insert(key, block)"),
        ("touch", touch_of_nothing, "() -> 'None'", "touch(keys, req_context) or touch(keys)"),
        (
            "touch",
            touch_with_clock,
            "(keys: 'Any', now: 'float', weight: 'float') -> 'None'",
            "touch(keys, req_context) or touch(keys)",
        ),
        ("get", get_by_name, "(*, key: 'bytes') -> 'None'", "get(key)"),
        ("clear", clear_with_flag, "(hard: 'bool') -> 'None'", "clear()"),
    ],
)
def test_a_policys_method_that_fits_nothing_is_named_with_what_it_takes_and_how_it_is_called(
    method: str, function: Callable[..., Any], takes: str, called: str
) -> None:
    sentence = sentence_of(check_policy, policy_with(**{method: function}))
    assert sentence == f"Users.{method} takes {takes}; it is called as {called}. {ADVICE}"


@pytest.mark.parametrize(
    ("method", "function", "takes", "called"),
    [
        ("prepare_store", store_of_nothing, "() -> 'None'", "prepare_store(keys, req_context) or prepare_store(keys)"),
        (
            "lookup",
            lookup_of_two,
            "(key: 'bytes', context: 'Any', now: 'float') -> 'None'",
            "lookup(key, req_context) or lookup(key)",
        ),
    ],
)
def test_a_managers_method_that_fits_nothing_is_named_with_what_it_takes_and_how_it_is_called(
    method: str, function: Callable[..., Any], takes: str, called: str
) -> None:
    sentence = sentence_of(check_manager, manager_with(**{method: function}))
    assert sentence == f"Users.{method} takes {takes}; it is called as {called}. {ADVICE}"


def test_a_policy_without_evict_is_told_so() -> None:
    class NoPolicy:
        def __init__(self, capacity: int) -> None: ...

        def insert(self, key: bytes, block: Any) -> None: ...

    assert sentence_of(check_policy, NoPolicy) == "NoPolicy has no evict(), which every policy has."


def test_a_manager_without_complete_load_is_told_so() -> None:
    half = manager_with(complete_load=None)  # type: ignore[arg-type]
    assert sentence_of(check_manager, half) == "Users has no complete_load(), which every manager has."


def test_a_policy_that_does_not_fit_is_made_once_and_never_called() -> None:
    made: list[int] = []

    class Counts(Policy024):
        def __init__(self, capacity: int) -> None:
            made.append(capacity)
            super().__init__(capacity)

        def insert(self, key: bytes) -> None:  # type: ignore[override]
            raise AssertionError

    sentence_of(check_policy, Counts)
    assert made == [2]


def test_what_takes_anything_fits() -> None:
    def anything(self: Any, *arguments: Any, **keywords: Any) -> None: ...

    assert "touch" in as_policy(policy_with(touch=anything)(2)).takes_request
    assert as_manager(manager_with(complete_store=anything)(2)).numbers_transfers


def test_a_manager_whose_completions_take_a_transfer_id_numbers_its_transfers() -> None:
    assert as_manager(CPUOffloadingManager(2)).numbers_transfers
    assert not as_manager(Manager024(2)).numbers_transfers


def test_a_signature_that_fits_nothing_is_exit_code_2_and_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "users_signatures.py").write_text(
        "from kvoffload import LRUCachePolicy\n\nclass Mine(LRUCachePolicy):\n    def touch(self): pass\n"
    )
    monkeypatch.chdir(tmp_path)
    for command in (["check", "users_signatures:Mine"], ["replay-history", "users_signatures:Mine", "policy 1"]):
        result = CliRunner().invoke(app, command)
        assert (result.exit_code, result.stdout) == (2, "")
        assert result.stderr == (
            f"kvoffload {command[0]}: users_signatures:Mine cannot be called: Mine.touch takes (); it is called as "
            f"touch(keys, req_context) or touch(keys). {ADVICE}\n"
        )


def test_a_method_written_in_c_is_taken_to_take_what_ours_do() -> None:
    class InC(LRUCachePolicy):
        def __init__(self, capacity: int) -> None:
            super().__init__(capacity)
            self.touch: Any = {}.update  # has no signature to look at

    assert "touch" in as_policy(InC(2)).takes_request
