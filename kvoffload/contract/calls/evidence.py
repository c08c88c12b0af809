"""What shows in a test of its own that a clause is broken: expressions of Python, beside the sentences of a report."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from kvoffload.contract.calls import operations as ops
from kvoffload.types import OffloadKey


@dataclass(frozen=True)
class Evidence:
    """What is asserted after the last call of a history; nothing at all: that the call does not raise.

    The expressions are about ``policy`` or ``manager``; ``returned`` is what the last call returned, ``raised`` what
    ``pytest.raises`` caught, ``call_2`` what the second call returned, ``events`` all events drained so far, and
    ``told_slot(KEY)`` the block that the last store of the key told. Keys stand in it as their representations, a
    policy's blocks as that and ``_block``. What else is called is in ``standalone_helpers``.

    Attributes:
        asserts: what holds where the clause is kept.
        before: statements in front of the last call.
        after: statements behind it, in front of what is asserted.
        raises: the last call has to raise.
        twin: the calls since the last clear or reset give the same answers on a new subject (``fresh``), or on each of
            several new ones (``again``).
        keeps_arguments: the last call leaves alone what it was given.
        drops_events: what was told before a reset does not count after it.
    """

    asserts: tuple[str, ...] = ()
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    raises: bool = False
    twin: Literal["", "fresh", "again"] = ""
    keeps_arguments: bool = False
    drops_events: bool = False


DOES_NOT_RAISE = Evidence()
"""The call returns."""

ORDER_BEFORE = "before = order({})"
ORDER_KEPT = "order({}) == before"
"""The policy would evict in the same order as before the call; what the braces hold is the policy."""


def asserting(*expressions: str) -> Evidence:
    """These hold after the last call."""
    return Evidence(asserts=expressions)


def keeps_order(policy: str) -> Evidence:
    """The last call leaves the order of eviction as it was."""
    return Evidence((ORDER_KEPT.format(policy),), (ORDER_BEFORE.format(policy),))


def some(keys: Iterable[OffloadKey]) -> str:
    """Keys as a list."""
    return f"[{', '.join(map(repr, keys))}]"


def braced(keys: Iterable[OffloadKey]) -> str:
    """Keys as a set."""
    return f"{{{', '.join(map(repr, sorted(keys)))}}}" if keys else "set()"


def victims_among(n: int, candidates: Iterable[OffloadKey]) -> Evidence:
    """``evict`` returned so many of these, each once; or refused, if there are too few."""
    allowed = sorted(candidates)
    if n > len(allowed):
        return asserting("returned is None")
    if not n:
        return asserting("returned is not None and len(returned) == 0")
    return asserting(
        f"returned is not None and len(returned) == {n}",
        f"len({{key for key, _ in returned}} & {braced(allowed)}) == {n}",
    )


def holds_list(policy: str, is_shown: bool, idle: Iterable[OffloadKey]) -> Evidence:
    """The policy's evictable list, or what a copy of it evicts one by one, is made of these keys, each once."""
    listed = f"{policy}.evictable_blocks" if is_shown else f"order({policy})"
    keys = sorted(idle)
    return asserting(f"sorted({listed}) == sorted({some(keys)})" if keys else f"not list({listed})")


def well_formed(op: ops.Operation) -> Evidence:
    """The call returned something of the right kind."""
    match op:
        case ops.Evict():
            return asserting(
                "returned is None or isinstance(returned, (list, tuple))",
                "all(isinstance(pair, tuple) and len(pair) == 2 for pair in returned or ())",
            )
        case ops.Lookup():
            return asserting('told(returned) in ("MISS", "HIT_PENDING", "HIT")')
        case ops.PrepareStore():
            names = ("keys_to_store", "store_spec", "evicted_keys")
            return asserting(
                f"returned is None or all(hasattr(returned, name) for name in {names})",
                "returned is None or isinstance(list(returned.keys_to_store) + list(returned.evicted_keys), list)",
                "returned is None or isinstance(block_ids(returned.store_spec), list)",
            )
        case ops.PrepareLoad():
            return asserting("isinstance(block_ids(returned), list)")
        case ops.TakeEvents():
            return asserting(
                'all(hasattr(event, "keys") for event in returned)',
                'all(hasattr(event, "kind") or isinstance(event.removed, bool) for event in returned)',
            )
    return DOES_NOT_RAISE
