"""The entries: check a policy, check a manager, and get a report."""

from __future__ import annotations

import operator
import sys
import time
from collections.abc import Callable, Collection, Mapping
from typing import Any, TypedDict, Unpack

from kvoffload.contract.calls.history import read_history
from kvoffload.contract.clauses import CONTRACT_VERSION, Clause, Subject, clause, clauses_for
from kvoffload.contract.clauses.capabilities import capabilities_of, claims_of
from kvoffload.contract.lockstep.base import Watch
from kvoffload.contract.lockstep.orders import check_order
from kvoffload.contract.lockstep.start import start
from kvoffload.contract.reports.report import Report
from kvoffload.contract.reports.violation import describe_violation
from kvoffload.contract.search.minimise import replay
from kvoffload.contract.search.probes import probe_memory, probe_scaling
from kvoffload.contract.search.search import BUDGET, hangs, search
from kvoffload.contract.targets.target import Target
from kvoffload.contract.targets.time_limit import time_limit
from kvoffload.types import OffloadKey
from kvoffload_spec.admission import Admission

MOST_ROUNDS = 3
"""How many more rounds a run is given in which some call or situation never came up."""

PROBED = ("memory-bounded", "evict-scales")
"""The clauses that no history of a search can break."""


class PolicyOptions(TypedDict, total=False):
    """What is declared of a policy, and how it is searched: the keywords of ``check_policy``, which explains them."""

    order: str | None
    capabilities: Collection[str]
    expected_failures: Mapping[str, str] | None
    contract: int
    budget: int
    seed: int


class ManagerOptions(PolicyOptions, total=False):
    """The same of a manager: the keywords of ``check_manager``, which explains them."""

    store_threshold: int
    max_tracker_size: int


# The entries that are called by hand show their keywords and defaults; all others pass these options on.
def check_policy(
    make: Callable[[int], Any],
    *,
    order: str | None = None,
    capabilities: Collection[str] = (),
    expected_failures: Mapping[str, str] | None = None,
    contract: int = CONTRACT_VERSION,
    budget: int = BUDGET,
    seed: int = 0,
    raising: bool = False,
    name: str = "",
    arguments: str = "",
    on_history: Callable[[], None] = lambda: None,
) -> Report:
    """Check every clause of the policy contract.

    Args:
        make: makes a new policy for a capacity in blocks; it is called anew for every history.
        order: the order that the policy declares, ``lru`` say, or ``slru:0.5`` with its share; without it nothing about
            order is checked.
        capabilities: what it promises besides, ``scales``, or does not promise, ``no-repeated-keys``.
        expected_failures: ids of clauses that it is known to break, each with the reason. One that is kept all the same
            makes the verdict ``BROKEN``.
        contract: the contract version that it is held to; clauses that have come since are run, and shown as new.
        budget: how many histories to try, at least: more follow where something is found, or never came up.
        seed: another choice of histories; the same seed gives the same report.
        raising: raise unless the contract is kept.
        name: ``module:name`` of the policy's class, for programs that can be pasted; found out where ``make`` has one.
        arguments: what ``make`` passes after the capacity, for the same programs.
        on_history: called as each history begins: for a progress bar.

    Returns:
        What was found, and what was seen on the way.

    Raises:
        ValueError: if the order, a capability, a clause or the contract version is unknown.
        SignatureError: if the policy takes none of the arguments that policies are called with.
        TargetError: if making one raises.
        ContractViolation: if it is ``raising`` and a clause is broken.
        InconclusiveError: if it is ``raising`` and the run shows too little.
    """
    target = Target("policy", make, order, name or name_of(make), arguments, capabilities=tuple(capabilities))
    report = _check(target, start_report(target, expected_failures, contract, seed), budget, on_history)
    if report.failures:
        report.leave_out("probed once nothing else is broken", PROBED)
    elif not report.not_judged:
        with time_limit():
            report.add(probe_memory(target, may_raise=bool(report.broken)))
            if "scales" in report.claims:
                report.add(probe_scaling(target))
    if raising:
        report.raise_if_not_kept()
    return report


def check_manager(
    make: Callable[[int], Any],
    *,
    order: str | None = None,
    capabilities: Collection[str] = (),
    expected_failures: Mapping[str, str] | None = None,
    contract: int = CONTRACT_VERSION,
    budget: int = BUDGET,
    seed: int = 0,
    raising: bool = False,
    name: str = "",
    arguments: str = "",
    store_threshold: int = 0,
    max_tracker_size: int = 64_000,
    on_history: Callable[[], None] = lambda: None,
) -> Report:
    """Check every clause of the manager contract.

    Args:
        make: makes a new manager for a number of blocks; it is called anew for every history. What it cannot show (no
            events, no statistics, no transfer ids) it does not claim.
        order: the order that its policy declares; without it nothing about order is checked.
        capabilities: what it does not promise, ``no-repeated-keys``, or does, although others of its family do not.
        expected_failures: ids of clauses that it is known to break, each with the reason. One that is kept all the same
            makes the verdict ``BROKEN``.
        contract: the contract version that it is held to; clauses that have come since are run, and shown as new.
        budget: how many histories to try, at least: more follow where something is found, or never came up.
        seed: another choice of histories; the same seed gives the same report.
        raising: raise unless the contract is kept.
        name: ``module:name`` of the manager's class, for programs that can be pasted; found out where ``make`` has one.
        arguments: what ``make`` passes after the number of blocks, for the same programs: ``", enable_events=True"``.
        store_threshold: the one that ``make`` gives it, in requests.
        max_tracker_size: the one that ``make`` gives it, in keys.
        on_history: called as each history begins: for a progress bar.

    Returns:
        What was found, and what was seen on the way.

    Raises:
        ValueError: if the order, a capability, a clause or the contract version is unknown.
        SignatureError: if the manager takes none of the arguments that managers are called with.
        TargetError: if making one raises.
        ContractViolation: if it is ``raising`` and a clause is broken.
        InconclusiveError: if it is ``raising`` and the run shows too little.
    """
    admission = Admission[OffloadKey](store_threshold, max_tracker_size)
    target = Target("manager", make, order, name or name_of(make), arguments, admission, tuple(capabilities))
    report = _check(target, start_report(target, expected_failures, contract, seed), budget, on_history)
    if raising:
        report.raise_if_not_kept()
    return report


def replay_history(
    make: Callable[[int], Any],
    history: str,
    *,
    order: str | None = None,
    capabilities: Collection[str] = (),
    store_threshold: int = 0,
    max_tracker_size: int = 64_000,
) -> None:
    """Make the calls of one history again, and judge each: a test that stays red until the clause is kept.

    Args:
        make: makes the policy or the manager, for a capacity in blocks.
        history: the calls in one line of text, as a report prints them behind ``replay-history``.
        order: the order that it declares.
        capabilities: what else it declares.
        store_threshold: the one that ``make`` gives it, in requests.
        max_tracker_size: the one that ``make`` gives it, in keys.

    Raises:
        ContractViolation: if the history breaks a clause; its text is the whole report.
        ValueError: if the text is no history, or the order or a capability is unknown.
    """
    check_order(order)
    subject, capacity, operations = read_history(history)
    admission = Admission[OffloadKey](store_threshold, max_tracker_size)
    target = Target(subject, make, order, name_of(make), "", admission, tuple(capabilities))
    with time_limit():
        violation = replay(start(target, capacity, Watch()), operations)
    if violation is not None:
        violation.text = describe_violation(violation)
        raise violation


def _check(target: Target, report: Report, budget: int, on_history: Callable[[], None]) -> Report:
    """Search until nothing more is found: each broken clause is left to its own report and the search goes on."""
    if budget < 1 or report.seed < 0:
        raise ValueError(
            f"budget is {budget} and seed is {report.seed}; look at 1 history or more, and count seeds from 0."
        )
    began = time.monotonic()
    again = 0
    while True:
        found = search(target, frozenset(report.broken), budget, report.seed + again, on_history=on_history)
        report.count(found.watch, found.examples)
        if found.violation is not None:
            report.add(found.violation)
            if hangs(found.violation):
                # Each history that hangs would cost seconds.
                report.leave_out("the check ended with the call that hangs", [it.id for it in report.claimed])
                break
        elif report.failures or not report.never or again == MOST_ROUNDS:
            break
        else:
            # Something never came up: look at other histories before calling the run inconclusive.
            again += 1
    report.seconds = time.monotonic() - began
    return report


def start_report(target: Target, expected_failures: Mapping[str, str] | None, contract: int, seed: int) -> Report:
    """A report on nothing yet.

    Raises:
        ValueError: if the order, a capability, a clause or the contract version is unknown.
    """
    clauses = declared_clauses(
        target.subject,
        order=target.order,
        capabilities=target.capabilities,
        expected_failures=expected_failures,
        contract=contract,
        store_threshold=target.admission.threshold,
    )
    expected = dict(expected_failures or {})
    return Report(target.subject, target.name, target.order, clauses, target.claims, expected, contract, seed)


def declared_clauses(subject: Subject, **options: Unpack[ManagerOptions]) -> tuple[Clause, ...]:
    """The clauses that there are for what declares this.

    Args:
        subject: a policy or a manager.
        options: what is declared of it.

    Raises:
        ValueError: if the order, a capability, a clause or the contract version is unknown.
    """
    order, contract = options.get("order"), options.get("contract", CONTRACT_VERSION)
    check_order(order)
    claims_of(subject, [it.id for it in capabilities_of(subject)], declared=options.get("capabilities", ()))
    clauses = clauses_for(subject, order, admission=options.get("store_threshold", 0) > 1)
    for id, reason in (options.get("expected_failures") or {}).items():
        if not reason.strip():
            raise ValueError(f"expected_failures names {id!r} without a reason; write why: {{{id!r}: 'our issue 12'}}.")
        if clause(id) not in clauses:
            raise ValueError(
                f"expected_failures names {id!r}, which is no clause of a {subject} with order "
                f"{order or 'not declared'}; those are {', '.join(c.id for c in clauses)}. Take it out."
            )
    if not 1 <= contract <= CONTRACT_VERSION:
        raise ValueError(f"contract is {contract}; there are the versions 1 to {CONTRACT_VERSION}. Name one of them.")
    return clauses


def name_of(make: Callable[[int], Any]) -> str:
    """``module:name`` that imports this factory; empty where nothing does, as for a lambda."""
    module, path = getattr(make, "__module__", None), getattr(make, "__qualname__", None)
    if not (isinstance(module, str) and isinstance(path, str)) or module == "__main__":
        return ""
    try:
        found = operator.attrgetter(path)(sys.modules.get(module))
    except AttributeError:
        return ""
    return f"{module}:{path}" if found is make else ""
