"""A history as a program: lines of Python that make its calls, each with what it returned."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence

from kvoffload.contract.calls import operations as ops
from kvoffload.contract.calls.operations import call_of
from kvoffload.contract.calls.outcome import MisbehaviourError, Step, WrongTypeError
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
    """

    def __init__(self, subject: str, style: Style, names: Names) -> None:
        self.subject = subject
        self.style = style
        self.names = names
        self.requests: dict[str, None] = {}
        self._names_requests = False
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
        made = [call_of(step.op) for step in steps]
        # What one call looks like depends on the others: which transfers will be completed, whether requests matter.
        self._completed = {call.transfer for call in made if isinstance(call, ops.Completion)}
        self._names_requests = any(call.request for call in made)
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

    def _statements(self, step: Step) -> list[str]:
        """The statements of one call; in a policy's program, what its manager does for it stands before it."""
        op = call_of(step.op)
        if self.subject not in op.on:
            raise TypeError(f"{op} is no call on a {self.subject}.")
        if isinstance(op, ops.FinishRequest):
            return self._finish(op)
        return self._policy_call(step) if self.subject == "policy" else [self._manager_call(op)]

    def _lines(self, step: Step) -> list[str]:
        op, line = step.op, "; ".join(self._statements(step))
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
            variables = ", ".join(map(_variable, self.requests))
            head.append(f"{variables} = {', '.join(f'Request({_quoted(request)})' for request in self.requests)}")
        made = self.style.made.format(f"{path or f'make_{self.subject}'}({made_with})")
        return [*head, f"{self.subject} = {made}"]

    def _context(self, op: ops.Operation, method: str) -> str:
        """The argument that says for which request the call is made, where the call needs one."""
        request, takes = op.request, self.style.takes_request
        if (takes is not None and method not in takes) or not (request or method in self.style.needs_request):
            return ""
        self.requests.setdefault(request)
        return f", {_variable(request)}"

    def _finish(self, op: ops.FinishRequest) -> list[str]:
        self.requests.setdefault(op.request)
        request = _variable(op.request)
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

    def _listed(self, op: ops.Operation) -> str:
        """The keys of a call as its argument: a list, or the protected ones as a set."""
        keys = ", ".join(map(self.names.key, op.named))
        if isinstance(op, ops.Evict):
            return f"{{{keys}}}" if keys else "set()"
        return f"iter([{keys}])" if op.one_shot else f"[{keys}]"

    def _manager_call(self, op: ops.Operation) -> str:
        call, given = f"manager.{op.method}", self._arguments(op)
        if op.transfer is None or op.transfer not in self._completed:
            return f"{call}({given})"
        transfer = self.names.transfer(op.transfer)
        if isinstance(op, ops.Completion):
            return f"{call}({given}, transfer_id={transfer}.transfer_id)"
        return f"{transfer} = {call}({given})"

    def _arguments(self, op: ops.Operation) -> str:
        """The arguments of a call on a manager, but for the transfer that it completes."""
        given = self.names.key(op.key) if isinstance(op, ops.OneKey) else ""
        given = self._listed(op) if isinstance(op, ops.ManyKeys) else given
        return given and given + self._context(op, op.method) + ("" if op.success else ", success=False")

    def _policy_call(self, step: Step) -> list[str]:
        """The call, and what stands before it: what a manager does to the block, and the hooks that it calls."""
        op, names = step.op, self.names
        name = names.key(op.key) if isinstance(op, ops.OneKey) else ""
        told = step.outcome is None or bool(step.outcome.value) or step.outcome.raised is not None
        match op:
            case ops.Insert():
                self._seen.setdefault(op.request, {}).setdefault(name, True)
                block = f"{name}_block = BlockStatus({self._num_inserted}, ref_cnt={0 if op.idle else -1})"
                self._num_inserted += 1
                inserted = f"policy.insert({name}, {name}_block{self._context(op, 'insert')})"
                return [block, *self._announced(step, op), inserted]
            case ops.FinishStore():
                return [f"{name}_block.ref_cnt = 0", *self._marked(op, name)]
            case ops.Pin():
                return [f"{name}_block.ref_cnt += 1", *(self._marked(op, name) if told else [])]
            case ops.Unpin():
                return [f"{name}_block.ref_cnt -= 1", *(self._marked(op, name) if told else [])]
            case ops.TouchPolicy():
                for named in map(names.key, op.keys):
                    self._seen.setdefault(op.request, {}).setdefault(named, False)
                return [f"policy.touch({self._listed(op)}{self._context(op, 'touch')})"]
            case ops.Evict():
                return [f"policy.evict({op.n}, {self._listed(op)})"]
            case ops.Clear():
                self._seen.clear()
        return [f"policy.{op.method}({name})"]

    def _marked(self, op: ops.Operation, key: str) -> list[str]:
        return [f"policy.{op.method}({key})"] if op.method in self.style.has else []

    def _announced(self, step: Step, op: ops.Insert) -> list[str]:
        """The hooks in front of an insert, where they can make a difference."""
        raised = step.outcome is not None and step.outcome.raised is not None  # perhaps one of the hooks has
        if not (raised or self._names_requests or self.style.needs_request):
            return []
        calls = []
        for hook in ("on_store_miss", "on_request_access"):
            if hook in self.style.has:
                calls.append(f"policy.{hook}({self._listed(op)}{self._context(op, hook)})")
        return calls


def _variable(request: str) -> str:
    """The name of the variable that holds the request: its id if that is ``r`` and a number, else one made of it."""
    if re.fullmatch("r[0-9]+", request):
        return request
    return "r_" + re.sub("[^0-9a-zA-Z]", "_", request) if request else "no_request"


def _quoted(request: str) -> str:
    return json.dumps(request) if request.isascii() and request.isprintable() else repr(request)


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
    return call_of(step.op).answer(outcome.value, names.many)
