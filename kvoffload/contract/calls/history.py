"""A history as one line of text, which a report prints and a command reads back.

``manager 2; store a b; done a b; load a; store c`` is a manager of two blocks and four calls. The text begins with
``manager N`` or ``policy N``; the calls follow, one from the next by ``;`` or a line break. A call is a verb, its keys,
then its modifiers: ``#1`` on a store or load names its transfer, on a completion it says which one has completed;
``@r1`` is the request, percent-encoded as in a URL; ``~`` passes the keys as an iterator. ``fault insert 2 after`` in
front of a call lets the policy's second ``insert`` in it raise when it has done its work, ``instead`` before that.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterable, Sequence, Set
from dataclasses import fields
from typing import Any, get_args
from urllib.parse import quote, unquote

from kvoffload.contract.calls import operations as ops
from kvoffload.contract.calls.operations import call_of
from kvoffload.contract.calls.program import Names
from kvoffload.contract.clauses import Subject
from kvoffload.interface import CachePolicy


class HistoryError(ValueError):
    """A text is no history; the message says what came, what was expected and what to do."""


VERBS: dict[Subject, dict[str, type[ops.Operation]]] = {
    subject: {verb: operation for operation in ops.operations_on(subject) for verb in operation.verbs}
    for subject in get_args(Subject)
}
"""The calls on either subject; in front of one on a manager, ``fault`` may stand."""

POLICY_METHODS = tuple(name for name in dir(CachePolicy) if name[0] != "_")
MODIFIERS = {
    "#": ("transfer", "#[0-9]+", "write # and the number of a transfer, such as #1"),
    "@": ("request", "@.+", "write @ and the id of a request, such as @r1"),
    "~": ("one_shot", "~", "write the ~ alone"),
}
"""By its sign, the field that a modifier says, its form, and the form in words."""


def write_history(
    subject: Subject, capacity: int, operations: Iterable[ops.Operation], names: Names | None = None
) -> str:
    """The text says every call, with short names for the keys and transfers, given in the order of first appearance.

    A completion of a transfer that no call before it has opened is no call at all and is left out.

    Args:
        subject: ``"policy"`` or ``"manager"``.
        capacity: the capacity that the subject is made with, in blocks.
        operations: the calls.
        names: other names for the keys.

    Raises:
        TypeError: if one of them is no call on this subject.
    """
    opened: set[int | None] = {None}
    calls = []
    for op in operations:
        call = call_of(op)
        if not isinstance(call, ops.Completion):
            opened.add(call.transfer)
        if call.transfer in opened:
            calls.append(op)
    last_named = {call_of(op).transfer: i for i, op in enumerate(calls) if isinstance(call_of(op), ops.Completion)}
    names, text = names or Names(), f"{subject} {capacity}"
    numbers: dict[int, int] = {}
    for i, op in enumerate(calls):
        transfer, number = call_of(op).transfer, ""
        if transfer is not None and last_named.get(transfer, -1) >= i:
            number = f" #{numbers.setdefault(transfer, len(numbers) + 1)}"
        text += f"; {_written(subject, op, names, number)}"
    return text


def _written(subject: Subject, op: ops.Operation, names: Names, number: str) -> str:
    if isinstance(op, ops.PolicyFault) and subject == "manager" and op.during.verb:
        when = "after" if op.after else "instead"
        return f"fault {op.method} {op.nth + 1} {when} {_written(subject, op.during, names, number)}"
    if subject not in op.on or not op.verb:
        raise TypeError(f"{op} is no call on a {subject}.")
    count = [f"{op.n} not" if op.keys else f"{op.n}"] if isinstance(op, ops.Evict) else []
    text = " ".join([op.verb, *count, *map(names.key, op.named)]) + number
    if op.request:
        text += f" @{quote(op.request, errors='surrogatepass')}"  # so any id is one word, safe in a shell's quotes
    return text + (" ~" if op.one_shot else "")


def read_history(text: str) -> tuple[Subject, int, tuple[ops.Operation, ...]]:
    """The operations are those that were written, but for the keys and the numbers of the transfers.

    A key is made of its name: ``a`` is ``keys("a")[0]``. Transfers are numbered as they are opened, from 1; two calls
    that open the same ``#1`` share its number, as a store does that is tried again.

    Args:
        text: as ``write_history`` writes it, or a person.

    Returns:
        The subject, its capacity, the calls.

    Raises:
        HistoryError: at the first thing that is not as it should be, with the position of the call, from 1.
    """
    head, *parts = [part.split() for part in re.split("[;\n]", text) if part.strip()] or [[]]
    subject = next((subject for subject in VERBS if [subject] == head[:1]), None)
    if subject is None or len(head) != 2:
        raise HistoryError(
            f"the history begins with {' '.join(head)!r}; begin it with 'manager N' or 'policy N', for N blocks, as in "
            "'manager 2; store a b'."
        )
    capacity = _number(head[1], "number of blocks")
    reader = _Reader(subject)
    calls: list[ops.Operation] = []
    for position, words in enumerate(parts, 1):
        try:
            calls.append(reader.read(words))
        except HistoryError as error:
            raise HistoryError(f"call {position} is {' '.join(words)!r}: {error}") from None
    return subject, capacity, tuple(calls)


class _Reader:
    """Reads one call after the other, since a completion names a transfer that an earlier one has opened."""

    def __init__(self, subject: Subject) -> None:
        self.subject = subject
        self.opened: dict[str, int] = {}

    def read(self, words: Sequence[str]) -> ops.Operation:
        if words[0] != "fault" or self.subject != "manager":
            return self._plain(words[0], words[1:])
        if len(words) < 5 or words[3] not in ("instead", "after") or words[4] == "fault":
            raise HistoryError(
                "write a method, which call of it, instead or after, and a call: 'fault insert 2 after store a b'."
            )
        _, method, nth, when, verb, *rest = words
        _known("method of a policy", method, POLICY_METHODS)
        number = _number(nth, "number of a call", least=1)
        return ops.PolicyFault(self._plain(verb, rest), method, number - 1, when == "after")

    def _plain(self, name: str, words: Sequence[str]) -> ops.Operation:
        verbs = VERBS[self.subject]
        _known(f"call on a {self.subject}", name, [*verbs, "fault"] if self.subject == "manager" else list(verbs))
        operation: Any = verbs[name]  # what it is made with depends on the verb, which no type says
        fixed = operation.verbs[name]
        takes = {field.name for field in fields(operation)} - fixed.keys()
        end = next((i for i, word in enumerate(words) if word[0] in MODIFIERS), len(words))
        values = fixed | _arguments(name, takes, words[:end]) | _modifiers(name, takes, words[end:])
        if "transfer" in takes:
            values["transfer"] = self._number_of(values.get("transfer"), issubclass(operation, ops.Completion))
        call: ops.Operation = operation(**values)
        return call

    def _number_of(self, name: str | None, completes: bool) -> int | None:
        if completes and name is None:
            return None
        if completes and name not in self.opened:
            raise HistoryError(f"no call before it opens {name}; write {name} behind a store or load, or leave it out.")
        return self.opened.setdefault(name or f"unnamed {len(self.opened)}", len(self.opened) + 1)


def _modifiers(name: str, takes: Set[str], words: Sequence[str]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for word in words:
        field, form, meaning = MODIFIERS.get(word[0], ("", "", ""))
        if not field:
            raise HistoryError(f"{word!r} stands behind a modifier; write the keys first, then the modifiers.")
        if field not in takes:
            signs = " ".join(sign for sign, (field, _, _) in MODIFIERS.items() if field in takes)
            raise HistoryError(f"{name} takes {signs or 'no modifier'} and has {word!r}; leave {word!r} out.")
        if field in values or not re.fullmatch(form, word):
            raise HistoryError(f"{word!r} is no modifier, or one too many; {meaning}, and once.")
        values[field] = {"#": word, "@": unquote(word[1:]), "~": True}[word[0]]
    return values


def _arguments(name: str, takes: Set[str], words: Sequence[str]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    if "n" in takes:
        if not words or words[1:2] not in ([], ["not"]) or len(words) == 2:
            raise HistoryError(f"write how many blocks, and protected keys behind 'not', as in '{name} 2 not a b'.")
        values["n"] = _number(words[0], "number of blocks")
        words = words[2:]
    for word in words:
        if not re.fullmatch("[a-z]|k[0-9]+", word):
            raise HistoryError(f"{word!r} is no key; write a letter from a to z, or k and a number, such as k26.")
    keys = tuple(map(ops.key_named, words))
    if "keys" in takes:
        return values | {"keys": keys}
    if len(keys) != ("key" in takes):
        wanted, example = ("one key", f"{name} a") if "key" in takes else ("no key", name)
        raise HistoryError(f"{name} takes {wanted} and has {len(keys)}; write, for example, {example!r}.")
    return {"key": keys[0]} if keys else {}


def _number(word: str, what: str, least: int = 0) -> int:
    if not re.fullmatch("[0-9]{1,9}", word) or int(word) < least:
        raise HistoryError(f"{word!r} is no {what}; write a whole number from {least} to 999999999, such as 2.")
    return int(word)


def _known(what: str, word: str, known: Collection[str]) -> None:
    if word not in known:
        near = "".join(f" Did you mean {match!r}?" for match in difflib.get_close_matches(word, known, n=1))
        raise HistoryError(f"{word!r} is no {what}; use one of {', '.join(known)}.{near}")
