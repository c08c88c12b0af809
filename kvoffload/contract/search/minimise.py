"""The shortest history found that still breaks the same clause."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from string import ascii_lowercase

from kvoffload.contract.calls.operations import Evict, Operation
from kvoffload.contract.calls.operations import keys as keys_named
from kvoffload.contract.lockstep.base import Lockstep
from kvoffload.contract.lockstep.violation import ContractViolation
from kvoffload.types import OffloadKey


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
    """Drop calls and keys, merge keys, simplify calls and lower the capacity, until no such change keeps the violation.

    Args:
        start: makes a lockstep for a capacity, with a new subject in it.
        violation: as it was found.
        least: the least capacity that a subject can be made for.

    Returns:
        A violation of the same clause, with a history from which nothing more can be dropped; its keys are ``a``,
        ``b`` and so on in the order of first appearance, unless it takes other ones to show.
    """

    def broken_by(capacity: int, history: Sequence[Operation]) -> ContractViolation | None:
        found = replay(start(capacity), history)
        # One that comes out longer was broken by what the end of a history adds, and would be shortened for ever.
        is_shorter = found is not None and len(found.history) <= len(history)
        return found if found is not None and is_shorter and found.clause == violation.clause else None

    best, smaller = violation, broken_by(violation.capacity, in_order(_calls(violation)))
    while smaller is not None:
        best = smaller
        changes = smaller_histories(best.capacity, _calls(best), least)
        smaller = next(filter(None, (broken_by(*change) for change in changes)), None)
        if smaller is None and in_order(_calls(best)) != _calls(best):
            smaller = broken_by(best.capacity, in_order(_calls(best)))
    return best


def _calls(violation: ContractViolation) -> list[Operation]:
    return [step.op for step in violation.history]


def smaller_histories(
    capacity: int, history: Sequence[Operation], least: int = 0
) -> Iterator[tuple[int, list[Operation]]]:
    """Every history with one thing less, the largest cuts first; then the same with one block less.

    Args:
        capacity: the capacity of the subject, in blocks.
        history: the calls.
        least: the least capacity that a subject can be made for.
    """
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
    keys = _keys(history)
    for key in keys:
        yield with_keys(history, {key: None})
    for i, op in enumerate(history):
        for simpler in op.simpler():
            yield [*history[:i], simpler, *history[i + 1 :]]
    for key, other in combinations(keys, 2):
        yield with_keys(history, {other: key})


def _keys(history: Iterable[Operation]) -> list[OffloadKey]:
    """The keys, in the order of first appearance."""
    return list(dict.fromkeys(key for op in history for key in op.named))


def in_order(history: Sequence[Operation]) -> list[Operation]:
    """The same history with the keys ``a``, ``b``, ``c`` and so on, in the order of first appearance."""
    keys = _keys(history)
    names = dict(zip(keys, keys_named(ascii_lowercase), strict=False))
    return with_keys(history, dict(names)) if len(keys) <= len(ascii_lowercase) else list(history)


def with_keys(history: Iterable[Operation], instead: Mapping[OffloadKey, OffloadKey | None]) -> list[Operation]:
    """The history with other keys instead of some, or with none.

    A call that names nothing else goes with its only key, and one that has named two keys names one that both become
    just once.
    """
    return [changed for op in history if (changed := _with_keys(op, instead)) is not None]


def _with_keys(op: Operation, instead: Mapping[OffloadKey, OffloadKey | None]) -> Operation | None:
    if not op.named:
        return op
    kept: list[OffloadKey] = []
    became: dict[OffloadKey, OffloadKey] = {}  # what first became each key: another key that does is left out
    for key in op.named:
        other = instead.get(key, key)
        if other is not None and became.setdefault(other, key) == key:
            kept.append(other)
    return op.with_named(tuple(kept)) if kept or isinstance(op, Evict) else None
