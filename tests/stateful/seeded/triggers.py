"""The shortest histories that show the bugs which a search of the default size does not always come upon."""

from __future__ import annotations

from kvoffload.contract.operations import (
    Clear,
    CompleteLoad,
    CompleteStore,
    Evict,
    FinishStore,
    Insert,
    Keys,
    Lookup,
    Operation,
    Pin,
    PolicyFault,
    PrepareLoad,
    PrepareStore,
    ResetCache,
    TouchKeys,
    TouchPolicy,
    Unpin,
    keys,
)

a, b, c, d, e = keys("abcde")


def stored(*named: Keys) -> tuple[Operation, ...]:
    """A store for each of these lists that completes at once; its transfers have numbers from 100 on."""
    return tuple(
        op
        for number, listed in enumerate(named, 100)
        for op in (PrepareStore(listed, number), CompleteStore(listed, transfer=number))
    )


def idle(*named: bytes) -> tuple[Operation, ...]:
    """Idle blocks, inserted one after the other."""
    return tuple(Insert(key, idle=True) for key in keys("".join(chr(name[0]) for name in named)))


TRIGGERS: dict[str, tuple[int, tuple[Operation, ...]]] = {
    "KeepsHalfAStore": (2, (PolicyFault(PrepareStore((a, b), 1), "insert", nth=1),)),
    "KeepsHalfALoad": (2, (*stored((a, b)), PolicyFault(PrepareLoad((a, b), 1), "mark_non_evictable", nth=1))),
    "EvictsOneByOne": (2, (*stored((a, b)), PrepareStore((b, c, d), 1))),
    "TouchesWhatItRefuses": (2, (*stored((a, b)), PrepareStore((b, c, d), 1))),
    "EvictsPinnedInManager": (2, (*stored((a, b)), PrepareLoad((a,), 1), PrepareStore((b, c), 2))),
    "ReusesTransferIds": (
        1,
        (PrepareStore((a,), 1), ResetCache(), PrepareStore((a,), 2), CompleteStore((a,), transfer=1)),
    ),
    "ReleasesForStaleLoads": (
        1,
        (
            *stored((a,)),
            PrepareLoad((a,), 1),
            CompleteLoad((a,), 1),
            PrepareLoad((a,), 2),
            CompleteLoad((a,), 1),
        ),
    ),
    "ReleasesPerMention": (
        1,
        (*stored((a,)), PrepareLoad((a,), 1), PrepareLoad((a,), 2), CompleteLoad((a, a), 1)),
    ),
    "RaisesOnRepeatedRelease": (1, (*stored((a,)), PrepareLoad((a,), 1), CompleteLoad((a, a), 1))),
    "TouchesHeadFirstForThePolicy": (2, (*stored((a,), (b,)), TouchKeys((a, b)), PrepareStore((c,), 1))),
    "TouchesOnLookup": (2, (*stored((a, b)), Lookup(b), PrepareStore((c,), 1))),
    "ClearKeepsGhostsInManager": (
        2,
        (
            *stored((a,), (b,), (c,)),
            ResetCache(),
            PrepareStore((d,), 1),
            CompleteStore((d,)),
            PrepareStore((b,), 2),
            CompleteStore((b,)),
            PrepareStore((e,), 3),
        ),
    ),
    "ClearKeepsGhosts": (
        2,
        (*idle(a, b), Evict(2), Clear(), *idle(a), Insert(b), FinishStore(b), Evict(1)),
    ),
    "CountsUsesForAll": (2, (*idle(a, b), Evict(1), TouchPolicy((a,)))),
    "CountsEveryTouch": (
        2,
        (*idle(a), Insert(b, idle=True, request="r"), TouchPolicy((b, a), "r"), Evict(1)),
    ),
    "LooksAtOneSideOnly": (
        3,
        (*idle(a), Evict(1), *idle(a, b, c), Evict(2, (b,)), Insert(c), Evict(1)),
    ),
    "AdaptsToTouchedGhosts": (
        3,
        (*idle(a, b, c), TouchPolicy((a,)), Evict(1), TouchPolicy((b,)), Evict(1)),
    ),
    "TrimsEachGhostListAlone": (
        3,
        (*idle(a, b, c), Evict(1, (a,)), *idle(d), Evict(1), Evict(1), *idle(b), Evict(1)),
    ),
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
    "NeverAges": (2, (*idle(a, b), TouchPolicy((b,)), Evict(1), *idle(c), Evict(1))),
    "IgnoresGhosts": (3, (*idle(a), Evict(1), *idle(a, b, c), Evict(1))),
}
"""By the bug's name: the capacity, and the calls."""
