"""``policy_contract`` and ``manager_contract``: what pytest makes of a user's tests, in a run of its own."""

import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

import pytest

from kvoffload import LRUCachePolicy
from kvoffload.contract import CONTRACT_VERSION, Check, check_policy, manager_contract, policy_contract
from kvoffload.contract.clauses import clauses_for

USERS_TESTS = """
import pytest
from kvoffload import ARCCachePolicy, CPUOffloadingManager, LRUCachePolicy
from kvoffload.contract import manager_contract, policy_contract

class Forgetful(LRUCachePolicy):
    def mark_non_evictable(self, key):
        pass

class CannotBeMade(LRUCachePolicy):
    def __init__(self, capacity):
        raise RuntimeError("no room")

class TakesMore(LRUCachePolicy):
    def evict(self, n, protected, urgency):
        return super().evict(n, protected)

class TakesKeys(CPUOffloadingManager):
    def complete_store(self, keys, *args, **kwargs):
        listed = list(keys)
        if isinstance(keys, list):
            keys.clear()
        return super().complete_store(listed, *args, **kwargs)

searched = []

def counted(policy, check):
    made = []
    def make(capacity):
        made.append(capacity)
        return policy(capacity)
    check(make)
    searched.append((policy, bool(made)))

@policy_contract(order="lru", budget=40)
def test_kept(check):
    counted(LRUCachePolicy, check)

@policy_contract(budget=40)
@pytest.mark.parametrize("policy", [LRUCachePolicy, ARCCachePolicy])
def test_two(policy, check):
    counted(policy, check)

class TestOfAClass:
    @policy_contract(budget=40)
    def test_method(self, check):
        counted(Forgetful, check)

@policy_contract(budget=40)
def test_broken(check):
    check(Forgetful)

@policy_contract(budget=40, expected_failures={"evictable-exact": "our issue 12"})
def test_known(check):
    check(Forgetful)

@policy_contract(budget=40, expected_failures={"evict-atomic": "our issue 13"})
def test_known_no_more(check):
    check(LRUCachePolicy)

@policy_contract(budget=40, expected_failures={"evict-atomic": "our issue 14"})
def test_not_made(check):
    check(CannotBeMade)

@policy_contract(budget=40)
def test_not_callable(check):
    check(TakesMore)

@policy_contract(budget=1, expected_failures={"evict-atomic": "our issue 15"})
def test_raising(check):
    raise LookupError("the user's own")

@policy_contract(budget=40)
def test_twice(check):
    check(LRUCachePolicy)
    check(ARCCachePolicy)

@policy_contract(budget=40)
def test_never(check):
    pass

@manager_contract(budget=40, contract=1)
def test_new(check, tmp_path):
    assert tmp_path.is_dir()
    check(TakesKeys)

@manager_contract(budget=1)
def test_short(check):
    check(CPUOffloadingManager)
"""


class Outcome(NamedTuple):
    """What pytest says of one test."""

    kind: str
    text: str


Outcomes = dict[str, Outcome]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("user")
    (folder / "test_users.py").write_text(USERS_TESTS + "\ndef test_searched():\n    print(searched)\n")
    run(folder, "-W", "error", "--junitxml", "junit.xml", "-o", "junit_logging=system-out")
    return folder


@pytest.fixture(scope="module")
def outcomes(folder: Path) -> Outcomes:
    """By the test's name, without test_: what came of it."""
    found = {}
    for case in ElementTree.parse(folder / "junit.xml").iter("testcase"):
        results = [it for it in case if it.tag in ("failure", "error", "skipped")]
        kind = "passed" if not results else results[0].get("type", "").removeprefix("pytest.") or results[0].tag
        text = "".join(f"{it.get('message') or ''}\n{it.text or ''}\n" for it in case)
        found[case.get("name", "").removeprefix("test_")] = Outcome(kind, text)
    return found


def run(folder: Path, *options: str) -> str:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False).stdout


def of(test: str, outcomes: Outcomes) -> Outcomes:
    """Of one of the user's functions: what came of it, by clause."""
    return {name[len(test) + 1 : -1]: it for name, it in outcomes.items() if name.startswith(f"{test}[")}


def other_than(kind: str, found: Outcomes) -> set[str]:
    return {id for id, it in found.items() if it.kind != kind}


def test_there_is_one_test_for_each_clause_and_one_for_the_search(outcomes: Outcomes) -> None:
    assert list(of("kept", outcomes)) == [*(clause.id for clause in clauses_for("policy", "lru")), "conclusive"]
    assert list(of("new", outcomes)) == [*(clause.id for clause in clauses_for("manager", None)), "conclusive"]


def test_only_the_first_test_of_each_choice_of_parameters_searches(outcomes: Outcomes) -> None:
    begun = outcomes["searched"].text.count("True")
    assert begun == 1 + 2 + 1, "one of test_kept, one for each policy of test_two, one of the method"


def test_what_is_kept_passes(outcomes: Outcomes) -> None:
    assert other_than("passed", of("kept", outcomes)) == {"evict-scales"}


def test_what_is_not_claimed_is_skipped_with_the_capability_that_is_missing(outcomes: Outcomes) -> None:
    kind, text = outcomes["kept[evict-scales]"]
    assert kind == "skip"
    assert "not claimed: scales (its evictions cost the same however many blocks are resident)" in text


def test_the_search_s_own_test_prints_what_it_saw(outcomes: Outcomes) -> None:
    num_claimed = len(of("kept", outcomes)) - len({"evict-scales", "conclusive"})
    assert f": {num_claimed} clauses\n  looked at " in outcomes["kept[conclusive]"].text


def test_a_broken_clause_fails_its_own_test_only(outcomes: Outcomes) -> None:
    found = of("broken", outcomes)
    assert [id for id, it in found.items() if it.kind == "failure"] == ["evictable-exact"]


def test_a_method_of_a_class_is_checked_as_a_function_is(outcomes: Outcomes) -> None:
    kinds = [{id: it.kind for id, it in of(test, outcomes).items()} for test in ("method", "broken")]
    assert kinds[0] == kinds[1]


def test_a_failure_is_the_violation_and_no_frame(folder: Path) -> None:
    shown = run(folder, "-k", "test_broken and evictable-exact").partition("_ test_broken[evictable-exact] _")[2]
    text = shown.partition("\n")[2].partition("\n====")[0]
    assert text.startswith("evictable-exact: the evictable list holds the idle keys, each once\n\n  from kvoffload")
    assert "  from test_users import Forgetful\n" in text
    assert "  replay    kvoffload replay-history test_users:Forgetful '" in text
    assert ".py" not in text


def test_the_decorator_and_the_call_find_the_same(outcomes: Outcomes) -> None:
    class Forgetful(LRUCachePolicy):
        def mark_non_evictable(self, key: object) -> None:
            pass

    report = check_policy(Forgetful, budget=40)
    kinds = {"kept": "passed", "broken": "failure", "not claimed": "skip", "not judged": "skip"}
    assert {clause.id: kinds[report.status(clause)] for clause in report.clauses} == {
        id: it.kind for id, it in of("broken", outcomes).items() if id != "conclusive"
    }


def test_what_was_not_judged_is_skipped_and_not_green(outcomes: Outcomes) -> None:
    kind, text = outcomes["broken[memory-bounded]"]
    assert kind == "skip"
    assert "not judged: probed once nothing else is broken; broken so far: evictable-exact" in text


def test_an_expected_failure_is_xfailed_with_its_reason(outcomes: Outcomes) -> None:
    kind, text = outcomes["known[evictable-exact]"]
    assert kind == "xfail"
    assert text.startswith("our issue 12\n")


def test_a_clause_that_is_kept_though_expected_to_fail_fails(outcomes: Outcomes) -> None:
    kind, text = outcomes["known_no_more[evict-atomic]"]
    assert kind == "failure"
    assert "evict-atomic is kept, though expected to fail (our issue 13). Take it out of expected_failures." in text


def test_no_expected_failure_excuses_what_is_wrong_with_the_test_itself(outcomes: Outcomes) -> None:
    assert other_than("failure", of("raising", outcomes)) == set()


def test_a_factory_that_raises_fails_every_test_with_a_sentence_and_the_user_s_own_line(outcomes: Outcomes) -> None:
    found = of("not_made", outcomes)
    assert other_than("failure", found) == set()
    text = found["evict-exact"].text
    assert "could not be checked: test_users:CannotBeMade raised RuntimeError when it was made for 2 blocks: no" in text
    assert "raised in __init__(), " in text and "test_users.py:12" in text
    assert "decorators.py" not in text and "target.py" not in text


def test_what_cannot_be_called_fails_with_a_sentence(outcomes: Outcomes) -> None:
    text = outcomes["not_callable[evict-exact]"].text
    assert (
        "could not be checked: TakesMore.evict takes (n, protected, urgency); it is called as evict(n, protect" in text
    )
    assert ".py" not in text


def test_a_clause_newer_than_the_contract_is_never_failed(outcomes: Outcomes) -> None:
    kind, text = outcomes["new[arguments-kept]"]
    assert kind == "xfail"
    assert text.startswith("new in contract 2: a call leaves what it was given as it was")
    # So few histories, each of which ends where the clause breaks, show too little else.
    assert {id for id, it in of("new", outcomes).items() if it.kind == "failure"} <= {"conclusive"}


def test_a_search_that_shows_too_little_fails_one_test_that_says_what_never_came_up(outcomes: Outcomes) -> None:
    found = of("short", outcomes)
    assert [id for id, it in found.items() if it.kind == "failure"] == ["conclusive"]
    assert "inconclusive: never came up: " in found["conclusive"].text
    assert "with a budget of more than 1" in found["conclusive"].text


def test_two_factories_in_one_test_are_an_error(outcomes: Outcomes) -> None:
    found = of("twice", outcomes)
    assert other_than("failure", found) <= {"evict-scales"}
    assert (
        "check was called with LRUCachePolicy and then with ARCCachePolicy; a test checks one"
        in found["get-agrees"].text
    )


def test_a_test_that_never_calls_check_fails(outcomes: Outcomes) -> None:
    found = of("never", outcomes)
    assert other_than("failure", found) == set()
    assert "test_never never called check, so that nothing was checked" in found["get-agrees"].text


@pytest.mark.parametrize("contract", [policy_contract, manager_contract])
@pytest.mark.parametrize(
    ("declared", "sentence"),
    [
        ({"expected_failures": {"evict-atomics": "x"}}, "'evict-atomics' is no clause; the clauses are get-agrees"),
        (
            {"expected_failures": {"order-arc": "x"}, "order": "lru"},
            "'order-arc', which is no clause of a .* order lru",
        ),
        ({"order": "belady"}, "order is 'belady'; known are arc, fifo"),
        ({"capabilities": ["flies"]}, "the capability is 'flies'; known of a"),
        ({"contract": 99}, f"contract is 99; there are the versions 1 to {CONTRACT_VERSION}"),
    ],
)
def test_what_is_unknown_is_refused_where_it_is_declared(
    contract: Callable[..., object], declared: dict[str, object], sentence: str
) -> None:
    with pytest.raises(ValueError, match=sentence):
        contract(**declared)


@pytest.mark.parametrize("contract", [policy_contract, manager_contract])
def test_an_option_that_there_is_none_of_is_refused_where_it_is_declared(contract: Callable[..., object]) -> None:
    with pytest.raises(TypeError, match="_contract was given ordr; it takes order, capabilities, expected_failures"):
        contract(ordr="lru")


@policy_contract(budget=1)
def test_the_function_may_take_the_request_of_pytest_itself(request: pytest.FixtureRequest, check: Check) -> None:
    assert request.node.originalname == "test_the_function_may_take_the_request_of_pytest_itself"
    if "get-agrees" not in request.node.name:
        pytest.skip("one of them is enough")
    check(LRUCachePolicy)


def test_what_pytest_cannot_call_with_a_check_is_refused() -> None:
    async def test_it(check: object) -> None: ...

    for decorated in (test_it, type("TestIt", (), {})):
        with pytest.raises(TypeError, match="is no plain function"):
            policy_contract()(decorated)


def modules_after(statement: str, names: Sequence[str]) -> str:
    program = f"import sys; {statement}; print([name for name in {names!r} if name in sys.modules])"
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.strip()


def test_importing_the_contract_imports_neither_pytest_nor_hypothesis() -> None:
    assert modules_after("import kvoffload.contract", ["pytest", "_pytest", "hypothesis"]) == "[]"
