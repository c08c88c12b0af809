"""The shortest history found that still breaks the same clause."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from kvoffload.contract.lockstep import ContractViolation, Lockstep
from kvoffload.contract.operations import Operation


def replay(lockstep: Lockstep, history: Iterable[Operation]) -> ContractViolation | None:
    """Apply a history; the violation it ends in, if it does."""
    try:
        for op in history:
            lockstep.apply(op)
        lockstep.finish()
    except ContractViolation as violation:
        return violation
    return None


def minimise(start: Callable[[int], Lockstep], violation: ContractViolation, least: int = 0) -> ContractViolation:
    """Drop calls, simplify calls and lower the capacity, until no single such change keeps the violation.

    Args:
        start: makes a lockstep for a capacity, with a new subject in it.
        violation: as it was found.
        least: the least capacity that a subject can be made for.

    Returns:
        A violation of the same clause, with a history from which nothing more can be dropped.
    """
    best, improved = violation, True
    while improved:
        improved = False
        for capacity, history in _smaller(best.capacity, [step.op for step in best.history], least):
            found = replay(start(capacity), history)
            if found is not None and found.clause == violation.clause:
                best, improved = found, True
                break
    return best


def _smaller(capacity: int, history: Sequence[Operation], least: int) -> Iterator[tuple[int, list[Operation]]]:
    """Every history with one thing less, the largest cuts first; then the same with one block less."""
    for smaller in _simpler(history):
        yield capacity, smaller
    if capacity > least:
        yield capacity - 1, list(history)
        for smaller in _simpler(history):
            yield capacity - 1, smaller


def _simpler(history: Sequence[Operation]) -> Iterator[list[Operation]]:
    size = len(history) // 2
    while size:
        for i in range(len(history) - size, -1, -1):
            yield [*history[:i], *history[i + size :]]
        size //= 2
    for i, op in enumerate(history):
        for simpler in op.simpler():
            yield [*history[:i], simpler, *history[i + 1 :]]
