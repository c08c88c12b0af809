"""A signature that fits nothing is told before anything is searched: the method, what it takes, how it is called."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from kvoffload import CPUOffloadingManager, LRUCachePolicy, OffloadKey
from kvoffload.cli import app
from kvoffload.contract import BlockStatus, Request, Verdict, check_manager, check_policy, keys
from kvoffload.contract.targets import adapters
from kvoffload.contract.targets.adapters import ENTRY_POINT_GROUP, SignatureError, as_manager, as_policy
from kvoffload.contract.targets.adapters.signature import fit_of
from tests.unit.fakes import Manager020, Manager024, Manager033, Policy020, Policy024, Policy033

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


# --- wrappers that pass everything on ---

a, b = keys("ab")


class Held:
    """Passes a policy's calls on to the object that it holds."""

    def __init__(self, policy: Any) -> None:
        self._inner = policy

    def insert(self, *args: Any, **kwargs: Any) -> Any:
        return self._inner.insert(*args, **kwargs)

    def touch(self, *args: Any, **kwargs: Any) -> Any:
        return self._inner.touch(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        if name == "_inner":
            raise AttributeError(name)
        return getattr(self._inner, name)


@pytest.mark.parametrize("inner", [Policy020, Policy033])
def test_a_policy_behind_a_wrapper_is_called_as_it_takes_it(inner: type[Any]) -> None:
    took = as_policy(inner(2)).takes_request & {"insert", "touch"}
    assert as_policy(Held(Held(inner(2)))).takes_request & {"insert", "touch"} == took
    report = check_policy(lambda capacity: Held(inner(capacity)), budget=60)
    assert not report.broken, report


def passing_on(cls: type[Any]) -> type[Any]:
    """The class with methods that call those of the class itself: nothing shows what they take."""

    def method(name: str) -> Callable[..., Any]:
        return lambda self, *args, **kwargs: getattr(super(made, self), name)(*args, **kwargs)

    made: type[Any] = type("PassesOn", (cls,), {name: method(name) for name in ("touch", "complete_load")})
    return made


@pytest.mark.parametrize("inner", [Manager020, Manager024, Manager033])
def test_a_manager_whose_methods_pass_everything_on_is_tried_once(inner: type[Any]) -> None:
    manager = as_manager(passing_on(inner)(2))
    manager.touch([a], Request("r1"))
    assert ("touch" in manager.takes_request) is (inner is not Manager020)
    report = check_manager(passing_on(inner), budget=60)
    assert report.verdict is Verdict.KEPT, report


def test_a_call_that_could_not_be_passed_on_is_made_without_the_request_from_then_on() -> None:
    calls: list[int] = []

    class Tried(Policy020):
        def touch(self, *args: Any) -> None:
            calls.append(len(args))
            super().touch(*args)

    policy = as_policy(Tried(2))
    policy.touch([a])
    policy.touch([a])
    assert calls == [2, 1, 1]


def test_a_type_error_of_the_method_itself_is_not_taken_for_a_call_that_could_not_be_passed_on() -> None:
    class Breaks(Policy024):
        def touch(self, keys: Any) -> None:
            raise TypeError("touch() takes no argument of this kind")

    class PassesOn(Breaks):
        def touch(self, *args: Any) -> None:
            super().touch(args[0])

    policy = as_policy(PassesOn(2))
    for _ in range(2):
        with pytest.raises(TypeError, match="of this kind"):
            policy.touch([a])
    assert "touch" in policy.takes_request


def test_two_policies_that_hold_each_other_are_no_endless_search() -> None:
    class Holds(Policy020):
        def touch(self, *args: Any) -> None: ...

    one, other = Holds(2), Holds(2)
    vars(one)["held"], vars(other)["held"] = other, one
    assert "touch" in fit_of(one, {"touch": ("keys",)}, (), {}).takes_request


# --- what an adapter makes is our interface ---


def test_what_is_adapted_is_not_adapted_again() -> None:
    policy, manager = as_policy(Policy020(2)), as_manager(Manager024(2))
    assert as_policy(policy) is policy and as_manager(manager) is manager
    assert check_manager(lambda n: as_manager(Manager024(n)), budget=60).verdict is Verdict.KEPT


def test_a_manager_s_ids_are_made_up_where_it_has_none_and_are_never_given_out_twice() -> None:
    manager = as_manager(Manager024(2))
    ids = []
    for key in (a, b):
        output = manager.prepare_store([key])
        assert output is not None
        manager.complete_store([key], transfer_id=output.transfer_id)
        ids.append(output.transfer_id)
    assert len(set(ids)) == 2
    assert (manager.num_free_blocks, manager.num_evictable_cache_blocks) == (0, 2)


def test_an_adapted_manager_shows_its_policy_and_its_statistics() -> None:
    ours = CPUOffloadingManager(2)
    manager = as_manager(ours)
    assert manager.policy is ours._policy and manager.get_stats() == ours.get_stats()
    assert as_manager(Manager024(2)).get_stats() is None


def test_an_insert_without_a_request_is_for_the_request_that_missed_the_key() -> None:
    told: list[Any] = []

    class Told(Policy033):
        def insert(self, key: OffloadKey, chunk: Any, req_context: Any) -> None:  # type: ignore[override]
            told.append(req_context)

    policy = as_policy(Told(2))
    policy.on_store_miss([a], Request("r1"))
    policy.insert(a, BlockStatus(0))
    assert [request.req_id for request in told] == ["r1"]


# --- families of other packages ---


class Shelf:
    """A policy of a library that nobody knows."""

    def __init__(self, capacity: int) -> None:
        self.books = LRUCachePolicy(capacity)

    def put_on(self, key: OffloadKey, block: BlockStatus) -> None:
        self.books.insert(key, block)


class ShelfAdapter:
    subject = "policy"

    def __init__(self, shelf: Shelf) -> None:
        self.insert = shelf.put_on
        for name in ("get", "remove", "evict", "clear", "touch", "mark_evictable", "mark_non_evictable"):
            setattr(self, name, getattr(shelf.books, name))

    @staticmethod
    def fits(made: Any) -> bool:
        return hasattr(made, "put_on")


class BrokenShelf(Shelf):
    def put_on(self, key: OffloadKey, block: BlockStatus) -> None:
        self.books.insert(key, block)
        self.books.evictable_blocks.pop(key, None)


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    point = EntryPoint("shelf", f"{__name__}:ShelfAdapter", ENTRY_POINT_GROUP)
    monkeypatch.setattr(EntryPoint, "load", lambda self: ShelfAdapter)
    monkeypatch.setattr(adapters, "entry_points", lambda group: [point] if group == ENTRY_POINT_GROUP else [])
    adapters._families.cache_clear()
    yield
    adapters._families.cache_clear()


@pytest.mark.usefixtures("installed")
def test_an_installed_package_adds_a_family_of_its_own() -> None:
    result = CliRunner().invoke(app, ["check", f"{__name__}:Shelf", "--budget", "60"])
    assert result.stdout.startswith(f"KEPT: {__name__}:Shelf, policy contract "), result.output


@pytest.mark.usefixtures("installed")
def test_the_program_of_its_violation_makes_the_policy_of_that_size() -> None:
    result = CliRunner().invoke(app, ["check", f"{__name__}:BrokenShelf", "--budget", "60"])
    assert result.exit_code == 1
    assert "  policy = as_policy(BrokenShelf(" in result.stdout
    assert "BrokenShelf())" not in result.stdout
    exec("\n".join(line[2:] for line in result.stdout.split("\n\n")[1].splitlines()), {})
