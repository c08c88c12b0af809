"""Every clause is explained, and every example is true: of ours, and of a seeded bug that breaks the clause."""

from __future__ import annotations

import ast
import random
import re
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import pytest

from kvoffload import (
    NO_REQUEST,
    CPUOffloadingManager,
    LoadStoreSpec,
    LookupResult,
    OffloadingEvent,
    OffloadKey,
    PrepareStoreOutput,
    ReqContext,
)
from kvoffload.contract import CLAUSES, BlockStatus, Clause, keys
from kvoffload.contract.clauses.capabilities import CAPABILITIES
from kvoffload.contract.clauses.page import WIDTH, contract_page, explain, list_clauses
from kvoffload.policies.factory import CachePolicyFactory
from tests.stateful.seeded import BUGS

KEYS = dict(zip("abcd", keys("abcd"), strict=True))
every_clause = pytest.mark.parametrize("clause", CLAUSES, ids=lambda clause: clause.id)


# --- the examples ---


class TakesKeysOffTheCallersList(CPUOffloadingManager):
    """The keys that need no store are taken out of the very list that the caller has passed."""

    def prepare_store(
        self, keys: Iterable[OffloadKey], req_context: ReqContext = NO_REQUEST
    ) -> PrepareStoreOutput | None:
        output = super().prepare_store(keys, req_context)
        if output is not None and isinstance(keys, list):
            keys[:] = output.keys_to_store
        return output


def named(listed: Iterable[Any]) -> str:
    names = {key: name for name, key in KEYS.items()}
    return f"[{', '.join(names[it] if isinstance(it, bytes) else str(it) for it in listed)}]"  # type: ignore[index]


def shown(value: Any) -> str:
    """A value in the words of a failure report."""
    match value:
        case LookupResult():
            return value.name
        case PrepareStoreOutput():
            return f"store {named(value.keys_to_store)}, evict {named(value.evicted_keys)}"
        case LoadStoreSpec():
            return f"blocks {value.block_ids}"
        case list() if value and isinstance(value[0], OffloadingEvent):
            return ", ".join(f"{event.kind.value} {named(event.keys)}" for event in value)
        case list() if value and isinstance(value[0], tuple):
            return f"evict {named(key for key, _ in value)}"
        case list():
            return named(value)
    return str(value)


def run(clause: Clause, make_manager: Callable[..., Any], make_policy: Callable[[int], Any]) -> list[tuple[str, str]]:
    """Run the program; for each line that ends in a comment about it, what it gave and what the comment says."""
    program = "\n".join(clause.example)
    names = {**KEYS, "keys": keys, "BlockStatus": BlockStatus, "ReqContext": ReqContext}
    names |= {"MyManager": make_manager, "MyPolicy": make_policy}
    answers = []
    for statement in ast.parse(program).body:
        line = program.splitlines()[(statement.end_lineno or 1) - 1]
        gave = ""
        try:
            if isinstance(statement, ast.Expr):
                gave = shown(eval(compile(ast.Expression(statement.value), "example", "eval"), names))
            else:
                exec(compile(ast.Module([statement], []), "example", "exec"), names)
        except Exception:
            gave = "an exception"
        if told := re.search(r"# (?:-> (.*)|raises\b)", line):
            answers.append((gave, told[1] or "an exception"))
        else:
            assert gave != "an exception", line
    return answers


def allowed(told: str) -> list[str]:
    """What the comment allows; nothing told yet is an empty list, whatever makes it."""
    text = told.partition("; allowed: ")[2] or told
    return [one for it in text.split(" or ") for one in (it, {"no event": "[]", "evict []": "[]"}.get(it, it))]


@every_clause
def test_ours_gives_what_the_example_says_is_allowed(clause: Clause) -> None:
    order = clause.id.removeprefix("order-") if clause.id.startswith("order-") else "lru"
    make_manager = partial(CPUOffloadingManager, cache_policy=order, enable_events=True)
    for gave, told in run(clause, make_manager, CachePolicyFactory.get_cache_policy_cls(order)):
        assert gave in allowed(told)


@every_clause
def test_a_seeded_bug_gives_the_broken_answer(clause: Clause) -> None:
    makers = [bug.make for bug in BUGS if bug.clause == clause.id and not bug.hangs]
    if clause.id == "arguments-kept":
        makers.append(TakesKeysOffTheCallersList)
    broken = clause.example[-1].partition("# -> ")[2].partition("; allowed: ")[0]
    assert broken not in allowed(clause.example[-1].partition("# -> ")[2])
    random.seed(0)
    assert any(gives(clause, broken, make) for make in makers)


def gives(clause: Clause, broken: str, make: Callable[[int], Any]) -> bool:
    """Whether the example ends in that answer; a bug of another kind may end it before, or make no sense in it."""
    try:
        *earlier, (last, _) = run(clause, lambda num_blocks, **_: make(num_blocks), make)
    except Exception:
        return False
    same = {"no event": "[]"}.get(broken, broken)
    return last in (broken, same) and all(gave in allowed(told) for gave, told in earlier)


# --- the words ---


@every_clause
def test_every_clause_is_explained_in_a_few_lines(clause: Clause) -> None:
    assert clause.why.endswith((".", ".)")) and clause.seen_in.endswith(".")
    assert "  " not in clause.why + clause.seen_in
    assert 3 <= len(clause.example) <= 7 and "; allowed: " in clause.example[-1]
    lines = explain(clause.id).splitlines()
    assert len(lines) <= 20
    assert all(len(line) <= WIDTH for line in lines)


def test_what_is_named_as_seeded_is_seeded() -> None:
    told = " ".join(re.findall(r"[Ss]eeded here as ([^.]*)", " ".join(it.seen_in for it in CLAUSES)))
    assert set(re.findall(r"[A-Z]\w+", told)) <= {bug.name for bug in BUGS}


def test_a_clause_is_explained_as_a_whole() -> None:
    assert (
        explain("evict-atomic")
        == """\
evict-atomic: an evict() that returns None leaves the policy unchanged, its order included

  applies to  policy, since contract version 1
  needs       refusals (evict() may be asked for more than there is, and returns None)
  why         Whoever is told None believes that nothing has happened. A block that is gone all the
              same is lost: no event tells of it, and its memory is never used again. If only the
              order has moved, the next eviction takes a block that should have stayed.
  seen in     vllm-project/vllm#37874: the ARC before this change evicted one block at a time, and
              when it ran out half way, the store was refused and the blocks were gone, without an
              event.

  policy = MyPolicy(2)
  policy.insert(a, BlockStatus(0, ref_cnt=0))
  policy.evict(2, set())  # -> None
  policy.get(a) is None  # -> True; allowed: False"""
    )


def test_an_unknown_clause_is_answered_with_the_similar_and_the_known_ones() -> None:
    with pytest.raises(ValueError, match=r"Did you mean .*evict-atomic.*\? 'evict-atomc' is no clause; .*stats-exact"):
        explain("evict-atomc")


def test_the_list_has_a_row_for_every_clause() -> None:
    rows = list_clauses()
    assert [line.split()[0] for line in rows.splitlines() if not line.startswith(" ")] == [it.id for it in CLAUSES]
    assert all(len(line) <= WIDTH for line in rows.splitlines())


def test_the_page_shows_every_capability_and_clause() -> None:
    page = contract_page()
    assert all(f"\n| `{it.id}` | {it.sentence} | " in page for it in CAPABILITIES)
    assert all(f"\n### `{it.id}`\n\n> {it.sentence}\n" in page for it in CLAUSES)
