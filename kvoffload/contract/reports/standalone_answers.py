"""What a test asserts of answers and arguments, in the words of its file."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kvoffload.contract.calls import operations as ops
from kvoffload.contract.calls.operations import call_of
from kvoffload.contract.calls.outcome import Step, Stored
from kvoffload.contract.calls.program import Names


def as_answered(step: Step, variable: str, names: Names) -> list[str]:
    """Asserts that the call gives the answer that it gave."""
    op, outcome = call_of(step.op), step.outcome
    if not variable or outcome is None or outcome.raised is not None:
        return []
    value = outcome.value
    match op, value:
        case ((ops.PrepareStore() | ops.Evict() | ops.Get()), None):
            return [f"assert {variable} is None"]
        case ops.Get(), _:
            return [f"assert {variable} is {names.key(op.key)}_block"]
        case ops.Lookup(), _:
            return [f'assert told({variable}) == "{value}"']
        case ops.Evict(), tuple():
            return [f"assert victims({variable}) == {names.many(key for key, _ in value)}"]
        case ops.PrepareStore(), Stored(stored, ids, evicted):
            return [f"assert answer({variable}) == ({names.many(stored)}, {list(ids)}, {names.many(evicted)})"]
        case ops.PrepareLoad(), tuple():
            return [f"assert block_ids({variable}) == {list(value)}"]
        case ops.TakeEvents(), tuple():
            return [f"assert [list(event.keys) for event in {variable}] == [{_lists(names, value)}]"]
    return []


def _lists(names: Names, events: Iterable[tuple[str, tuple[bytes, ...]]]) -> str:
    return ", ".join(names.many(keys) for _, keys in events)


def blocks_after(history: Sequence[Step], names: Names) -> dict[str, tuple[int, int]]:
    """Each resident block of a policy by the name of its key: its id, and the ref_cnt that its manager has set."""
    blocks: dict[str, tuple[int, int]] = {}
    num_inserted = 0
    for step in history:
        match step.op:
            case ops.Insert(key=key, idle=idle):
                blocks[names.key(key)] = num_inserted, 0 if idle else -1
                num_inserted += 1
            case ops.FinishStore(key=key):
                blocks[names.key(key)] = blocks[names.key(key)][0], 0
            case ops.Pin(key=key) | ops.Unpin(key=key):
                block_id, ref_cnt = blocks[names.key(key)]
                blocks[names.key(key)] = block_id, ref_cnt + (1 if isinstance(step.op, ops.Pin) else -1)
            case ops.Remove(key=key):
                blocks.pop(names.key(key), None)
            case ops.Evict():
                for key, _ in (step.outcome.value if step.outcome else None) or ():
                    blocks.pop(names.key(key), None)
            case ops.Clear():
                blocks.clear()
    return blocks
