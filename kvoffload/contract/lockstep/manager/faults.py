"""How a manager is judged when its policy raises: whatever it could not finish, no block and no count is lost."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kvoffload.contract.calls import operations as ops
from kvoffload.contract.calls.outcome import MisbehaviourError, Outcome
from kvoffload.contract.calls.text import counted, listed, shown
from kvoffload.contract.lockstep.difference import Difference
from kvoffload.contract.lockstep.manager.events import replay_events
from kvoffload.contract.lockstep.manager.run import JUDGES, ManagerRun
from kvoffload.contract.lockstep.manager.shown import ShownKey
from kvoffload.contract.lockstep.reading import read
from kvoffload.contract.lockstep.violation import ContractViolation, EndedQuietlyError
from kvoffload.types import OffloadKey
from kvoffload_spec import tier as spec


@JUDGES.of(ops.PolicyFault)
def judge_fault(run: ManagerRun, op: ops.PolicyFault) -> None:
    """The exception reaches the caller, and the manager's books agree with what its policy still holds.

    What the policy's own order is after such a fault nobody can say, so the history ends here.
    """
    before = run.state.tier
    with run.shown.failing(op.method, op.nth, op.after) as raised:
        outcome = run.record(run.driver.perform(op.during))
    run.over = True
    try:
        if raised:
            run.saw("fault in the policy")
            _judge_books(run, op, before, outcome)
        _judge_lookups(run)
    except ContractViolation:
        _judge_without_fault(run, op.during)
        raise


def _judge_without_fault(run: ManagerRun, call: ops.Operation) -> None:
    """A call that breaks a clause even if the policy does not raise has broken that one."""
    other = read(run.anew)
    try:
        for op in (*(step.op for step in tuple(run.history)[:-1]), call, ops.TakeEvents()):
            other.apply(op)
        other.finish()
    except ContractViolation as violation:
        if violation.clause.id in run.watch.quiet:
            raise EndedQuietlyError from violation
        raise


def _judge_books(run: ManagerRun, op: ops.PolicyFault, before: spec.Tier[OffloadKey], outcome: Outcome) -> None:
    if outcome.raised is None or isinstance(outcome.raised, MisbehaviourError):
        actual = "no exception" if outcome.value is None else f"no exception, {shown(outcome)}"
        expected, why = f"the exception of policy.{op.method}()", "it reaches the caller of the manager"
        run.broken("fault-atomic", expected, actual, why)
    now = {key: run.shown.key(key) for key in run.state.known}
    for difference in _differences(run, op.during, before, now):
        run.broken("fault-atomic", difference.expected, difference.actual, difference.why)
    if run.tells_events:
        ready = {key for key, it in now.items() if it.residency == "HIT"}
        replay_events(run, run.driver.perform(ops.TakeEvents()), ready)
    for difference in _lost_counts(run, op.during, before, now):
        run.broken("stats-exact", difference.expected, difference.actual, difference.why)
    _judge_late_completions(run)


def _differences(
    run: ManagerRun, call: ops.Operation, before: spec.Tier[OffloadKey], now: Mapping[OffloadKey, ShownKey]
) -> Iterator[Difference]:
    """Where a key is nothing that the call may have left, or a count is not what the policy still holds."""
    for key, (residency, ref_cnt, *_) in now.items():
        may_be = sorted(_may_be(before, call, key))
        if residency not in may_be:
            why = f"{key!r} was {spec.lookup(before, key)} before the call"
            yield Difference("residency", f"{key!r} is {' or '.join(may_be)}", f"{key!r} is {residency}", why)
        if residency == "HIT" and ref_cnt not in (None, *_may_hold(before, call, key)):
            pins = before.pinned.get(key, 0)
            why = f"{counted(pins, 'load') if pins else 'no load'} of {key!r} in progress after the fault"
            yield Difference("pins", f"ref_cnt of {key!r} is {pins}", f"ref_cnt of {key!r} is {ref_cnt}", why)
    num_resident = sum(it.residency != "MISS" for it in now.values())
    counts, num_free = run.shown.counts(), before.capacity - num_resident
    if counts.get("free", num_free) != num_free:
        why = f"{counted(before.capacity, 'block')}, {num_resident} resident after the fault"
        yield Difference("free", f"{num_free} free", f"{counts['free']} free", why)
    idle = sorted(key for key, it in now.items() if it.residency != "MISS" and it.ref_cnt == 0)
    if counts.get("counter", len(idle)) != len(idle):
        why = f"ready and read by no load after the fault: {listed(idle) if idle else 'none'}"
        yield Difference("counter", f"counter {len(idle)}", f"counter {counts['counter']}", why)


def _lost_counts(
    run: ManagerRun, call: ops.Operation, before: spec.Tier[OffloadKey], now: Mapping[OffloadKey, ShownKey]
) -> Iterator[Difference]:
    """Where a gauge does not tell what is left after the fault, or what a store has lost is not counted as evicted."""
    answers = [it.residency for it in now.values()]
    expected = {
        "pending": answers.count("HIT_PENDING"),
        "free": run.capacity - len(answers) + answers.count("MISS"),
    }
    if isinstance(call, ops.PrepareStore):
        gone = [key for key in spec.ready(before) if now[key].residency == "MISS"]
        expected["blocks_evicted"] = run.state.totals["blocks_evicted"] + len(gone)
    stats = run.shown.stats()
    for name, count in expected.items():
        if stats.get(name, count) != count:
            yield Difference(
                "stats", f"{name} {count}", f"{name} {stats[name]}", "counted from what the fault has left", came=name
            )


def _judge_lookups(run: ManagerRun) -> None:
    """What a caller is told of a key is what the policy shows of it."""
    for key in run.state.known:
        expected = run.state.told(run.shown.key(key).residency)
        outcome = run.driver.perform(ops.Lookup(key))
        if outcome.value != expected:
            why = f"the manager's policy shows that {key!r} is {expected}"
            run.broken("lookup-truth", f"lookup({key!r}) is {expected}", shown(outcome), why)


def _judge_late_completions(run: ManagerRun) -> None:
    """A store whose key the fault has dropped is not outstanding for it, and does not complete the next store of it."""
    for i, (writer, key) in enumerate(sorted(run.state.transfers.writes)):
        if (
            run.shown.key(key).residency == "MISS"
            and run.driver.perform(ops.PrepareStore((key,), -1 - i)).value is not None
        ):
            run.driver.perform(ops.CompleteStore((key,), True, writer))
            if run.shown.key(key).residency == "HIT":
                why = f"a store of {key!r} was dropped by the fault and stored again; then the first one completed"
                run.broken("stale-ignored", f"{key!r} is HIT_PENDING", f"{key!r} is HIT", why)


def _may_hold(before: spec.Tier[OffloadKey], op: ops.Operation, key: OffloadKey) -> tuple[int, ...]:
    """How many loads may hold a ready key after the faulty call: as before, or one less if they were completed."""
    pins = before.pinned.get(key, 0)
    return (pins, pins - 1) if isinstance(op, ops.CompleteLoad) and key in op.keys else (pins,)


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
