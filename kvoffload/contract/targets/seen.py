"""Which capabilities can be seen of a policy or a manager: on the object, or by a few calls on a new one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kvoffload.contract.calls import operations as ops
from kvoffload.contract.clauses import Subject
from kvoffload.contract.clauses.capabilities import capabilities_of
from kvoffload.contract.targets.adapters import FittedManager, as_manager, as_policy
from kvoffload.contract.targets.drivers import ManagerDriver
from kvoffload.contract.targets.time_limit import CallHangsError, watched
from kvoffload.contract.targets.view import ManagerView, eviction_order, shown_evictable
from kvoffload.types import OffloadKey

NUM_BLOCKS = 2


def seen_of_policy(make: Callable[[int], Any]) -> tuple[frozenset[str], frozenset[str]]:
    """What a policy shows, and what those of its family do not promise.

    Raises:
        SignatureError: if it cannot be called.
    """
    fitted = as_policy(make(NUM_BLOCKS))
    policy = fitted.policy
    seen = {
        "empty": _can_be_empty(make),
        "list": _is_shown(lambda: shown_evictable(policy)) or eviction_order(policy, NUM_BLOCKS) is not None,
    }
    return _methods_of("policy", policy) | {id for id, is_seen in seen.items() if is_seen}, fitted.ruled_out


def seen_of_manager(make: Callable[[int], Any]) -> tuple[frozenset[str], frozenset[str]]:
    """What a manager shows, and what those of its family do not promise.

    Raises:
        SignatureError: if it cannot be called.
    """
    fitted = as_manager(make(NUM_BLOCKS))
    told = {
        "empty": _can_be_empty(make),
        "events": _tells_events(make),
        "pending-lookups": _tells_pending(make),
    }
    return shown_by(fitted) | {id for id, is_told in told.items() if is_told}, fitted.ruled_out


def shown_by(fitted: FittedManager) -> frozenset[str]:
    """What a manager shows without being called."""
    manager, view = fitted.manager, ManagerView(fitted.manager)
    shown = {
        "statistics": _is_shown(lambda: view.stats() or None),
        "counter": view.counter is not None,
        "policy": _is_shown(lambda: view.policy),
        "list": _is_shown(lambda: view.evictable()),
        "transfer-ids": fitted.numbers_transfers,
    }
    return _methods_of("manager", manager) | {id for id, is_shown in shown.items() if is_shown}


def _methods_of(subject: Subject, made: Any) -> frozenset[str]:
    """What is seen by a method that it has."""
    return frozenset(it.id for it in capabilities_of(subject) if it.method and hasattr(made, it.method))


def _is_shown(read: Callable[[], Any]) -> bool:
    """Whether there is something to read; that it cannot be read is for a clause to say."""
    try:
        return read() is not None
    except (Exception, SystemExit):
        return True


def _can_be_empty(make: Callable[[int], Any]) -> bool:
    try:
        make(0)
    except (Exception, SystemExit):
        return False
    return True


def _tells_events(make: Callable[[int], Any]) -> bool:
    """Whether it tells any event of a store, an eviction and a reset: events are often switched off.

    One that fails on the way is taken to tell some: what it does wrong is for the clauses to say.
    """
    driver = ManagerDriver(make(1))
    if not hasattr(driver.manager, "take_events"):
        return False
    for turn, key in enumerate(ops.keys("ab")):
        _offer(driver, turn, key)
        driver.perform(ops.CompleteStore((key,)))
    driver.perform(ops.ResetCache())
    outcome = driver.perform(ops.TakeEvents())
    return outcome.raised is not None or bool(outcome.value)


def _tells_pending(make: Callable[[int], Any]) -> bool:
    """Whether a pending key is looked up as something else than ``False``, which it is up to vLLM 0.21."""
    driver = ManagerDriver(make(1))
    (key,) = ops.keys("a")
    _offer(driver, 0, key)
    try:
        return watched(lambda: driver.calls.call("lookup", key, driver.requests[""])) is not False
    except (Exception, CallHangsError, SystemExit):  # what is wrong with that is for the clauses to say
        return True


def _offer(driver: ManagerDriver, transfer: int, key: OffloadKey) -> None:
    for _ in range(2):  # a store_threshold may ask for a second offer
        driver.perform(ops.PrepareStore((key,), transfer))
