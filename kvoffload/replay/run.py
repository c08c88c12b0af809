"""One policy over one workload, from a new manager to the result."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from kvoffload.errors import OffloadingError
from kvoffload.interface import CachePolicy
from kvoffload.manager import CPUOffloadingManager
from kvoffload.policies.factory import CachePolicyFactory
from kvoffload.replay.results import ReplayResult
from kvoffload.replay.simulate import Simulation
from kvoffload.replay.traces import TraceError
from kvoffload.replay.workload import Workload

VERIFY_ALL_EVERY = 500
"""After how many requests ``verify`` compares every key, and not only those of the call."""


class BrokenManagerError(Exception):
    """The manager did what no manager may do; the text says at which request, and what."""


def replay(
    workload: Workload,
    policy: str,
    num_blocks: int,
    latency: int = 0,
    verify: bool = False,
    on_request: Callable[[], None] = lambda: None,
) -> ReplayResult:
    """Drive a new manager with every request of a workload.

    Args:
        workload: the requests.
        policy: the name of the policy, or ``MODULE:CLASS`` of one that lies elsewhere, of any family that
            ``kvoffload.contract.as_policy`` knows.
        num_blocks: the capacity, in blocks.
        latency: how many requests later a transfer completes.
        verify: run every call in lockstep with the specification. The times then measure that, too.
        on_request: called after every request.

    Raises:
        TraceError: if the workload is a trace that cannot be read.
        BrokenManagerError: if a call raises or, with ``verify``, breaks a clause of the contract; or if blocks are
            still in flight after the last completion.
        ValueError: if an argument is out of range or no policy has that name.
    """
    manager = CPUOffloadingManager(num_blocks, maker_of(policy))
    result = ReplayResult(policy)
    if verify:
        _drive_verified(manager, num_blocks, latency, result, workload, on_request)
    else:
        with _saying_where(result):
            _drive(Simulation(manager, result, latency), workload, on_request)
    num_free, num_evictable = manager.num_free_blocks, manager.num_evictable_cache_blocks
    if num_free + num_evictable != num_blocks:
        raise BrokenManagerError(
            f"Policy {policy}, after the last completion: {num_free:,} blocks are free and {num_evictable:,} "
            f"evictable, {num_free + num_evictable:,} together; with nothing in flight it is the whole capacity, "
            f"{num_blocks:,}. Replay with --verify to see the call that went wrong."
        )
    return result


def maker_of(policy: str) -> str | Callable[[int], CachePolicy]:
    """The name itself, or what makes the policy that ``MODULE:CLASS`` names, behind our interface if it has another.

    Raises:
        ValueError: if the module has no such class.
    """
    module, colon, cls = policy.partition(":")
    if not colon:
        return policy
    make: Any = CachePolicyFactory.get_cache_policy_cls(cls, module)
    if isinstance(make, type) and issubclass(make, CachePolicy):
        return make
    # Only here: the contract library takes longer to import than a short replay takes.
    from kvoffload.contract.targets.adapters import as_policy, is_sized

    def made(capacity: int) -> Any:
        theirs = make(capacity) if is_sized(make) else make()
        if isinstance(theirs, CachePolicy):
            return theirs
        fitted = as_policy(theirs)
        missing = [name for name in ("get", "remove", "touch") if not hasattr(fitted.policy, name)]
        if missing:
            kind = type(theirs).__name__
            raise ValueError(f"it made a {kind}, which has no {', '.join(missing)}; a manager calls them.")
        return fitted

    return made


@contextmanager
def _saying_where(result: ReplayResult) -> Iterator[None]:
    """A policy from elsewhere may raise anything: that ends its replay with a sentence."""
    try:
        yield
    except (BrokenManagerError, TraceError):
        raise
    except Exception as error:
        if ":" not in result.policy:
            raise
        raise BrokenManagerError(
            f"{_where(result)}: the policy raised {type(error).__name__}: {error}. "
            f"kvoffload check {result.policy} says which clause it breaks."
        ) from error


def _drive(simulation: Simulation, workload: Workload, on_request: Callable[[], None]) -> None:
    try:
        for block_ids in workload:
            simulation.serve(block_ids)
            on_request()
        simulation.finish()
    except OffloadingError as error:
        raise BrokenManagerError(f"{_where(simulation.result)}: {error}") from error


def _drive_verified(
    manager: CPUOffloadingManager,
    num_blocks: int,
    latency: int,
    result: ReplayResult,
    workload: Workload,
    on_request: Callable[[], None],
) -> None:
    # Only here: the contract library takes longer to import than a short replay takes.
    from kvoffload.contract.lockstep.violation import ContractViolation
    from kvoffload.replay.verified import VerifiedManager
    from kvoffload_spec.order import ORDERS

    order = result.policy if result.policy in ORDERS else None
    checked = VerifiedManager(manager, num_blocks, order)

    def verify_now_and_then() -> None:
        if result.num_requests % VERIFY_ALL_EVERY == 0:
            checked.verify_all()
        on_request()

    try:
        _drive(Simulation(checked, result, latency), workload, verify_now_and_then)
        checked.verify_all()
    except ContractViolation as violation:
        raise BrokenManagerError(f"{_where(result)}; the last calls up to it:\n\n{violation}") from violation
    result.num_verified = checked.num_calls


def _where(result: ReplayResult) -> str:
    return f"Policy {result.policy}, request {result.num_requests:,}"
