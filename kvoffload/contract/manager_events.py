"""How events are judged: replayed as a consumer does, they fit what went before and end with the ready keys."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Set
from typing import TYPE_CHECKING

from kvoffload.contract import operations as ops
from kvoffload.contract.drivers import Outcome
from kvoffload.contract.report import listed
from kvoffload.types import OffloadKey
from kvoffload_spec import tier as spec

if TYPE_CHECKING:
    from kvoffload.contract.manager_lockstep import ManagerLockstep


def expect_events(run: ManagerLockstep, kind: str, keys: Iterable[OffloadKey | None]) -> None:
    """The next drain tells this; of the keys of a store that ``FAILED``, it tells nothing.

    It is noted only to tell a missing event from one too many, once the events are seen to be wrong.
    """
    if not run.thorough:
        return
    if kind == "FAILED":
        run.state.failed.update(keys)
    else:
        run.state.due.update((kind, key) for key in keys)


def judge_take_events(run: ManagerLockstep, op: ops.TakeEvents) -> None:
    """A drain tells what happened since the last one, and changes nothing."""
    outcome = run.perform(op, never_raises="events-once")
    replay_events(run, outcome, spec.ready(run.state.tier))
    if outcome.value:
        run.saw("drained events")
    run.compare((), {})


def replay_events(run: ManagerLockstep, drained: Outcome, ready: Set[OffloadKey]) -> None:
    """Replay drained events: stored and removed alternate for each key, and what is left is ready."""
    announced = run.state.announced
    told: Counter[tuple[str, OffloadKey | None]] = Counter()
    out_of_turn: list[tuple[str, OffloadKey]] = []
    for kind, keys in drained.value:
        told.update((kind, key) for key in ((None,) if kind == "CLEARED" else keys))
        if kind == "CLEARED":
            announced.clear()
        for key in keys:
            if (kind == "STORED") == (key in announced):
                out_of_turn.append((kind, key))
            (announced.add if kind == "STORED" else announced.discard)(key)
    if out_of_turn or announced != ready:
        _judge_wrong_events(run, told, out_of_turn, ready)
    run.state.due.clear()
    run.state.failed.clear()


def _judge_wrong_events(
    run: ManagerLockstep,
    told: Counter[tuple[str, OffloadKey | None]],
    out_of_turn: list[tuple[str, OffloadKey]],
    ready: Set[OffloadKey],
) -> None:
    """An event of a failed store, one that is missing, one too many, or one at the wrong time: in this order."""
    state, missing, extra = run.state, run.state.due - told, told - run.state.due
    wrong = {key for _, key in out_of_turn} | (state.announced ^ ready)
    for kind, key in extra:
        if key in wrong & state.failed:
            run.broken("failure-frees", f"no event of {key!r}", f"{kind} {key!r}", f"a store of {key!r} has failed")
    if out_of_turn and not missing and ("CLEARED", None) not in extra:
        kind, key = out_of_turn[0]
        why = f"{key!r} was {'' if kind == 'STORED' else 'not '}announced as stored before"
        run.broken("events-once", f"no {kind} of {key!r}", f"{kind} {key!r}", why)
    why = "the events so far, replayed, against the ready keys"
    if state.announced == ready:
        why = f"they replay to that, but there is no {next(iter(missing or extra))[0]} where there has to be one"
    run.broken("events-replay", listed(sorted(ready)), listed(sorted(state.announced)), why)
