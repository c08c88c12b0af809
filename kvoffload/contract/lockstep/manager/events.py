"""How events are judged: replayed as a consumer does, they fit what went before and end with the ready keys."""

from __future__ import annotations

from collections.abc import Set

from kvoffload.contract.calls import operations as ops
from kvoffload.contract.calls.outcome import Outcome
from kvoffload.contract.calls.text import listed, shown
from kvoffload.contract.lockstep.manager.run import JUDGES, ManagerRun
from kvoffload.contract.lockstep.reading import read
from kvoffload.contract.lockstep.violation import ContractViolation
from kvoffload.types import OffloadKey
from kvoffload_spec import tier as spec


@JUDGES.of(ops.TakeEvents)
def judge_take_events(run: ManagerRun, op: ops.TakeEvents) -> None:
    """A drain tells what happened since the last one, and changes nothing."""
    outcome = run.perform(op, never_raises="events-once")
    replay_events(run, outcome, spec.ready(run.state.tier))
    if outcome.value:
        run.saw("drained events")
    run.compare((), {})


def replay_events(run: ManagerRun, drained: Outcome, ready: Set[OffloadKey]) -> None:
    """Replay drained events: stored and removed alternate for each key, and what is left is ready.

    Args:
        run: the manager and the model.
        drained: what ``take_events`` returned.
        ready: the keys that are ready.
    """
    if drained.raised is not None:
        run.broken("events-once", "no exception", shown(drained), "take_events() never raises")
    read(hash, drained.value)
    announced = run.state.announced
    out_of_turn: list[tuple[str, OffloadKey]] = []
    for kind, keys in drained.value:
        if kind == "CLEARED":
            announced.clear()
        for key in keys:
            if (kind == "STORED") == (key in announced):
                out_of_turn.append((kind, key))
            (announced.add if kind == "STORED" else announced.discard)(key)
    if not out_of_turn and announced == ready:
        return
    _judge_each_call(run)
    failed = _failed_by_the_last_call(run)
    for key in failed.intersection(announced.union(key for _, key in out_of_turn)):
        why = f"the store of {key!r} has failed"
        run.broken("failure-frees", f"no event of {key!r}", listed_events(drained), why)
    for kind, key in out_of_turn:
        why = f"{key!r} was {'' if kind == 'STORED' else 'not '}announced as stored before"
        run.broken("events-once", f"no {kind} of {key!r}", listed_events(drained), why)
    expected, actual = f"ready {listed(sorted(ready))}", f"ready by the events {listed(read(sorted, announced))}"
    run.broken("events-replay", expected, actual, run.state.why(read(min, ready ^ announced)))


def _judge_each_call(run: ManagerRun) -> None:
    """Make the same calls on a new manager and drain its events after each: that shows which call told them wrong."""
    if not run.thorough or run.drains_each_call:
        return
    other = read(run.anew)
    other.drains_each_call = True
    try:
        for step in tuple(run.history):
            other.apply(step.op)
            other.apply(ops.TakeEvents())
    except ContractViolation as violation:
        run.broken(violation.clause.id, violation.expected, violation.actual, violation.why)


def _failed_by_the_last_call(run: ManagerRun) -> frozenset[OffloadKey]:
    """The keys that are not there because the call before this drain has told that their store failed."""
    call = run.history[-2].op if len(run.history) > 1 else None
    if not isinstance(call, ops.CompleteStore) or call.success:
        return frozenset()
    return frozenset(key for key in call.keys if key not in spec.resident(run.state.tier))


def listed_events(drained: Outcome) -> str:
    """Drained events, for a report."""
    return ", ".join(f"{kind} {listed(keys)}" for kind, keys in drained.value) or "no event"
