"""A manager as three disjoint sets and a capacity: what every call may do.

A function takes a state and a call, and gives the state after it or what the call has to answer. Where an
implementation may choose (its victims), the function takes the choice as an argument, and another says what is allowed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Generic, Literal, TypeVar

K = TypeVar("K")


@dataclass(frozen=True)
class Tier(Generic[K]):
    """Which keys are resident, and in which of the three ways.

    Attributes:
        capacity: how many blocks there are.
        pending: keys whose store is in flight.
        idle: ready keys that no load reads, that is the evictable ones.
        pinned: ready keys that loads read, each with the number of these loads (a multiset).
    """

    capacity: int
    pending: frozenset[K] = frozenset()
    idle: frozenset[K] = frozenset()
    pinned: Mapping[K, int] = field(default_factory=dict)


def is_well_formed(tier: Tier[K]) -> bool:
    """The three parts are disjoint, every pin counts, and they fit."""
    parts = len(tier.pending) + len(tier.idle) + len(tier.pinned)
    return parts == len(resident(tier)) <= tier.capacity and all(count > 0 for count in tier.pinned.values())


def resident(tier: Tier[K]) -> frozenset[K]:
    """Pending or ready."""
    return tier.pending | ready(tier)


def ready(tier: Tier[K]) -> frozenset[K]:
    """Idle or pinned: what a lookup hits and a load may read."""
    return tier.idle | tier.pinned.keys()


def free(tier: Tier[K]) -> int:
    """How many blocks hold nothing."""
    return tier.capacity - len(tier.pending) - len(tier.idle) - len(tier.pinned)


def lookup(tier: Tier[K], key: K) -> Literal["MISS", "HIT_PENDING", "HIT"]:
    """What the key is."""
    if key in tier.pending:
        return "HIT_PENDING"
    return "HIT" if key in tier.idle or key in tier.pinned else "MISS"


# --- stores ---


def new_keys(tier: Tier[K], keys: Iterable[K]) -> tuple[K, ...]:
    """The distinct keys that are not resident, in the order given: what an accepted store has to store."""
    return tuple(key for key in dict.fromkeys(keys) if lookup(tier, key) == "MISS")


def need(tier: Tier[K], keys: Iterable[K]) -> int:
    """How many blocks a store of these keys lacks, and so has to evict."""
    return max(0, len(new_keys(tier, keys)) - free(tier))


def candidates(tier: Tier[K], keys: Iterable[K]) -> frozenset[K]:
    """What a store of these keys may evict: the idle keys that it does not name."""
    return tier.idle.difference(keys)


def is_hopeless(tier: Tier[K], keys: Iterable[K]) -> bool:
    """The number of idle blocks alone shows that the store has to be refused."""
    return need(tier, keys) > len(tier.idle)


def refuses(tier: Tier[K], keys: tuple[K, ...], named: Iterable[K] = ()) -> bool:
    """The store has to be refused: it lacks more blocks than it may evict. It may name more keys than it stores."""
    return need(tier, keys) > len(candidates(tier, (*keys, *named)))


def prepare_store(tier: Tier[K], keys: tuple[K, ...], victims: frozenset[K]) -> Tier[K]:
    """The victims leave, the new keys are pending."""
    return replace(tier, idle=tier.idle - victims, pending=tier.pending.union(new_keys(tier, keys)))


def complete_store(tier: Tier[K], keys: Iterable[K], success: bool) -> Tier[K]:
    """The pending ones of these keys become idle or, on failure, leave."""
    done = tier.pending.intersection(keys)
    return replace(tier, pending=tier.pending - done, idle=tier.idle | done if success else tier.idle)


# --- loads ---


def may_load(tier: Tier[K], keys: Iterable[K]) -> bool:
    """Every key is ready."""
    return all(lookup(tier, key) == "HIT" for key in keys)


def prepare_load(tier: Tier[K], keys: Iterable[K]) -> Tier[K]:
    """Every distinct key is pinned once more."""
    named = frozenset(keys)
    pins = {key: tier.pinned.get(key, 0) + 1 for key in named}
    return replace(tier, idle=tier.idle - named, pinned={**tier.pinned, **pins})


def may_release(tier: Tier[K], keys: Iterable[K]) -> bool:
    """Every key has a load in progress."""
    return all(key in tier.pinned for key in keys)


def complete_load(tier: Tier[K], keys: Iterable[K]) -> Tier[K]:
    """Every distinct key is pinned once less; one that no load reads any more is idle."""
    named = frozenset(keys)
    left = {key: count - (key in named) for key, count in tier.pinned.items()}
    released = frozenset(key for key, count in left.items() if count == 0)
    return replace(
        tier, idle=tier.idle | released, pinned={key: count for key, count in left.items() if key not in released}
    )


def reset(tier: Tier[K]) -> Tier[K]:
    """Nothing is resident."""
    return Tier(tier.capacity)
