"""What an operation says of itself, and what a check takes from it."""

from typing import get_args

import pytest

from kvoffload.contract.calls import operations as ops
from kvoffload.contract.calls.operations import OPERATIONS, Operation, keys, operations_on
from kvoffload.contract.clauses import Subject
from kvoffload.contract.clauses.capabilities import capabilities_of
from kvoffload.contract.lockstep.manager import judges as manager_judges
from kvoffload.contract.lockstep.policy import judges as policy_judges
from kvoffload.contract.reports.situations import SITUATIONS, wanted
from kvoffload.interface import CachePolicy, OffloadingManager

SUBJECTS: tuple[Subject, ...] = get_args(Subject)
INTERFACES: dict[Subject, type] = {"policy": CachePolicy, "manager": OffloadingManager}
JUDGES = {"policy": policy_judges.JUDGES, "manager": manager_judges.JUDGES}
a, b = keys("ab")


def in_words(named: object) -> str:
    return "some"


@pytest.mark.parametrize("operation", OPERATIONS)
def test_an_operation_has_a_verb_but_for_a_fault(operation: type[Operation]) -> None:
    assert bool(operation.verbs) == (operation is not ops.PolicyFault)


@pytest.mark.parametrize("subject", SUBJECTS)
def test_a_verb_is_that_of_one_operation(subject: Subject) -> None:
    verbs = [verb for operation in operations_on(subject) for verb in operation.verbs]
    assert len(verbs) == len(set(verbs))


@pytest.mark.parametrize("subject", SUBJECTS)
def test_every_operation_has_a_judge(subject: Subject) -> None:
    assert JUDGES[subject].keys() == set(operations_on(subject))


@pytest.mark.parametrize("subject", SUBJECTS)
def test_an_operation_calls_a_method_of_the_interface(subject: Subject) -> None:
    methods = {operation.method for operation in operations_on(subject) if operation.verbs}
    assert methods <= {*dir(INTERFACES[subject]), "on_request_finished"}  # which a subject need not have


@pytest.mark.parametrize("subject", SUBJECTS)
def test_an_operation_or_situation_needs_capabilities_that_there_are(subject: Subject) -> None:
    known = {capability.id for capability in capabilities_of(subject)}
    needed = [*(operation.needs for operation in operations_on(subject)), *SITUATIONS[subject].values()]
    assert all(map(known.issuperset, needed))


@pytest.mark.parametrize("operation", [ops.PrepareStore, ops.PrepareLoad, ops.PolicyFault, ops.TouchKeys, ops.Lookup])
def test_what_a_call_cannot_do_without_is_asked_for(operation: type[Operation]) -> None:
    with pytest.raises(TypeError, match="missing"):
        operation()


def test_the_same_call_with_other_keys() -> None:
    assert ops.Evict(2, (a, b)).with_named(()) == ops.Evict(2)
    assert ops.Insert(a, True, "r1").with_named((b,)) == ops.Insert(b, True, "r1")
    assert ops.PolicyFault(ops.Lookup(a), "get").with_named((b,)) == ops.PolicyFault(ops.Lookup(b), "get")
    assert ops.ResetCache().with_named(()) == ops.ResetCache()


def test_an_answer_is_said_in_a_few_words_where_it_says_anything() -> None:
    assert ops.PrepareStore((a,), 1).answer(None, in_words) == "None"
    assert ops.PrepareLoad((a,), 1).answer((3, 4), in_words) == "blocks [3, 4]"
    assert ops.TakeEvents().answer((("STORED", (a,)),), in_words) == "STORED some"
    assert ops.TakeEvents().answer((), in_words) == "no event"
    assert ops.CompleteLoad((a,)).answer(None, in_words) == ""


@pytest.mark.parametrize("subject", SUBJECTS)
def test_the_end_of_a_request_has_to_come_up_where_it_is_claimed(subject: Subject) -> None:
    assert "FinishRequest" in wanted(subject, frozenset({"requests"}))
    assert "FinishRequest" not in wanted(subject, frozenset())


def test_where_few_keys_are_let_in_the_situations_of_admission_have_to_come_up_alone() -> None:
    claims = frozenset(capability.id for capability in capabilities_of("manager"))
    without = set(wanted("manager", claims - {"admission"}))
    with_admission = set(wanted("manager", claims))
    assert "skipped a key" in with_admission - without
    assert "evicted past a protected block" in without - with_admission
