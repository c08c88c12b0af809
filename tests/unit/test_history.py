"""The text of a history: what is written, what is read, and every way in which a text can be wrong."""

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvoffload.contract.calls import operations as ops
from kvoffload.contract.calls.history import POLICY_METHODS, HistoryError, read_history, write_history
from kvoffload.contract.calls.operations import Operation, keys
from kvoffload.contract.clauses import Subject
from kvoffload.types import OffloadKey, make_offload_key

a, b, c, x, y = keys("abcxy")


def read_manager(calls: str) -> tuple[Operation, ...]:
    subject, capacity, read = read_history(f"manager 2; {calls}")
    assert (subject, capacity) == ("manager", 2)
    return read


def read_policy(calls: str) -> tuple[Operation, ...]:
    subject, capacity, read = read_history(f"policy 2; {calls}")
    assert (subject, capacity) == ("policy", 2)
    return read


def problem_of(text: str) -> str:
    with pytest.raises(HistoryError) as caught:
        read_history(text)
    return str(caught.value)


# --- what is written ---


def test_a_history_of_a_manager_is_one_line() -> None:
    calls = [
        ops.PrepareStore((a, b), 1),
        ops.CompleteStore((a, b)),
        ops.PrepareLoad((a,), 2),
        ops.Lookup(b),
        ops.CompleteLoad((a,)),
        ops.CompleteStore((a,), success=False),
        ops.TouchKeys((b, a)),
        ops.TakeEvents(),
        ops.FinishRequest("r1"),
        ops.ResetCache(),
    ]
    assert write_history("manager", 2, calls) == (
        "manager 2; store a b; done a b; load a; lookup b; release a; failed a; touch b a; events; "
        "finish-request @r1; reset"
    )


def test_a_history_of_a_policy_is_one_line() -> None:
    calls = [
        ops.Insert(a),
        ops.Insert(b, idle=True, request="r2"),
        ops.FinishStore(a),
        ops.Pin(a),
        ops.Unpin(a),
        ops.Get(b),
        ops.TouchPolicy((a, b), "r1"),
        ops.Evict(1),
        ops.Evict(2, (b, a)),
        ops.Remove(a),
        ops.FinishRequest(),
        ops.Clear(),
    ]
    assert write_history("policy", 3, calls) == (
        "policy 3; insert a; insert-idle b @r2; finish a; pin a; unpin a; get b; touch a b @r1; evict 1; "
        "evict 2 not b a; remove a; finish-request; clear"
    )


def test_a_history_without_calls_is_its_subject_and_capacity() -> None:
    assert write_history("manager", 0, []) == "manager 0"


def test_keys_are_named_in_the_order_of_first_appearance() -> None:
    assert write_history("manager", 2, [ops.TouchKeys((y, x)), ops.Lookup(y)]) == "manager 2; touch a b; lookup a"


def test_the_27th_key_is_k26() -> None:
    many = tuple(make_offload_key(bytes([i]), 7) for i in range(28))
    assert write_history("manager", 2, [ops.TouchKeys(many)]).endswith("; touch " + " ".join([*LETTERS, "k26", "k27"]))


def test_a_transfer_is_named_only_where_a_completion_names_it() -> None:
    calls = [
        ops.PrepareStore((a,), 7),
        ops.PrepareStore((b,), 9),
        ops.CompleteStore((a,)),
        ops.CompleteStore((b,), transfer=9),
    ]
    assert write_history("manager", 2, calls) == "manager 2; store a; store b #1; done a; done b #1"


def test_a_transfer_that_is_opened_again_after_its_completion_is_not_named_again() -> None:
    calls = [ops.PrepareStore((a,), 1), ops.CompleteStore((a,), transfer=1), ops.PrepareStore((b,), 1)]
    assert write_history("manager", 2, calls) == "manager 2; store a #1; done a #1; store b"


def test_transfers_are_numbered_in_the_order_in_which_they_are_opened() -> None:
    calls = [
        ops.PrepareStore((a,), 9),
        ops.PrepareLoad((a,), 4),
        ops.CompleteLoad((a,), transfer=4),
        ops.CompleteStore((a,), False, transfer=9),
    ]
    assert write_history("manager", 2, calls) == "manager 2; store a #1; load a #2; release a #2; failed a #1"


def test_a_completion_of_a_transfer_that_was_never_opened_is_left_out() -> None:
    void = ops.CompleteStore((c,), transfer=3)
    calls = [void, ops.PolicyFault(void, "insert"), ops.Lookup(a), ops.PrepareStore((a,), 3)]
    assert write_history("manager", 2, calls) == "manager 2; lookup a; store a"


def test_modifiers_stand_behind_the_keys() -> None:
    calls = [ops.PrepareStore((a,), 1, one_shot=True, request="r1"), ops.CompleteStore((a,), transfer=1, one_shot=True)]
    assert write_history("manager", 2, calls) == "manager 2; store a #1 @r1 ~; done a #1 ~"


def test_an_id_of_a_request_cannot_end_the_call_nor_the_quotes_of_a_shell() -> None:
    calls = [ops.TouchKeys((), request="it's; 5\n%")]
    assert write_history("manager", 2, calls) == "manager 2; touch @it%27s%3B%205%0A%25"


def test_an_id_of_a_request_that_is_no_unicode_is_written_all_the_same() -> None:
    assert write_history("manager", 2, [ops.TouchKeys((), request="\ud800")]) == "manager 2; touch @%ED%A0%80"


def test_a_fault_stands_in_front_of_its_call_and_is_counted_from_1() -> None:
    store = ops.PrepareStore((a, b), 1)
    calls = [ops.PolicyFault(store, "insert", 1, after=True), ops.PolicyFault(ops.ResetCache(), "clear")]
    assert write_history("manager", 2, calls) == (
        "manager 2; fault insert 2 after store a b; fault clear 1 instead reset"
    )


def test_a_fault_may_stand_in_front_of_the_call_that_opens_a_transfer_or_completes_it() -> None:
    calls = [
        ops.PolicyFault(ops.PrepareStore((a,), 5), "insert"),
        ops.PolicyFault(ops.CompleteStore((a,), transfer=5), "mark_evictable"),
    ]
    text = "manager 2; fault insert 1 instead store a #1; fault mark_evictable 1 instead done a #1"
    assert write_history("manager", 2, calls) == text


NO_CALLS: list[tuple[Subject, Operation]] = [
    ("manager", ops.Pin(a)),
    ("manager", ops.PolicyFault(ops.PolicyFault(ops.ResetCache(), "clear"), "clear")),
    ("policy", ops.ResetCache()),
    ("policy", ops.PolicyFault(ops.Clear(), "clear")),
]


@pytest.mark.parametrize(("subject", "op"), NO_CALLS)
def test_what_is_no_call_on_the_subject_cannot_be_written(subject: Subject, op: Operation) -> None:
    with pytest.raises(TypeError, match=f"is no call on a {subject}"):
        write_history(subject, 2, [op])


# --- what is read ---


def test_an_unnamed_transfer_has_a_number_of_its_own() -> None:
    assert read_manager("store a; load a; done a; release a") == (
        ops.PrepareStore((a,), 1),
        ops.PrepareLoad((a,), 2),
        ops.CompleteStore((a,)),
        ops.CompleteLoad((a,)),
    )


def test_a_named_completion_has_the_number_of_the_call_that_opened_the_transfer() -> None:
    assert read_manager("store a; store b #7; failed b #7 ~")[1:] == (
        ops.PrepareStore((b,), 2),
        ops.CompleteStore((b,), False, 2, one_shot=True),
    )


def test_two_calls_that_open_the_same_transfer_share_its_number() -> None:
    assert read_manager("store a #1; store a #1; done a #1") == (
        ops.PrepareStore((a,), 1),
        ops.PrepareStore((a,), 1),
        ops.CompleteStore((a,), transfer=1),
    )


def test_a_key_is_made_of_its_name() -> None:
    assert read_manager("touch a k26") == (ops.TouchKeys((a, make_offload_key(b"k26", 0))),)


def test_a_call_may_name_no_key_or_one_twice() -> None:
    assert read_manager("touch; touch a a") == (ops.TouchKeys(()), ops.TouchKeys((a, a)))


def test_a_fault_is_read_from_1_on() -> None:
    assert read_manager("fault evict 3 after store a @r1") == (
        ops.PolicyFault(ops.PrepareStore((a,), 1, request="r1"), "evict", 2, after=True),
    )


def test_protected_keys_stand_behind_not() -> None:
    assert read_policy("evict 0; evict 2 not a b") == (ops.Evict(0), ops.Evict(2, (a, b)))


def test_lines_separate_calls_as_well_and_blank_calls_are_ignored() -> None:
    assert read_history("\n policy 1\n\n  get   a ;; clear;\r\n") == ("policy", 1, (ops.Get(a), ops.Clear()))


# --- what is wrong with a text ---

MANAGER_CALLS = "lookup, store, done, failed, load, release, touch, reset, events, finish-request, fault"
POLICY_CALLS = "get, insert, insert-idle, finish, pin, unpin, remove, touch, evict, clear, finish-request"
BEGIN = "begin it with 'manager N' or 'policy N', for N blocks, as in 'manager 2; store a b'."
FAULT = "write a method, which call of it, instead or after, and a call: 'fault insert 2 after store a b'."
NO_NUMBER = "write a whole number from 0 to 999999999, such as 2."
PROBLEMS = {
    "": f"the history begins with ''; {BEGIN}",
    "store a": f"the history begins with 'store a'; {BEGIN}",
    "manager": f"the history begins with 'manager'; {BEGIN}",
    "manager 2 store a": f"the history begins with 'manager 2 store a'; {BEGIN}",
    "manager -1": f"'-1' is no number of blocks; {NO_NUMBER}",
    "policy 2; evict ²": f"call 1 is 'evict ²': '²' is no number of blocks; {NO_NUMBER}",
    "manager 2; store a;; stroe b": (
        f"call 2 is 'stroe b': 'stroe' is no call on a manager; use one of {MANAGER_CALLS}. Did you mean 'store'?"
    ),
    "policy 2; reset": f"call 1 is 'reset': 'reset' is no call on a policy; use one of {POLICY_CALLS}.",
    "policy 2; fault clear 1 after clear": (
        f"call 1 is 'fault clear 1 after clear': 'fault' is no call on a policy; use one of {POLICY_CALLS}."
    ),
    "manager 2; touch a,b": (
        "call 1 is 'touch a,b': 'a,b' is no key; write a letter from a to z, or k and a number, such as k26."
    ),
    "manager 2; lookup": "call 1 is 'lookup': lookup takes one key and has 0; write, for example, 'lookup a'.",
    "policy 2; pin a b": "call 1 is 'pin a b': pin takes one key and has 2; write, for example, 'pin a'.",
    "manager 2; reset a": "call 1 is 'reset a': reset takes no key and has 1; write, for example, 'reset'.",
    "manager 2; store #1 a": (
        "call 1 is 'store #1 a': 'a' stands behind a modifier; write the keys first, then the modifiers."
    ),
    "policy 2; touch a ~": "call 1 is 'touch a ~': touch takes @ and has '~'; leave '~' out.",
    "manager 2; lookup a @r1": "call 1 is 'lookup a @r1': lookup takes no modifier and has '@r1'; leave '@r1' out.",
    "manager 2; store a #one": (
        "call 1 is 'store a #one': '#one' is no modifier, or one too many; "
        "write # and the number of a transfer, such as #1, and once."
    ),
    "manager 2; touch a @": (
        "call 1 is 'touch a @': '@' is no modifier, or one too many; "
        "write @ and the id of a request, such as @r1, and once."
    ),
    "manager 2; touch a ~ ~": (
        "call 1 is 'touch a ~ ~': '~' is no modifier, or one too many; write the ~ alone, and once."
    ),
    "manager 2; store a; done a #1": (
        "call 2 is 'done a #1': no call before it opens #1; write #1 behind a store or load, or leave it out."
    ),
    "policy 2; evict": (
        "call 1 is 'evict': write how many blocks, and protected keys behind 'not', as in 'evict 2 not a b'."
    ),
    "policy 2; evict 2 a": (
        "call 1 is 'evict 2 a': write how many blocks, and protected keys behind 'not', as in 'evict 2 not a b'."
    ),
    "policy 2; evict 2 not": (
        "call 1 is 'evict 2 not': write how many blocks, and protected keys behind 'not', as in 'evict 2 not a b'."
    ),
    "manager 2; fault insert 2 after": f"call 1 is 'fault insert 2 after': {FAULT}",
    "manager 2; fault insert 2 store a": f"call 1 is 'fault insert 2 store a': {FAULT}",
    "manager 2; fault clear 1 after fault clear 1 after reset": (
        f"call 1 is 'fault clear 1 after fault clear 1 after reset': {FAULT}"
    ),
    "manager 2; fault clear 0 after reset": (
        "call 1 is 'fault clear 0 after reset': '0' is no number of a call; "
        "write a whole number from 1 to 999999999, such as 2."
    ),
    "manager 2; fault isnert 1 after store a": (
        "call 1 is 'fault isnert 1 after store a': 'isnert' is no method of a policy; "
        f"use one of {', '.join(POLICY_METHODS)}. Did you mean 'insert'?"
    ),
}


@pytest.mark.parametrize("text", PROBLEMS)
def test_a_text_that_is_no_history_is_told_what_is_wrong(text: str) -> None:
    assert problem_of(text) == PROBLEMS[text]


# --- there and back ---

LETTERS = "abcdefghijklmnopqrstuvwxyz"
KEYS = st.sampled_from(keys(LETTERS[::-1]))
KEY_LISTS = st.lists(KEYS, max_size=4).map(tuple)
NUMBERS = st.integers(0, 5)
MAYBE_NUMBERS = st.none() | NUMBERS
REQUESTS = st.just("") | st.text(max_size=3)
EITHER = st.booleans()

MANAGER_CALL: st.SearchStrategy[Operation] = st.one_of(
    st.builds(ops.Lookup, KEYS),
    st.builds(ops.PrepareStore, KEY_LISTS, NUMBERS, EITHER, REQUESTS),
    st.builds(ops.CompleteStore, KEY_LISTS, EITHER, MAYBE_NUMBERS, EITHER),
    st.builds(ops.PrepareLoad, KEY_LISTS, NUMBERS, EITHER),
    st.builds(ops.CompleteLoad, KEY_LISTS, MAYBE_NUMBERS, EITHER),
    st.builds(ops.TouchKeys, KEY_LISTS, EITHER, REQUESTS),
    st.builds(ops.ResetCache),
    st.builds(ops.TakeEvents),
    st.builds(ops.FinishRequest, REQUESTS),
)
FAULT_CALL: st.SearchStrategy[Operation] = st.builds(
    ops.PolicyFault, MANAGER_CALL, st.sampled_from(POLICY_METHODS), NUMBERS, EITHER
)
POLICY_CALL: st.SearchStrategy[Operation] = st.one_of(
    *(st.builds(one, KEYS) for one in (ops.Get, ops.FinishStore, ops.Pin, ops.Unpin, ops.Remove)),
    st.builds(ops.Insert, KEYS, EITHER, REQUESTS),
    st.builds(ops.TouchPolicy, KEY_LISTS, REQUESTS),
    st.builds(ops.Evict, NUMBERS, KEY_LISTS),
    st.builds(ops.Clear),
    st.builds(ops.FinishRequest, REQUESTS),
)
MANAGER_CALLS_DRAWN = st.lists(MANAGER_CALL | FAULT_CALL)
Drawn = tuple[Subject, list[Operation]]
HISTORIES: st.SearchStrategy[Drawn] = st.one_of(
    st.tuples(st.just("manager"), MANAGER_CALLS_DRAWN), st.tuples(st.just("policy"), st.lists(POLICY_CALL))
)


def as_read(calls: Iterable[Operation]) -> tuple[Operation, ...]:
    """The calls with keys and transfers as they are when read, each opened once; void completions are left out."""
    letters: dict[OffloadKey, OffloadKey] = {}
    num_opened = 0
    renamed: list[Operation] = []
    for op in calls:
        call = ops.call_of(op)
        if isinstance(call, ops.Completion):
            if call.transfer is not None and not 1 <= call.transfer <= num_opened:
                continue
        elif call.transfer is not None:
            num_opened += 1
            call = call.but(transfer=num_opened)
        for key in call.named:
            letters.setdefault(key, keys(LETTERS)[len(letters)])
        call = call.with_named(tuple(map(letters.__getitem__, call.named)))
        renamed.append(op.but(during=call) if isinstance(op, ops.PolicyFault) else call)
    return tuple(renamed)


@given(HISTORIES)
def test_what_was_read_is_written_as_it_was(drawn: Drawn) -> None:
    subject, calls = drawn
    text = write_history(subject, 3, calls)
    assert write_history(*read_history(text)) == text


@given(HISTORIES)
def test_what_was_written_is_read_as_it_was(drawn: Drawn) -> None:
    subject, calls = drawn[0], as_read(drawn[1])
    assert read_history(write_history(subject, 3, calls)) == (subject, 3, calls)


@given(st.text("manger 2;store#1@~fault", max_size=40))
def test_any_text_is_a_history_or_is_told_what_is_wrong(text: str) -> None:
    try:
        read_history(f"manager 2; {text}")
    except HistoryError as error:
        assert str(error).startswith("call ")
