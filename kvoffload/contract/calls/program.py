"""A history as a program: lines of Python that make its calls, each with what it returned."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any

from kvoffload.contract.calls import operations as ops
from kvoffload.contract.calls.operations import call_of
from kvoffload.contract.calls.outcome import MisbehaviourError, Step, Stored, WrongTypeError
from kvoffload.contract.calls.style import Style

MOST_CALLS = 12
"""How many calls of a history are printed, the last ones; a minimised history has fewer."""


LONG = 80
"""What calls have returned stands in one column, but for calls that are longer than this."""


class Names:
    """Short names in the order of first appearance: a, b, ... z, k26, ... for keys, t1, t2, ... for transfers.

    Args:
        own: let each key keep the name that it is made of; ``Names.of`` says whether all have one.
    """

    def __init__(self, own: bool = False) -> None:
        self._own = own
        self._keys: dict[object, str] = {}
        self._transfers: dict[int, str] = {}

    @classmethod
    def of(cls, operations: Iterable[ops.Operation]) -> Names:
        """Names for the keys of these calls: their own ones, so that what depends on a key's bytes is seen again."""
        return cls(own=all(_own_name(key) for op in operations for key in op.named))

    @property
    def keys(self) -> tuple[str, ...]:
        """The names of the keys so far."""
        return tuple(self._keys.values())

    @property
    def known(self) -> dict[object, str]:
        """The keys so far, each with its name."""
        return dict(self._keys)

    def key(self, key: object) -> str:
        """The key's name."""
        try:
            hash(key)
        except TypeError:  # no key at all
            return repr(key)
        i = len(self._keys)
        name = _own_name(key) if self._own else ""
        return self._keys.setdefault(key, name or (chr(ord("a") + i) if i < 26 else f"k{i}"))

    def many(self, keys: Iterable[object]) -> str:
        """A list of keys."""
        return f"[{', '.join(map(self.key, keys))}]"

    def transfer(self, transfer: int) -> str:
        """The name of the variable that holds what prepared the transfer."""
        return self._transfers.setdefault(transfer, f"t{len(self._transfers) + 1}")

    def in_text(self, text: str) -> str:
        """The text with every key's representation replaced by its name, and without addresses of objects."""
        for key, name in self._keys.items():
            text = text.replace(repr(key), name)
        return re.sub(r" at 0x[0-9a-fA-F]+", "", text)


def _own_name(key: object) -> str:
    """The name that a key of a history's text is made of, or nothing."""
    made_of = key[:-4].decode("ascii", "replace") if isinstance(key, bytes) and key[-4:] == bytes(4) else ""
    return made_of if re.fullmatch("[a-z]|k[0-9]+", made_of) else ""


class ProgramWriter:
    """Writes the calls of a history as statements of Python.

    Args:
        subject: ``"policy"`` or ``"manager"``, the name of the variable.
        style: how its calls are written.
        names: takes the names that the program uses.
        block: the class of the blocks of a policy.
        announces: write the hooks in front of an insert, whether they can make a difference or not.
    """

    def __init__(
        self, subject: str, style: Style, names: Names, block: str = "BlockStatus", announces: bool = False
    ) -> None:
        self.subject = subject
        self.style = style
        self.names = names
        self.requests: dict[str, None] = {}
        self._block = block
        self._announces = announces
        self._num_inserted = 0
        self._completed: set[int | None] = set()
        self._seen: dict[str, dict[str, bool]] = {}  # of each running request, its keys; whether it inserted it

    def write(self, made_with: str, target: str, history: Sequence[Step], num_calls: int) -> list[str]:
        """The lines of the program.

        Args:
            made_with: the arguments that the subject is made with.
            target: ``module:name`` of what makes it, or empty.
            history: the calls, or the last ones of them.
            num_calls: how many calls there were.
        """
        steps = history[-MOST_CALLS:]
        self.look_at(steps)
        calls = [self._lines(step) for step in steps]
        width = max((len(lines[-1]) for lines in calls if len(lines[-1]) <= LONG), default=0)
        body = []
        for step, lines in zip(steps, calls, strict=True):
            returned = _returned(step, self.names)
            body += lines[:-1]
            body.append(f"{lines[-1]:<{width}}  # -> {returned}" if returned else lines[-1])
        if num_calls > len(steps):
            body.insert(0, f"# here {num_calls - len(steps)} calls are left out")
        return self._head(made_with, target) + body

    def look_at(self, steps: Sequence[Step]) -> None:
        """Look at all the calls before any is written: which transfers will be completed, whether requests matter."""
        self._completed = {_transfer(step.op) for step in steps if _completes(step.op)}
        self._announces = self._announces or any(getattr(call_of(step.op), "request", "") for step in steps)

    def statements(self, step: Step) -> list[str]:
        """The statements of one call; in a policy's program, what its manager does for it stands before it."""
        op = step.op
        if isinstance(op, ops.FinishRequest):
            return self._finish(op)
        return self._policy_call(step) or [self._manager_call(call_of(op))]

    def made(self, made_with: str, target: str) -> str:
        """The expression that makes the subject."""
        path = target.partition(":")[2]
        return self.style.made.format(f"{path or f'make_{self.subject}'}({made_with})")

    def _lines(self, step: Step) -> list[str]:
        op, line = step.op, "; ".join(self.statements(step))
        if not isinstance(op, ops.PolicyFault):
            return [line]
        when = "after" if op.after else "instead of"
        return [f"# in the next call, the manager's policy raises {when} its {op.method}() number {op.nth + 1}", line]

    def _head(self, made_with: str, target: str) -> list[str]:
        module, _, path = target.partition(":")
        names = ["keys"] if self.subject == "manager" else ["BlockStatus", "keys"]
        names += ["Request"] if self.requests else []
        names += [self.style.made.partition("(")[0]] if self.style.made != "{}" else []
        head = [f"from kvoffload.contract import {', '.join(sorted(names))}"]
        if module:
            head.append(f"from {module} import {path.partition('.')[0]}")
        letters = "".join(self.names.keys)
        if letters and len(letters) == len(self.names.keys):
            head.append(f'{", ".join(letters)}{"," if len(letters) == 1 else ""} = keys("{letters}")')
        if self.requests:
            variables = ", ".join(map(variable, self.requests))
            head.append(f"{variables} = {', '.join(f'Request({_quoted(request)})' for request in self.requests)}")
        return [*head, f"{self.subject} = {self.made(made_with, target)}"]

    def _context(self, op: ops.Operation, method: str) -> str:
        """The argument that says for which request the call is made, where the call needs one."""
        request = getattr(op, "request", "")
        takes = self.style.takes_request
        if (takes is not None and method not in takes) or not (request or method in self.style.needs_request):
            return ""
        self.requests.setdefault(request)
        return f", {variable(request)}"

    def _finish(self, op: ops.FinishRequest) -> list[str]:
        self.requests.setdefault(op.request)
        request = variable(op.request)
        keys = "" if self.subject == "manager" else self._named_by(op.request)
        return [
            f"{self.subject}.on_request_finished({keys}{request})",
            f"{request} = Request({_quoted(op.request)})",
        ]

    def _named_by(self, request: str) -> str:
        """The keys that the request named, those that it only inserted, and the others: a policy is told again."""
        seen = self._seen.pop(request, {})
        inserted = ", ".join(key for key, by_insert in seen.items() if by_insert)
        reused = ", ".join(key for key, by_insert in seen.items() if not by_insert)
        parts = (f"{{{part}}}" if part else "set()" for part in (inserted, reused))
        return f"[({', '.join(seen)}{',' if len(seen) == 1 else ''})], {', '.join(parts)}, "

    def key(self, key: object) -> str:
        """The key as an argument of a call."""
        return self.names.key(key)

    def listed(self, op: ops.Operation) -> str:
        """The keys of a call as its argument: a list, or the protected ones as a set."""
        keys = ", ".join(map(self.key, op.named))
        if isinstance(op, ops.Evict):
            return f"{{{keys}}}" if keys else "set()"
        return f"iter([{keys}])" if getattr(op, "one_shot", False) else f"[{keys}]"

    def _manager_call(self, op: ops.Operation) -> str:
        names, listed, transfer = self.names, self.listed(op), _transfer(op)
        made = f"{names.transfer(transfer)} = " if transfer is not None and transfer in self._completed else ""
        by_id = ""
        if transfer is not None and _completes(op):
            by_id = f", transfer_id={names.transfer(transfer)}.transfer_id"
        match op:
            case ops.Lookup():
                return f"manager.lookup({self.key(op.key)}{self._context(op, 'lookup')})"
            case ops.PrepareStore():
                return f"{made}manager.prepare_store({listed}{self._context(op, 'prepare_store')})"
            case ops.CompleteStore():
                success = "" if op.success else ", success=False"
                return f"manager.complete_store({listed}{self._context(op, 'complete_store')}{success}{by_id})"
            case ops.PrepareLoad():
                return f"{made}manager.prepare_load({listed}{self._context(op, 'prepare_load')})"
            case ops.CompleteLoad():
                return f"manager.complete_load({listed}{self._context(op, 'complete_load')}{by_id})"
            case ops.TouchKeys():
                return f"manager.touch({listed}{self._context(op, 'touch')})"
            case ops.ResetCache():
                return "manager.reset_cache()"
            case ops.TakeEvents():
                return "manager.take_events()"
        raise TypeError(f"{op} is no call on a manager.")

    def _policy_call(self, step: Step) -> list[str]:
        """The call on a policy, or nothing if it is one on a manager."""
        op, names = step.op, self.names
        name = names.key(op.key) if isinstance(op, ops.OnePolicyKey) else ""
        key = self.key(op.key) if isinstance(op, ops.OnePolicyKey) else ""
        told = step.outcome is None or bool(step.outcome.value) or step.outcome.raised is not None
        match op:
            case ops.Get():
                return [f"policy.get({key})"]
            case ops.Insert():
                self._seen.setdefault(op.request, {}).setdefault(name, True)
                block = f"{name}_block = {self._block}({self._num_inserted}, ref_cnt={0 if op.idle else -1})"
                self._num_inserted += 1
                inserted = f"policy.insert({key}, {name}_block{self._context(op, 'insert')})"
                return [block, *self._announced(step, op), inserted]
            case ops.FinishStore():
                return [f"{name}_block.ref_cnt = 0", *self._marked("mark_evictable", key)]
            case ops.Pin():
                return [f"{name}_block.ref_cnt += 1", *(self._marked("mark_non_evictable", key) if told else [])]
            case ops.Unpin():
                return [f"{name}_block.ref_cnt -= 1", *(self._marked("mark_evictable", key) if told else [])]
            case ops.Remove():
                return [f"policy.remove({key})"]
            case ops.TouchPolicy():
                for named in map(names.key, op.keys):
                    self._seen.setdefault(op.request, {}).setdefault(named, False)
                return [f"policy.touch({self.listed(op)}{self._context(op, 'touch')})"]
            case ops.Evict():
                return [f"policy.evict({op.n}, {self.listed(op)})"]
            case ops.Clear():
                self._seen.clear()
                return ["policy.clear()"]
        return []

    def _marked(self, hook: str, key: str) -> list[str]:
        return [f"policy.{hook}({key})"] if hook in self.style.has else []

    def _announced(self, step: Step, op: ops.Insert) -> list[str]:
        """The hooks in front of an insert, where they can make a difference."""
        raised = step.outcome is not None and step.outcome.raised is not None  # perhaps one of the hooks has
        if not (raised or self._announces or self.style.needs_request):
            return []
        calls = []
        for hook in ("on_store_miss", "on_request_access"):
            if hook in self.style.has:
                calls.append(f"policy.{hook}({self.listed(op)}{self._context(op, hook)})")
        return calls


def variable(request: str) -> str:
    """The name of the variable that holds the request: its id if that is ``r`` and a number, else one made of it."""
    if re.fullmatch("r[0-9]+", request):
        return request
    return "r_" + re.sub("[^0-9a-zA-Z]", "_", request) if request else "no_request"


def _quoted(request: str) -> str:
    return json.dumps(request) if request.isascii() and request.isprintable() else repr(request)


def _transfer(op: ops.Operation) -> int | None:
    transfer: int | None = getattr(call_of(op), "transfer", None)
    return transfer


def _completes(op: ops.Operation) -> bool:
    return isinstance(call_of(op), ops.Completion)


def _returned(step: Step, names: Names) -> str:
    """What the call returned, where that says anything."""
    outcome = step.outcome
    if outcome is None:
        return ""
    if isinstance(outcome.raised, WrongTypeError):
        return names.in_text(f"returns {outcome.raised.came}")
    if isinstance(outcome.raised, MisbehaviourError):
        return names.in_text(str(outcome.raised))
    if outcome.raised is not None:
        return f"raises {type(outcome.raised).__name__}"
    op = call_of(step.op)
    value: Any = outcome.value
    match op, value:
        case ((ops.PrepareStore() | ops.Evict() | ops.Get()), None):
            return "None"
        case ops.PrepareStore(), Stored(stored, _, evicted):
            return f"store {names.many(stored)}, evict {names.many(evicted)}"
        case ops.PrepareLoad(), tuple():
            return f"blocks {list(value)}"
        case ops.TakeEvents(), tuple():
            return ", ".join(f"{kind} {names.many(keys)}" for kind, keys in value) or "no event"
        case ops.Evict(), tuple():
            return f"evict {names.many(key for key, _ in value)}"
        case ((ops.Lookup() | ops.Get()), _):
            return str(value)
    return ""
