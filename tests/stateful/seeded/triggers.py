"""The shortest histories that show the bugs which a search of the default size does not always come upon."""

from __future__ import annotations

from kvoffload import OffloadKey
from kvoffload.contract.calls.operations import (
    Clear,
    CompleteStore,
    Evict,
    Insert,
    Keys,
    Lookup,
    Operation,
    Pin,
    PolicyFault,
    PrepareStore,
    ResetCache,
    TouchPolicy,
    Unpin,
    keys,
)

a, b, c = keys("abc")


def stored(*named: Keys) -> tuple[Operation, ...]:
    """A store for each of these lists that completes at once; its transfers have numbers from 100 on."""
    return tuple(
        op
        for number, listed in enumerate(named, 100)
        for op in (PrepareStore(listed, number), CompleteStore(listed, transfer=number))
    )


def idle(*named: OffloadKey) -> tuple[Operation, ...]:
    """Idle blocks, inserted one after the other."""
    return tuple(Insert(key, idle=True) for key in named)


TRIGGERS: dict[str, tuple[int, tuple[Operation, ...]]] = {
    "KeepsHalfAStore": (2, (PolicyFault(PrepareStore((a, b), 1), "insert", nth=1),)),
    "ReusesTransferIds": (
        1,
        (PrepareStore((a,), 1), ResetCache(), PrepareStore((a,), 2), CompleteStore((a,), transfer=1)),
    ),
    "TouchesOnLookup": (2, (*stored((a, b)), Lookup(b), PrepareStore((c,), 1))),
    "ClearKeepsTheTarget": (
        3,
        (
            *idle(a, b),
            Evict(2),
            *idle(b),
            Clear(),
            *idle(a, c),
            Evict(1, (a,)),
            *idle(b, c),
            Evict(1),
        ),
    ),
    "ProtectedNeverGoBack": (
        2,
        (*idle(a, b), TouchPolicy((b, a)), Pin(a), Unpin(a), Evict(1)),
    ),
}
"""By the bug's name: the capacity, and the calls."""
