"""Clauses that no short history shows: what a policy remembers, and what its evictions cost, as it grows."""

from __future__ import annotations

import gc
import math
from collections.abc import Callable, Iterator, Set
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

from kvoffload.contract.calls import operations as ops
from kvoffload.contract.clauses import clause
from kvoffload.contract.lockstep.violation import ContractViolation
from kvoffload.contract.targets.cost import cost_of
from kvoffload.contract.targets.drivers import PolicyDriver
from kvoffload.contract.targets.target import Target
from kvoffload.types import OffloadKey

CAPACITY = 8
FEW, MANY = 20 * CAPACITY, 200 * CAPACITY
SMALL, LARGE, NUM_VICTIMS = 256, 4096, 16
MOST_GROWTH = 0.3
"""The greatest growth exponent of a cost that "does not grow": a logarithm shows 0.15 between these sizes, a walk 1."""


def probe_memory(target: Target, may_raise: bool = False) -> ContractViolation | None:
    """``memory-bounded``: as many objects are reachable after 1,600 keys have come and gone as after 160.

    Args:
        target: the policy.
        may_raise: whether a call that raises is known of, and breaks a clause of its own.
    """
    driver, claims = PolicyDriver(target.made(CAPACITY)), target.claims
    keys = _keys()
    failed = _come_and_go(driver, keys, FEW, claims)
    few = _num_reachable(driver.policy)
    failed = failed or _come_and_go(driver, keys, MANY - FEW, claims)
    many = _num_reachable(driver.policy)
    if (failed is not None and may_raise) or (failed is None and many <= few + CAPACITY):
        return None
    return ContractViolation(
        clause("memory-bounded"),
        "policy",
        CAPACITY,
        (),
        0,
        f"at most {few + CAPACITY} objects after {MANY} keys, as after {FEW}",
        failed or f"{many} objects",
        "every key was inserted, touched, then evicted or, each fourth, removed while pending, and touched again; "
        f"{CAPACITY} at most were resident",
        origin=target.origin,
    )


def _come_and_go(driver: PolicyDriver, keys: Iterator[OffloadKey], num_keys: int, claims: Set[str]) -> str | None:
    """So many keys come and go; what a call raised, if one did."""
    for turn in range(num_keys):
        key = next(keys)
        touch = [ops.TouchPolicy((key,))]
        calls: list[ops.Operation] = [ops.Insert(key, idle=turn % 4 != 3)]
        calls += touch if "touch" in claims else []
        calls.append(ops.Remove(key) if turn % 4 == 3 else ops.Evict(1))
        calls += touch if claims >= {"touch", "any-touch"} else []
        for op in calls:
            raised = driver.perform(op).raised
            if raised is not None:
                return f"{type(op).__name__} raised {type(raised).__name__}: {raised}"
    return None


def _num_reachable(policy: Any) -> int:
    """How many objects hang on the policy, code and classes apart."""
    seen: set[int] = set()
    found = [policy]
    while found:
        thing = found.pop()
        if id(thing) not in seen and not isinstance(thing, type | ModuleType | FunctionType | BuiltinFunctionType):
            seen.add(id(thing))
            found += gc.get_referents(thing)
    return len(seen)


def probe_scaling(target: Target) -> ContractViolation | None:
    """``evict-scales``: evicting 16 blocks costs the same at 256 and at 4,096 blocks, idle or half pinned."""
    for pinned in (False, True):
        try:
            small, large = (_cost_of_eviction(target.made, size, pinned) for size in (SMALL, LARGE))
        except _NothingToCompareError as error:
            return _does_not_scale(
                target, f"{NUM_VICTIMS} victims of {SMALL} and of {LARGE} blocks", str(error), "half are idle"
            )
        for what, low, high in (("lines executed", small[0], large[0]), ("bytes allocated", small[1], large[1])):
            exponent = math.log(high / low) / math.log(LARGE / SMALL)
            if exponent > MOST_GROWTH:
                halves = ", the older half pinned" if pinned else ""
                state = f"{LARGE} idle blocks inserted{halves}, then evict({NUM_VICTIMS})"
                expected = f"about {low} {what} by evict({NUM_VICTIMS}) at {LARGE} blocks, as at {SMALL}"
                return _does_not_scale(target, expected, f"{high}, a growth exponent of {exponent:.2f}", state)
    return None


class _NothingToCompareError(Exception):
    """A call that leads to the measured one, or that one itself, did not do what it has to."""


def _does_not_scale(target: Target, expected: str, actual: str, why: str) -> ContractViolation:
    scales = clause("evict-scales")
    return ContractViolation(scales, "policy", LARGE, (), 0, expected, actual, why, origin=target.origin)


def _cost_of_eviction(make: Callable[[int], Any], size: int, pinned: bool) -> tuple[int, int]:
    driver = PolicyDriver(make(size))
    for block_id, key in zip(range(size), _keys(), strict=False):
        calls: list[ops.Operation] = [ops.Insert(key, idle=True)]
        calls += [ops.Pin(key)] if pinned and block_id < size // 2 else []
        for raised in (driver.perform(call).raised for call in calls):
            if raised is not None:
                raise _NothingToCompareError(f"{type(raised).__name__} at {size} blocks: {raised}")
    victims: list[Any] = []
    try:
        cost = cost_of(lambda: victims.extend(driver.calls.evict(NUM_VICTIMS, set()) or ()))
    except Exception as raised:
        raise _NothingToCompareError(f"{type(raised).__name__} at {size} blocks: {raised}") from raised
    if len(victims) != NUM_VICTIMS:
        raise _NothingToCompareError(f"{len(victims)} victims at {size} blocks")
    return max(cost.lines, 1), max(cost.peak_bytes, 8192)


def _keys() -> Iterator[OffloadKey]:
    i = 0
    while True:
        yield OffloadKey(i.to_bytes(8, "big") + bytes(4))
        i += 1
