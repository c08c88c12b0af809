"""A history as a program: lines of Python that make its calls, each with what it returned."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from kvoffload.contract import operations as ops
from kvoffload.contract.drivers import Outcome, Stored

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


def write_program(
    subject: str, made_with: str, target: str, history: Sequence[Step], num_calls: int, names: Names
) -> list[str]:
    """The lines of the program.

    Args:
        subject: ``"policy"`` or ``"manager"``, the name of the variable.
        made_with: the arguments that it is made with.
        target: ``module:name`` of what makes it, or empty.
        history: the calls, or the last ones of them.
        num_calls: how many calls there were.
        names: takes the names that the program uses.
    """
    steps = history[-MOST_CALLS:]
    completed = {_transfer(step.op) for step in steps if _completes(step.op)}
    calls = [_lines(step, names, completed) for step in steps]
    width = max((len(lines[-1]) for lines in calls), default=0)
    body = []
    for step, lines in zip(steps, calls, strict=True):
        returned = _returned(step, names)
        body += lines[:-1]
        body.append(f"{lines[-1]:<{width}}  # -> {returned}" if returned else lines[-1])
    if num_calls > len(steps):
        body.insert(0, f"# here {num_calls - len(steps)} calls are left out")
    module, _, path = target.partition(":")
    head = [f"from kvoffload.contract import {'keys' if subject == 'manager' else 'BlockStatus, keys'}"]
    if any("ReqContext(" in line for line in body):
        head.append("from kvoffload import ReqContext")
    if module:
        head.append(f"from {module} import {path.partition('.')[0]}")
    letters = "".join(names.keys)
    if letters and len(letters) == len(names.keys):
        head.append(f'{", ".join(letters)}{"," if len(letters) == 1 else ""} = keys("{letters}")')
    head.append(f"{subject} = {path or f'make_{subject}'}({made_with})")
    return head + body


def _transfer(op: ops.Operation) -> int | None:
    op = op.during if isinstance(op, ops.PolicyFault) else op
    transfer: int | None = getattr(op, "transfer", None)
    return transfer


def _context(op: ops.Operation) -> str:
    request = getattr(op, "request", "")
    return f', ReqContext("{request}")' if request else ""


def _completes(op: ops.Operation) -> bool:
    return isinstance(op.during if isinstance(op, ops.PolicyFault) else op, ops.Completion)


def _lines(step: Step, names: Names, completed: set[int | None]) -> list[str]:
    op = step.op
    if isinstance(op, ops.PolicyFault):
        when = "after" if op.after else "instead of"
        note = f"# in the next call, the manager's policy raises {when} its {op.method}() number {op.nth + 1}"
        return [note, _manager_call(op.during, names, completed)]
    return [_policy_call(step, names) or _manager_call(op, names, completed)]


def _manager_call(op: ops.Operation, names: Names, completed: set[int | None]) -> str:
    listed = names.many(op.named)
    if getattr(op, "one_shot", False):
        listed = f"iter({listed})"
    transfer, context = _transfer(op), _context(op)
    made = f"{names.transfer(transfer)} = " if transfer is not None and transfer in completed else ""
    by_id = f", transfer_id={names.transfer(transfer)}.transfer_id" if transfer is not None and _completes(op) else ""
    match op:
        case ops.Lookup():
            return f"manager.lookup({names.key(op.key)})"
        case ops.PrepareStore():
            return f"{made}manager.prepare_store({listed}{context})"
        case ops.CompleteStore():
            return f"manager.complete_store({listed}{'' if op.success else ', success=False'}{by_id})"
        case ops.PrepareLoad():
            return f"{made}manager.prepare_load({listed})"
        case ops.CompleteLoad():
            return f"manager.complete_load({listed}{by_id})"
        case ops.TouchKeys():
            return f"manager.touch({listed}{context})"
        case ops.ResetCache():
            return "manager.reset_cache()"
        case ops.TakeEvents():
            return "manager.take_events()"
    raise TypeError(f"{op} is no call on a manager.")


def _policy_call(step: Step, names: Names) -> str:
    """The call on a policy, or nothing if it is one on a manager."""
    op = step.op
    key = names.key(op.named[0]) if isinstance(op, ops.OnePolicyKey) else ""
    told = step.outcome is None or bool(step.outcome.value)
    match op:
        case ops.Get():
            return f"policy.get({key})"
        case ops.Insert():
            block = f"BlockStatus({names.keys.index(key)}, ref_cnt={0 if op.idle else -1})"
            announced = f"; policy.on_store_miss([{key}]{_context(op)})" if op.request else ""
            return f"{key}_block = {block}{announced}; policy.insert({key}, {key}_block)"
        case ops.FinishStore():
            return f"{key}_block.ref_cnt = 0; policy.mark_evictable({key})"
        case ops.Pin():
            return f"{key}_block.ref_cnt += 1" + (f"; policy.mark_non_evictable({key})" if told else "")
        case ops.Unpin():
            return f"{key}_block.ref_cnt -= 1" + (f"; policy.mark_evictable({key})" if told else "")
        case ops.Remove():
            return f"policy.remove({key})"
        case ops.TouchPolicy():
            return f"policy.touch({names.many(op.keys)}{_context(op)})"
        case ops.Evict():
            protected = ", ".join(map(names.key, op.keys))
            return f"policy.evict({op.n}, {f'{{{protected}}}' if protected else 'set()'})"
        case ops.Clear():
            return "policy.clear()"
    return ""


def _returned(step: Step, names: Names) -> str:
    """What the call returned, where that says anything."""
    outcome = step.outcome
    if outcome is None:
        return ""
    if outcome.raised is not None:
        return f"raises {type(outcome.raised).__name__}"
    op = step.op.during if isinstance(step.op, ops.PolicyFault) else step.op
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
