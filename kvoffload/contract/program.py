"""A history as a program: lines of Python that make its calls, each with what it returned."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from kvoffload.contract import operations as ops
from kvoffload.contract.adapters.style import Style
from kvoffload.contract.outcome import MisbehaviourError, Outcome, Stored

MOST_CALLS = 12
"""How many calls of a history are printed, the last ones; a minimised history has fewer."""


@dataclass
class Step:
    """One call of a history, and what it returned if it has returned."""

    op: ops.Operation
    outcome: Outcome | None = None


class Names:
    """Short names in the order of first appearance: a, b, ... z, k26, ... for keys, t1, t2, ... for transfers."""

    def __init__(self) -> None:
        self._keys: dict[object, str] = {}
        self._transfers: dict[int, str] = {}

    @property
    def keys(self) -> tuple[str, ...]:
        """The names of the keys so far."""
        return tuple(self._keys.values())

    def key(self, key: object) -> str:
        """The key's name."""
        i = len(self._keys)
        return self._keys.setdefault(key, chr(ord("a") + i) if i < 26 else f"k{i}")

    def many(self, keys: Iterable[object]) -> str:
        """A list of keys."""
        return f"[{', '.join(map(self.key, keys))}]"

    def transfer(self, transfer: int) -> str:
        """The name of the variable that holds what prepared the transfer."""
        return self._transfers.setdefault(transfer, f"t{len(self._transfers) + 1}")

    def in_text(self, text: str) -> str:
        """The text with every key's representation replaced by its name."""
        for key, name in self._keys.items():
            text = text.replace(repr(key), name)
        return text


class ProgramWriter:
    """Writes the calls of a history as lines of Python.

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
        self._completed: set[int | None] = set()
        self._tells_requests = False
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
        self._completed = {_transfer(step.op) for step in steps if _completes(step.op)}
        self._tells_requests = any(getattr(_call(step.op), "request", "") for step in steps)
        calls = [self._lines(step) for step in steps]
        width = max((len(lines[-1]) for lines in calls), default=0)
        body = []
        for step, lines in zip(steps, calls, strict=True):
            returned = _returned(step, self.names)
            body += lines[:-1]
            body.append(f"{lines[-1]:<{width}}  # -> {returned}" if returned else lines[-1])
        if num_calls > len(steps):
            body.insert(0, f"# here {num_calls - len(steps)} calls are left out")
        return self._head(made_with, target) + body

    def _head(self, made_with: str, target: str) -> list[str]:
        module, _, path = target.partition(":")
        names = ["keys"] if self.subject == "manager" else ["BlockStatus", "keys"]
        names += ["Request"] if self.requests else []
        head = [f"from kvoffload.contract import {', '.join(sorted(names))}"]
        if self.style.made != "{}":
            head.append("from kvoffload.contract.adapters import as_policy")
        if module:
            head.append(f"from {module} import {path.partition('.')[0]}")
        letters = "".join(self.names.keys)
        if letters and len(letters) == len(self.names.keys):
            head.append(f'{", ".join(letters)}{"," if len(letters) == 1 else ""} = keys("{letters}")')
        head += [f'{_variable(request)} = Request("{request}")' for request in self.requests]
        made = f"{path or f'make_{self.subject}'}({made_with})"
        head.append(f"{self.subject} = {self.style.made.format(made)}")
        return head

    def _context(self, op: ops.Operation, method: str) -> str:
        """The argument that says for which request the call is made, where the call needs one."""
        request = getattr(op, "request", "")
        if not request and method not in self.style.needs_request:
            return ""
        self.requests.setdefault(request)
        return f", {_variable(request)}"

    def _lines(self, step: Step) -> list[str]:
        op = step.op
        if isinstance(op, ops.PolicyFault):
            when = "after" if op.after else "instead of"
            note = f"# in the next call, the manager's policy raises {when} its {op.method}() number {op.nth + 1}"
            return [note, self._manager_call(op.during)]
        if isinstance(op, ops.FinishRequest):
            return [self._finish(op)]
        return [self._policy_call(step) or self._manager_call(op)]

    def _finish(self, op: ops.FinishRequest) -> str:
        self.requests.setdefault(op.request)
        request = _variable(op.request)
        keys = "" if self.subject == "manager" else self._named_by(op.request)
        return f'{self.subject}.on_request_finished({keys}{request}); {request} = Request("{op.request}")'

    def _named_by(self, request: str) -> str:
        """The keys that the request named, those that it only inserted, and the others: a policy is told again."""
        seen = self._seen.pop(request, {})
        inserted = ", ".join(key for key, by_insert in seen.items() if by_insert)
        reused = ", ".join(key for key, by_insert in seen.items() if not by_insert)
        parts = (f"{{{part}}}" if part else "set()" for part in (inserted, reused))
        return f"[({', '.join(seen)}{',' if len(seen) == 1 else ''})], {', '.join(parts)}, "

    def _manager_call(self, op: ops.Operation) -> str:
        names = self.names
        listed = names.many(op.named)
        if getattr(op, "one_shot", False):
            listed = f"iter({listed})"
        transfer = _transfer(op)
        made = f"{names.transfer(transfer)} = " if transfer is not None and transfer in self._completed else ""
        by_id = ""
        if transfer is not None and _completes(op):
            by_id = f", transfer_id={names.transfer(transfer)}.transfer_id"
        match op:
            case ops.Lookup():
                return f"manager.lookup({names.key(op.key)}{self._context(op, 'lookup')})"
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

    def _policy_call(self, step: Step) -> str:
        """The call on a policy, or nothing if it is one on a manager."""
        op, names = step.op, self.names
        key = names.key(op.named[0]) if isinstance(op, ops.OnePolicyKey) else ""
        told = step.outcome is None or bool(step.outcome.value)
        match op:
            case ops.Get():
                return f"policy.get({key})"
            case ops.Insert():
                self._seen.setdefault(op.request, {}).setdefault(key, True)
                block = f"BlockStatus({names.keys.index(key)}, ref_cnt={0 if op.idle else -1})"
                inserted = f"policy.insert({key}, {key}_block{self._context(op, 'insert')})"
                return "; ".join([f"{key}_block = {block}", *self._announced(op, key), inserted])
            case ops.FinishStore():
                return f"{key}_block.ref_cnt = 0; policy.mark_evictable({key})"
            case ops.Pin():
                return f"{key}_block.ref_cnt += 1" + (f"; policy.mark_non_evictable({key})" if told else "")
            case ops.Unpin():
                return f"{key}_block.ref_cnt -= 1" + (f"; policy.mark_evictable({key})" if told else "")
            case ops.Remove():
                return f"policy.remove({key})"
            case ops.TouchPolicy():
                for named in map(names.key, op.keys):
                    self._seen.setdefault(op.request, {}).setdefault(named, False)
                return f"policy.touch({names.many(op.keys)}{self._context(op, 'touch')})"
            case ops.Evict():
                protected = ", ".join(map(names.key, op.keys))
                return f"policy.evict({op.n}, {f'{{{protected}}}' if protected else 'set()'})"
            case ops.Clear():
                self._seen.clear()
                return "policy.clear()"
        return ""

    def _announced(self, op: ops.Insert, key: str) -> list[str]:
        """The hooks in front of an insert, where they can make a difference."""
        hooks = [hook for hook in ("on_store_miss", "on_request_access") if hook in self.style.has]
        if not (self._tells_requests or self.style.needs_request):
            return []
        self.requests.setdefault(op.request)
        return [f"policy.{hook}([{key}], {_variable(op.request)})" for hook in hooks]


def _variable(request: str) -> str:
    """The name of the variable that holds the request: its id, where that can be a name."""
    if request.isidentifier():
        return request
    return "".join(letter if letter.isalnum() else "_" for letter in f"r_{request}") if request else "r0"


def _call(op: ops.Operation) -> ops.Operation:
    return op.during if isinstance(op, ops.PolicyFault) else op


def _transfer(op: ops.Operation) -> int | None:
    transfer: int | None = getattr(_call(op), "transfer", None)
    return transfer


def _completes(op: ops.Operation) -> bool:
    return isinstance(_call(op), ops.Completion)


def _returned(step: Step, names: Names) -> str:
    """What the call returned, where that says anything."""
    outcome = step.outcome
    if outcome is None:
        return ""
    if isinstance(outcome.raised, MisbehaviourError):
        return str(outcome.raised)
    if outcome.raised is not None:
        return f"raises {type(outcome.raised).__name__}"
    op = _call(step.op)
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
