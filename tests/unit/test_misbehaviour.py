"""What raises, hangs, writes into its arguments or returns something else is a violation, never a traceback."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from kvoffload import CPUOffloadingManager, LRUCachePolicy
from kvoffload.contract.lockstep.violation import ContractViolation
from kvoffload.contract.reports.violation import describe_violation
from kvoffload.contract.search.search import search
from kvoffload.contract.targets.target import Target
from kvoffload.contract.targets.time_limit import time_limit
from tests.unit.fakes import Policy020


class Manager(CPUOffloadingManager):
    def __init__(self, num_blocks: int) -> None:
        super().__init__(num_blocks, enable_events=True)


def violation_of_policy(**members: Any) -> ContractViolation:
    return violation_of(Target("policy", type("Users", (LRUCachePolicy,), members), name="users:Users"))


def violation_of_manager(**members: Any) -> ContractViolation:
    return violation_of(Target("manager", type("Users", (Manager,), members), name="users:Users"))


def violation_of(target: Target) -> ContractViolation:
    violation = search(target, budget=40).violation
    assert violation is not None
    violation.text = describe_violation(violation)
    return violation


def facts(violation: ContractViolation) -> tuple[str, str]:
    """Which clause, and what came."""
    assert str(violation).startswith(f"{violation.clause.id}: {violation.clause.sentence}\n\n")
    actual = next(line for line in str(violation).splitlines() if line.startswith("  actual "))
    return violation.clause.id, actual.removeprefix("  actual").strip()


def raises(self: Any, *_: Any, **__: Any) -> Any:
    raise KeyError("theirs")


def hangs(self: Any, *_: Any, **__: Any) -> Any:
    end = time.monotonic() + 5
    while time.monotonic() < end:
        pass


def exits(self: Any, *_: Any, **__: Any) -> Any:
    sys.exit(3)


def returns(value: Any) -> Callable[..., Any]:
    return lambda self, *_, **__: value


# --- raises ---

POLICY_RAISES = {
    "get": "get-agrees",
    "insert": "get-agrees",
    "remove": "get-agrees",
    "mark_evictable": "get-agrees",
    "mark_non_evictable": "get-agrees",
    "on_store_miss": "get-agrees",
    "touch": "touch-total",
    "clear": "clear-fresh",
    "evict": "evict-exact",
}
MANAGER_RAISES = {
    "lookup": "lookup-truth",
    "prepare_store": "store-refusal",
    "complete_store": "complete-pending-only",
    "prepare_load": "load-ready-only",
    "complete_load": "release-balanced",
    "touch": "touch-pure",
    "on_request_finished": "touch-pure",
    "reset_cache": "reset-fresh",
    "take_events": "events-once",
}


@pytest.mark.parametrize("method", POLICY_RAISES)
def test_a_policy_that_raises_breaks_the_clause_of_the_call(method: str) -> None:
    found = facts(violation_of_policy(**{method: raises}))
    assert found == (POLICY_RAISES[method], "raises KeyError: 'theirs'")


@pytest.mark.parametrize("method", MANAGER_RAISES)
def test_a_manager_that_raises_breaks_the_clause_of_the_call(method: str) -> None:
    id, actual = facts(violation_of_manager(**{method: raises}))
    assert id in (MANAGER_RAISES[method], "stale-ignored")
    assert actual == "raises KeyError: 'theirs'"


def test_what_raised_stands_behind_the_call_that_raised() -> None:
    text = str(violation_of_policy(mark_non_evictable=raises))
    assert "  a_block.ref_cnt += 1; policy.mark_non_evictable(a)" in text
    assert "policy.mark_non_evictable(a)              # -> raises KeyError\n" in text


def test_a_hook_that_raises_is_in_the_program() -> None:
    text = str(violation_of_policy(on_store_miss=raises))
    assert "; policy.on_store_miss([a]" in text and "; policy.insert(a, a_block)  # -> raises KeyError\n" in text


def test_the_program_of_what_raised_raises() -> None:
    text = str(violation_of(Target("policy", RaisesInRemove, name=f"{__name__}:RaisesInRemove")))
    program = "\n".join(line[2:] for line in text.split("\n\n")[1].splitlines())
    with pytest.raises(KeyError, match="theirs"):
        exec(program, {})


class RaisesInRemove(LRUCachePolicy):
    remove = raises


def test_what_ends_the_process_is_told_and_does_not_end_it() -> None:
    assert facts(violation_of_policy(clear=exits)) == ("clear-fresh", "ends the process (SystemExit: 3)")


# --- hangs ---


@pytest.fixture
def _short_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """The search and the look before it wait for 50 ms, where they wait for seconds else."""
    short = lambda *_: time_limit(0.05)  # noqa: E731
    monkeypatch.setattr("kvoffload.contract.search.search.time_limit", short)
    monkeypatch.setattr("kvoffload.contract.targets.target.time_limit", short, raising=False)


@pytest.mark.usefixtures("_short_limits")
def test_a_policy_that_hangs_is_told_in_place_of_an_answer() -> None:
    violation = violation_of_policy(touch=hangs)
    assert facts(violation) == ("touch-total", "does not return within 2 s")
    assert "  policy.touch([])  # -> does not return within 2 s\n" in str(violation)


@pytest.mark.usefixtures("_short_limits")
@pytest.mark.parametrize(("method", "clause"), [("touch", "touch-pure"), ("prepare_load", "load-ready-only")])
def test_a_manager_that_hangs_is_told_in_place_of_an_answer(method: str, clause: str) -> None:
    assert facts(violation_of_manager(**{method: hangs})) == (clause, "does not return within 2 s")


@pytest.mark.usefixtures("_short_limits")
@pytest.mark.parametrize("method", ["complete_store", "lookup"])
def test_what_hangs_already_when_it_is_looked_at_first_is_told_as_well(method: str) -> None:
    id, actual = facts(violation_of_manager(**{method: hangs}))
    assert id in (MANAGER_RAISES[method], "stale-ignored")
    assert actual == "does not return within 2 s"


def test_victims_that_never_come_are_not_waited_for() -> None:
    calls: list[int] = []

    class Lazy(Policy020):
        def evict(self, n: int, protected: set[Any]) -> Any:
            calls.append(n)
            if len(calls) > 5000:
                raise AssertionError("asked for ever")
            return (pair for pair in super().evict(n, protected) or ())

    id, actual = facts(violation_of(Target("policy", Lazy)))
    assert id == "evict-exact" and actual.startswith("returns <generator object ")


# --- writes into what it was given ---


def test_a_policy_that_empties_the_protected_keys_is_told() -> None:
    def evict(self: Any, n: int, protected: set[Any]) -> Any:
        victims = LRUCachePolicy.evict(self, n, protected)
        protected.clear()
        return victims

    assert facts(violation_of_policy(evict=evict)) == ("arguments-kept", "the set of protected keys is now []")


def test_a_policy_that_turns_the_callers_list_round_is_told() -> None:
    def touch(self: Any, keys: list[Any], req_context: Any) -> None:
        keys.reverse()
        LRUCachePolicy.touch(self, keys[::-1], req_context)

    assert facts(violation_of_policy(touch=touch)) == ("arguments-kept", "the caller's list is now [b, a]")


def test_a_policy_that_pins_a_block_itself_is_told() -> None:
    def mark_evictable(self: Any, key: Any) -> None:
        LRUCachePolicy.mark_evictable(self, key)
        self.blocks[key].ref_cnt = 1

    found = facts(violation_of_policy(mark_evictable=mark_evictable))
    assert found == ("arguments-kept", "the block of a has ref_cnt 1 and block_id 0")


@pytest.mark.parametrize("method", ["prepare_store", "complete_store", "prepare_load", "complete_load", "touch"])
def test_a_manager_that_empties_the_callers_list_is_told(method: str) -> None:
    def empties(self: Any, keys: Any, *arguments: Any, **keywords: Any) -> Any:
        named = list(keys)
        try:
            return getattr(Manager, method)(self, named, *arguments, **keywords)
        finally:
            if isinstance(keys, list):
                keys.clear()

    assert facts(violation_of_manager(**{method: empties})) == ("arguments-kept", "the caller's list is now []")


# --- returns something else ---

PAIRS = "None or a list of (key, block) pairs"


@pytest.mark.parametrize("value", [True, 7, "ab", [1], [("a",)], {}])
def test_victims_of_another_type_are_told(value: Any) -> None:
    violation = violation_of_policy(evict=returns(value))
    assert (violation.expected, *facts(violation)) == (PAIRS, "evict-exact", f"returns {value!r}")


def test_victims_that_cannot_be_keys_are_told() -> None:
    def evict(self: Any, n: int, protected: set[Any]) -> Any:
        return [(["no", "key"], None)] * n

    assert "['no', 'key']" in str(violation_of_policy(evict=evict))


def test_a_block_of_another_type_is_told() -> None:
    assert facts(violation_of_policy(get=returns(5))) == ("get-agrees", "5")


LOOKUPS = "a result named MISS, HIT_PENDING, HIT, or a bool or None"
OUTPUT = "None, or an object with keys_to_store, store_spec, evicted_keys"
OTHER_TYPES: list[tuple[str, Any, str, str]] = [
    ("lookup", 7, "lookup-truth", LOOKUPS),
    ("lookup", "HIT", "lookup-truth", LOOKUPS),
    ("prepare_store", 7, "store-refusal", OUTPUT),
    ("take_events", "ab", "events-once", "an iterable"),
    ("take_events", None, "events-once", "an iterable"),
]


@pytest.mark.parametrize(("method", "value", "clause", "expected"), OTHER_TYPES)
def test_what_a_manager_returns_of_another_type_is_told(method: str, value: Any, clause: str, expected: str) -> None:
    violation = violation_of_manager(**{method: returns(value)})
    assert (violation.expected, *facts(violation)) == (expected, clause, f"returns {value!r}")


# --- raises when what it shows is read ---


class Unlisted(LRUCachePolicy):
    """Its list can be read by itself only."""

    @property
    def evictable_blocks(self) -> Any:
        if sys._getframe(1).f_code.co_name == "shown_evictable":
            raise RuntimeError("not for you")
        return self._listed

    @evictable_blocks.setter
    def evictable_blocks(self, listed: Any) -> None:
        self._listed = listed


class Ungettable(LRUCachePolicy):
    """Its blocks can be got by the manager only."""

    def get(self, key: Any) -> Any:
        if sys._getframe(1).f_code.co_name == "block":
            raise RuntimeError("not for you")
        return super().get(key)


def unreadable() -> Iterator[tuple[str, Target]]:
    def refuses(self: Any) -> Any:
        raise RuntimeError("not for you")

    refusing = property(refuses, lambda self, value: None)
    yield "a policy's list", Target("policy", Unlisted)
    yield "a managers policy's list", Target("manager", lambda n: CPUOffloadingManager(n, Unlisted))
    yield "a managers policy's get", Target("manager", lambda n: CPUOffloadingManager(n, Ungettable))
    for name in ("num_evictable_cache_blocks", "num_free_blocks"):
        yield name, Target("manager", type("Users", (Manager,), {name: refusing}))
    yield "get_stats", Target("manager", type("Users", (Manager,), {"get_stats": refuses}))


@pytest.mark.parametrize("target", [pytest.param(target, id=name) for name, target in unreadable()])
def test_what_cannot_be_read_is_told(target: Target) -> None:
    violation = violation_of(target)
    assert facts(violation)[1] == "RuntimeError: not for you"
    assert f" when what the {target.subject} shows after this call was read\n" in str(violation)
