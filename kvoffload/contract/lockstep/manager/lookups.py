"""How the calls that move no block are judged, and the one that drops them all: lookups, touches and resets."""

from __future__ import annotations

from kvoffload.contract.calls import operations as ops
from kvoffload.contract.lockstep.difference import blame_all
from kvoffload.contract.lockstep.manager.run import JUDGES, ManagerRun
from kvoffload.contract.lockstep.orders import start_order
from kvoffload.contract.lockstep.reading import read
from kvoffload.contract.targets.drivers import ManagerDriver
from kvoffload_spec import tier as spec
from kvoffload_spec import transfer

TOUCHED = {"MISS": "a missing", "HIT_PENDING": "a pending", "HIT": "an idle"}
LOOKUPS = {"MISS": "misses", "HIT_PENDING": "pending_hits", "HIT": "hits"}


@JUDGES.of(ops.Lookup)
def judge_lookup(run: ManagerRun, op: ops.Lookup) -> None:
    """The answer is what the model says, and nothing changes."""
    outcome = run.perform(op, never_raises="lookup-truth")
    expected = spec.lookup(run.state.tier, op.key)
    if outcome.value != run.state.told(expected):
        run.broken("lookup-truth", expected, outcome.value, run.state.why(op.key))
    run.state.totals[LOOKUPS[expected]] += 1
    run.compare(op.named, blame_all("lookup-pure"))


@JUDGES.of(ops.TouchKeys)
def judge_touch(run: ManagerRun, op: ops.TouchKeys) -> None:
    """Only the order changes."""
    run.perform(op, never_raises="touch-pure")
    state = run.state
    state.order = state.order and state.order.touch(op.keys, op.request)
    for key in op.keys:
        kind = "a pinned" if key in state.tier.pinned else TOUCHED[spec.lookup(state.tier, key)]
        run.saw(f"touched {kind} key")
    run.compare(op.keys, blame_all("touch-pure"))


@JUDGES.of(ops.FinishRequest)
def judge_finish(run: ManagerRun, op: ops.FinishRequest) -> None:
    """Only the order changes, if even that."""
    clause = run.claimed_of("touch-pure", *run.unreadable)
    run.perform(op, never_raises=clause)
    run.compare((), blame_all(clause))


@JUDGES.of(ops.ResetCache)
def judge_reset(run: ManagerRun, op: ops.ResetCache) -> None:
    """Afterwards the manager is as a new one, which is given the same calls from now on."""
    state = run.state
    if state.transfers.writes or state.transfers.reads:
        run.saw("reset with transfers in flight")
    run.twin = None
    run.perform(op, never_raises="reset-fresh")
    state.tier = spec.reset(state.tier)
    state.transfers = transfer.Transfers()
    state.order = start_order(run.order_id, run.capacity)
    state.admission = run.admission
    state.slots.clear()
    state.totals.clear()
    state.has_forgotten = False
    run.compare((), blame_all("reset-fresh"))
    if "reset-events" not in run.claims and run.tells_events:
        run.driver.perform(ops.TakeEvents())  # what was told before is not to be told after it
        state.announced.clear()
    if run.thorough and "deterministic" in run.claims:
        run.twin = read(lambda: ManagerDriver(run.make(run.capacity)))
