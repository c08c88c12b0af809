"""The entries: check a policy, check a manager, and get a report."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from typing import Any

from hypothesis import settings

from kvoffload.contract.clauses import clauses_for
from kvoffload.contract.orders import check_order
from kvoffload.contract.probes import probe_memory, probe_scaling
from kvoffload.contract.search import QUICK, Target, search
from kvoffload.contract.situations import ADMISSION, OF_EVENTS, OPERATIONS, SITUATIONS
from kvoffload.contract.verdict import Report
from kvoffload.contract.view import tells_events
from kvoffload.types import OffloadKey
from kvoffload_spec.admission import Admission

MOST_ROUNDS = 3
"""How many more rounds a run is given in which some call or situation never came up."""

CAPABILITIES = ("scales",)
"""What an implementation may declare of itself; ``scales``: the cost of its evictions does not grow with its blocks."""


def check_policy(
    make: Callable[[int], Any],
    *,
    order: str | None = None,
    capabilities: Collection[str] = (),
    budget: settings = QUICK,
    seed: int | None = None,
    name: str = "",
    arguments: str = "",
) -> Report:
    """Check every clause of the policy contract.

    Args:
        make: makes a new policy for a capacity in blocks; it is called anew for every history.
        order: the order that the policy declares, ``lru`` say, or ``slru:0.5`` with its share; without it nothing about
            order is checked.
        capabilities: what else it declares, of ``CAPABILITIES``.
        budget: Hypothesis settings, for how many histories of how many steps.
        seed: another choice of histories than the one that ``budget`` gives.
        name: ``module:name`` of the policy's class, for programs that can be pasted.
        arguments: what ``make`` passes after the capacity, for the same programs.

    Returns:
        What was found, and what was seen on the way.

    Raises:
        ValueError: if the order or a capability is unknown.
    """
    require_known(capabilities)
    report = _check(Target("policy", make, order, name, arguments), budget, seed)
    if not report.broken:
        report.add(probe_memory(make))
        if "scales" in capabilities:
            report.add(probe_scaling(make))
    if "scales" not in capabilities:
        report.not_claimed.append("evict-scales")
    return report


def require_known(capabilities: Collection[str]) -> None:
    """Refuse a capability that does not exist.

    Raises:
        ValueError: if there is one; the message lists the known ones.
    """
    unknown = sorted(set(capabilities) - set(CAPABILITIES))
    if unknown:
        raise ValueError(
            f"the capability is {unknown[0]!r}; known are {', '.join(CAPABILITIES)}. Leave it out, or name one."
        )


def check_manager(
    make: Callable[[int], Any],
    *,
    order: str | None = None,
    budget: settings = QUICK,
    seed: int | None = None,
    name: str = "",
    arguments: str = "",
    store_threshold: int = 0,
    max_tracker_size: int = 64_000,
) -> Report:
    """Check every clause of the manager contract.

    Args:
        make: makes a new manager for a number of blocks; it is called anew for every history. One that tells no event
            of a store, an eviction and a reset does not claim the clauses about events.
        order: the order that its policy declares; without it nothing about order is checked.
        budget: Hypothesis settings, for how many histories of how many steps.
        seed: another choice of histories than the one that ``budget`` gives.
        name: ``module:name`` of the manager's class, for programs that can be pasted.
        arguments: what ``make`` passes after the number of blocks, for the same programs: ``", enable_events=True"``.
        store_threshold: the one that ``make`` gives it, in requests.
        max_tracker_size: the one that ``make`` gives it, in keys.

    Returns:
        What was found, and what was seen on the way.

    Raises:
        ValueError: if the order is unknown.
    """
    events = tells_events(make)
    admission = Admission[OffloadKey](store_threshold, max_tracker_size)
    report = _check(Target("manager", make, order, name, arguments, admission, events), budget, seed)
    if not events:
        report.not_claimed += ["events-replay", "events-once"]
    return report


def _check(target: Target, budget: settings, seed: int | None) -> Report:
    """Search until nothing more is found: each broken clause is left to its own report and the search goes on."""
    check_order(target.order)
    began = time.monotonic()
    admission = target.admission.threshold > 1
    clauses = clauses_for(target.subject, target.order, admission)
    # Where few keys are let in, many of the other situations are rare: they are what a check without admission is for.
    wanted = (*OPERATIONS[target.subject], *(ADMISSION if admission else SITUATIONS[target.subject]))
    if not target.events:
        wanted = tuple(it for it in wanted if it not in OF_EVENTS)
    report = Report(target.subject, target.name, target.order, clauses, wanted)
    again = 0
    while True:
        found = search(target, frozenset(report.broken), budget, seed)
        report.count(found)
        if found.violation is not None:
            report.add(found.violation)
        elif report.broken or not report.never or again == MOST_ROUNDS:
            break
        else:
            # Something never came up: look at other histories before calling the run inconclusive.
            again += 1
            seed = again if seed is None else seed + again
    report.seconds = time.monotonic() - began
    return report
