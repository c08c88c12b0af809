"""The clauses in words: one explained, all listed, and a page of them with the capabilities."""

from __future__ import annotations

import re
from difflib import get_close_matches
from textwrap import fill, indent

from kvoffload.contract.clauses import CLAUSES, CONTRACT_VERSION, Clause, clause
from kvoffload.contract.clauses.capabilities import CAPABILITIES, DISCLAIMED, Capability

WIDTH, PAGE_WIDTH = 100, 120
NOTHING = "nothing: it is always judged"
_LABEL = 14
_THREAD = re.compile(r"\b([\w.-]+/[\w.-]+)#(\d+)")
_IS_CLAIMED = {
    "assumed": "unless it is disclaimed",
    "seen": "if it is seen",
    "declared": "only if it is declared",
}

PAGE_HEAD = f"""\
# The contract, version {CONTRACT_VERSION}

What a KV-cache offloading manager and its eviction policy have to keep, clause by clause, as `kvoffload clauses --page`
prints it.
"""

CAPABILITIES_HEAD = f"""\
## Capabilities

A capability is assumed, and claimed unless it is disclaimed, by its name with `{DISCLAIMED}` before it; or it is seen
on the object, or not; or it is claimed only if it is declared. An order and a `store_threshold` are declared as such,
and bring their own clauses. Where no clause stands beside a capability, it says which calls are made, or how strictly
they are judged.

| capability | says | of a | is claimed | clauses that need it |
|---|---|---|---|---|
"""

CLAUSES_HEAD = """\
## Clauses

Each example is a program that breaks its clause, after these lines, where `MyManager` and `MyPolicy` are yours, the
manager with its events switched on:

```python
from kvoffload import ReqContext
from kvoffload.contract import BlockStatus, keys
from my_package import MyManager, MyPolicy

a, b, c, d = keys("abcd")
```

The comment on its last line says what a broken implementation gave there, and what the contract allows. *Seeded here*
are bugs that were put in on purpose, in `tests/stateful/seeded`.
"""


def explain(id: str) -> str:
    """One clause in plain text: the sentence, whom it concerns, why it matters, where it was broken, and how.

    Raises:
        ValueError: if there is no such clause; the message lists the known ones, those of a similar name first.
    """
    try:
        found = clause(id)
    except ValueError as error:
        similar = get_close_matches(id, [known.id for known in CLAUSES])
        hint = f"Did you mean {' or '.join(similar)}? " if similar else ""
        raise ValueError(f"{hint}{error}") from None
    facts = (
        ("applies to", f"{_whom(found)}, since contract version {found.since}"),
        ("needs", "; ".join(_needs(found)) or NOTHING),
        ("why", found.why),
        ("seen in", found.seen_in),
    )
    return "\n".join(
        [
            fill(f"{found.id}: {found.sentence}", WIDTH),
            "",
            *(_labelled(label, text) for label, text in facts),
            "",
            indent("\n".join(found.example), "  "),
        ]
    )


def list_clauses() -> str:
    """All clauses, a row each: its id, whom it concerns, its sentence, and the version that brought it after the first.

    Like ``explain``, it is wrapped at 100 columns.
    """
    width = max(len(each.id) for each in CLAUSES)
    whom = max(len(_whom(each)) for each in CLAUSES)
    return "\n".join(
        fill(
            f"{each.id:<{width}}  {_whom(each):<{whom}}  {_dated(each)}",
            WIDTH,
            subsequent_indent=" " * (width + whom + 4),
            break_on_hyphens=False,
        )
        for each in CLAUSES
    )


def contract_page() -> str:
    """All capabilities and clauses in Markdown, each clause with what ``explain`` says of it."""
    rows = "".join(_capability_row(capability) for capability in CAPABILITIES)
    return "\n".join([PAGE_HEAD, CAPABILITIES_HEAD + rows, CLAUSES_HEAD, "\n".join(map(_section, CLAUSES))])


def _whom(it: Clause | Capability) -> str:
    return ", ".join(it.applies_to)


def _dated(it: Clause) -> str:
    return it.sentence if it.since == 1 else f"{it.sentence} (since version {it.since})"


def _needs(it: Clause) -> list[str]:
    """What an implementation has to have or declare for the clause to be judged."""
    sentences = {capability.id: capability.sentence for capability in CAPABILITIES}
    needs = [f"{id} ({sentences[id]})" for id in it.needs]
    if it.id.startswith("order-"):
        needs.append(f"the order {it.id.removeprefix('order-')} is declared")
    return needs


def _labelled(label: str, text: str) -> str:
    return fill(
        text,
        WIDTH,
        initial_indent=f"  {label:<{_LABEL - 2}}",
        subsequent_indent=" " * _LABEL,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _capability_row(it: Capability) -> str:
    needed_by = ", ".join(f"`{each.id}`" for each in CLAUSES if it.id in each.needs)
    return f"| `{it.id}` | {it.sentence} | {_whom(it)} | {_IS_CLAIMED[it.kind]} | {needed_by} |\n"


def _section(it: Clause) -> str:
    return "\n".join(
        [
            f"### `{it.id}`\n",
            f"> {it.sentence}\n",
            _item(f"applies to: {_whom(it)}, since version {it.since}"),
            _item(f"needs: {'; '.join(_needs(it)) or NOTHING}"),
            _item(f"why it matters: {it.why}"),
            _item(f"seen in: {_linked(it.seen_in)}"),
            "",
            "```python",
            *it.example,
            "```\n",
        ]
    )


def _item(text: str) -> str:
    return fill(f"* {text}", PAGE_WIDTH, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)


def _linked(text: str) -> str:
    """The text with a link on each public thread; GitHub sends those of pull requests on."""
    return _THREAD.sub(r"[\1#\2](https://github.com/\1/issues/\2)", text)
