"""How a manager is judged when its policy raises: whatever it could not finish, no block and no count is lost."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvoffload.contract.calls import operations as ops
from kvoffload.contract.calls.evidence import Evidence, asserting, some
from kvoffload.contract.calls.operations import call_of
from kvoffload.contract.calls.outcome import MisbehaviourError, Outcome
from kvoffload.contract.calls.text import counted, listed, shown
from kvoffload.contract.lockstep.manager.events import replay_events
from kvoffload.contract.lockstep.manager.evidence import POLICY, Shown, residency_of, statistic
from kvoffload.contract.lockstep.manager.state import residency
from kvoffload.contract.lockstep.violation import ContractViolation, EndedQuietlyError
from kvoffload.types import OffloadKey
from kvoffload_spec import tier as spec

if TYPE_CHECKING:
    from kvoffload.contract.lockstep.manager.run import ManagerLockstep


def judge_fault(run: ManagerLockstep, op: ops.PolicyFault) -> None:
    """The exception reaches the caller, and the manager's books agree with what its policy still holds.

    What the policy's own order is after such a fault nobody can say, so the history ends here.
    """
    before = run.state.tier
    with run.view.failing(op.method, op.nth, op.after) as raised:
        outcome = run.record(run.driver.perform(op.during))
    run.over = True
    if not raised:
        return
    run.saw("fault in the policy")
    try:
        _judge_books(run, op, before, outcome)
    except ContractViolation:
        _judge_without_fault(run, op.during)
        raise


def _judge_without_fault(run: ManagerLockstep, call: ops.Operation) -> None:
    """A call that breaks a clause even if the policy does not raise has broken that one."""
    other = run.anew()
    try:
        for op in (*(step.op for step in tuple(run.history)[:-1]), call, ops.TakeEvents()):
            other.apply(op)
    except ContractViolation as violation:
        if violation.clause.id in run.watch.quiet:
            raise EndedQuietlyError from violation
        raise


def _judge_books(run: ManagerLockstep, op: ops.PolicyFault, before: spec.Tier[OffloadKey], outcome: Outcome) -> None:
    view = run.view
    if outcome.raised is None or isinstance(outcome.raised, MisbehaviourError):
        actual = "no exception" if outcome.value is None else f"no exception, {shown(outcome)}"
        expected, why = f"the exception of policy.{op.method}()", "it reaches the caller of the manager"
        run.broken("fault-atomic", expected, actual, why, Evidence(raises=True))
    known = some(run.state.known)
    resident = {key for key in run.state.known if _answer(run, key) != "MISS"}
    for key in run.state.known:
        may_be = sorted(_may_be(before, op.during, key))
        if _answer(run, key) not in may_be:
            why = f"{key!r} was {spec.lookup(before, key)} before the call"
            expected, actual = f"{key!r} is {' or '.join(may_be)}", f"{key!r} is {_answer(run, key)}"
            evidence = asserting(f"{residency_of(view, key)} in {may_be}")
            run.broken("fault-atomic", expected, actual, why, evidence)
        ref_cnt, _ = view.block(key)
        if _answer(run, key) == "HIT" and ref_cnt not in (None, *_may_hold(before, op.during, key)):
            pins = before.pinned.get(key, 0)
            expected, actual = f"ref_cnt of {key!r} is {pins}", f"ref_cnt of {key!r} is {ref_cnt}"
            why = f"{counted(pins, 'load') if pins else 'no load'} of {key!r} in progress after the fault"
            allowed = list(_may_hold(before, op.during, key))
            evidence = asserting(f"{POLICY}.get({key!r}) is None or {POLICY}.get({key!r}).ref_cnt in {allowed}")
            run.broken("fault-atomic", expected, actual, why, evidence)
    shows, counts, num_free = Shown(run.driver, view), view.counts(), before.capacity - len(resident)
    if counts.get("free", num_free) != num_free:
        why = f"{counted(before.capacity, 'block')}, {len(resident)} resident after the fault"
        evidence = asserting(f"{shows.num_free} == {before.capacity} - {_how_many(known, '!=', 'MISS')}")
        run.broken("fault-atomic", f"{num_free} free", f"{counts['free']} free", why, evidence)
    idle = sorted(key for key in resident if view.block(key)[0] == 0)
    if counts.get("counter", len(idle)) != len(idle):
        why = f"ready and read by no load after the fault: {listed(idle) if idle else 'none'}"
        num_idle = f"sum(status(manager, key) == 'HIT' and {POLICY}.get(key).ref_cnt == 0 for key in {known})"
        evidence = asserting(f"{shows.num_evictable} == {num_idle}")
        run.broken("fault-atomic", f"counter {len(idle)}", f"counter {counts['counter']}", why, evidence)
    if run.tells_events:
        ready = {key for key in resident if _answer(run, key) == "HIT"}
        is_ready = f"{{key for key in {known} if status(manager, key) == 'HIT'}}"
        drained = run.driver.perform(ops.TakeEvents())
        replay_events(run, drained, ready, f"ready_after([*events, *manager.take_events()]) == {is_ready}")
    _judge_stats(run, op.during, before)
    _judge_late_completions(run)


def _how_many(keys: str, relation: str, residency: str) -> str:
    """The expression that counts the keys that are that, or are not."""
    return f"sum(status(manager, key) {relation} '{residency}' for key in {keys})"


def _judge_stats(run: ManagerLockstep, call: ops.Operation, before: spec.Tier[OffloadKey]) -> None:
    """The gauges tell what is left after the fault, and what a store has lost was evicted."""
    stats, known = run.view.stats(), some(run.state.known)
    answers = [_answer(run, key) for key in run.state.known]
    expected: dict[str, tuple[float, str]] = {
        "pending": (answers.count("HIT_PENDING"), _how_many(known, "==", "HIT_PENDING")),
        "free": (
            run.capacity - len(answers) + answers.count("MISS"),
            f"{run.capacity} - {_how_many(known, '!=', 'MISS')}",
        ),
    }
    if isinstance(call, ops.PrepareStore):
        were_ready, so_far = sorted(spec.ready(before)), run.state.totals["blocks_evicted"]
        gone = [key for key in were_ready if _answer(run, key) == "MISS"]
        expected["blocks_evicted"] = so_far + len(gone), f"{so_far} + {_how_many(some(were_ready), '==', 'MISS')}"
    for name, (count, expression) in expected.items():
        if stats.get(name, count) != count:
            why = "counted from what the fault has left"
            evidence = asserting(f"{statistic(name)} == {expression}")
            run.broken("stats-exact", f"{name} {count}", f"{name} {stats[name]}", why, evidence)


def _judge_late_completions(run: ManagerLockstep) -> None:
    """A store whose key the fault has dropped is not outstanding for it, and does not complete the next store of it."""
    for i, (writer, key) in enumerate(sorted(run.state.transfers.writes)):
        if _answer(run, key) == "MISS" and run.driver.perform(ops.PrepareStore((key,), -1 - i)).value is not None:
            run.driver.perform(ops.CompleteStore((key,), True, writer))
            if _answer(run, key) == "HIT":
                why = f"a store of {key!r} was dropped by the fault and stored again; then the first one completed"
                evidence = _late_completion(run, key, writer)
                run.broken("stale-ignored", f"{key!r} is HIT_PENDING", f"{key!r} is HIT", why, evidence)


def _late_completion(run: ManagerLockstep, key: OffloadKey, writer: int) -> Evidence:
    calls = [call_of(step.op) for step in run.history]
    opened = max(i for i, op in enumerate(calls, 1) if isinstance(op, ops.PrepareStore) and op.transfer == writer)
    is_dropped = f"is_dropped = {residency_of(run.view, key)} == 'MISS'"
    completed = f"manager.complete_store([{key!r}], transfer_id=call_{opened}.transfer_id)"
    return Evidence(
        (f"not is_dropped or {residency_of(run.view, key)} != 'HIT'",),
        after=(is_dropped, f"manager.prepare_store([{key!r}])", completed),
    )


def _may_hold(before: spec.Tier[OffloadKey], op: ops.Operation, key: OffloadKey) -> tuple[int, ...]:
    """How many loads may hold a ready key after the faulty call: as before, or one less if they were completed."""
    pins = before.pinned.get(key, 0)
    return (pins, pins - 1) if isinstance(op, ops.CompleteLoad) and key in op.keys else (pins,)


def _answer(run: ManagerLockstep, key: OffloadKey) -> str:
    return residency(run.driver, run.view, key)


def _may_be(before: spec.Tier[OffloadKey], op: ops.Operation, key: OffloadKey) -> frozenset[str]:
    """What the key may be after the faulty call: as before, or as the call was about to make it."""
    was = spec.lookup(before, key)
    match op:
        case ops.PrepareStore() if key in before.idle and key not in op.keys:
            return frozenset((was, "MISS"))
        case ops.CompleteStore() if key in before.pending and key in op.keys:
            return frozenset((was, "HIT" if op.success else "MISS"))
        case ops.ResetCache():
            return frozenset((was, "MISS"))
    return frozenset((was,))
