"""What any eviction policy may do: which keys it holds, and which of them it may give up."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

K = TypeVar("K")


@dataclass(frozen=True)
class Residents(Generic[K]):
    """The keys a policy holds.

    Attributes:
        idle: those that may be evicted.
        busy: those that are pending or pinned.
    """

    idle: frozenset[K] = frozenset()
    busy: frozenset[K] = frozenset()


def candidates(residents: Residents[K], protected: Iterable[K]) -> frozenset[K]:
    """What may be a victim: idle and not protected."""
    return residents.idle.difference(protected)


def refuses(residents: Residents[K], n: int, protected: Iterable[K]) -> bool:
    """``evict(n)`` answers ``None``, if and only if fewer than n candidates exist."""
    return n > len(candidates(residents, protected))


def insert(residents: Residents[K], key: K, idle: bool) -> Residents[K]:
    """The key is held."""
    residents = remove(residents, key)
    return replace(residents, idle=residents.idle | {key}) if idle else replace(residents, busy=residents.busy | {key})


def remove(residents: Residents[K], *keys: K) -> Residents[K]:
    """The keys are not held any more: removed, or chosen as victims."""
    return Residents(residents.idle.difference(keys), residents.busy.difference(keys))


def mark_evictable(residents: Residents[K], key: K) -> Residents[K]:
    """The key is idle."""
    return insert(residents, key, idle=True)


def mark_non_evictable(residents: Residents[K], key: K) -> Residents[K]:
    """The key is busy."""
    return insert(residents, key, idle=False)
