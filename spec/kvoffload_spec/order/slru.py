"""SLRU (Karedla, Love and Wherry, IEEE Computer 1994), for batches of blocks that may be pinned."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Generic, TypeVar

K = TypeVar("K")


@dataclass(frozen=True)
class Slru(Generic[K]):
    """``order-slru``: two queues of resident keys; what is used again stands in the second, which holds its share.

    Attributes:
        capacity: in blocks.
        protected_share: how much of the capacity the protected segment may hold, 0 to 1; in blocks, rounded down.
        probationary_segment: resident keys, the one that became idle, was used or came back longest ago first.
        protected_segment: resident keys that more than one request has used; in the same order.
        written: the resident keys that are no longer pending.
        idle: those of them that may be evicted.
        used_by: for each resident key, the request that used it last; empty if unknown.
    """

    capacity: int
    protected_share: float = 0.8
    probationary_segment: tuple[K, ...] = ()
    protected_segment: tuple[K, ...] = ()
    written: frozenset[K] = frozenset()
    idle: frozenset[K] = frozenset()
    used_by: Mapping[K, str] = field(default_factory=dict)

    def insert(self, keys: Iterable[K], request: str = "") -> Slru[K]:
        """The keys enter the probationary segment."""
        new = tuple(keys)
        return replace(
            self,
            probationary_segment=self.probationary_segment + new,
            used_by={**self.used_by, **dict.fromkeys(new, request)},
        )

    def mark_evictable(self, *keys: K) -> Slru[K]:
        """One after the other: the key becomes the most recent of its segment, which then keeps to its share."""
        slru = self
        for key in keys:
            slru = replace(slru, written=slru.written | {key}, idle=slru.idle | {key})
            if key in slru.probationary_segment:
                slru = replace(slru, probationary_segment=(*_without(slru.probationary_segment, {key}), key))
            else:
                slru = replace(slru, protected_segment=(*_without(slru.protected_segment, {key}), key))
            slru = slru._within_share()
        return slru

    def mark_non_evictable(self, *keys: K) -> Slru[K]:
        """The keys stay in their segment and may be neither evicted nor sent back."""
        return replace(self, idle=self.idle.difference(keys))

    def touch(self, keys: Iterable[K], request: str = "") -> Slru[K]:
        """Last named first: a written key that another request used last becomes the most recent protected one.

        The segment then keeps to its share, before the next key is used. Without a request's name, every touch is one
        of another request. Pending keys and keys that are not resident stay what they are.
        """
        slru = self
        for key in reversed(tuple(dict.fromkeys(keys))):
            if key in slru.written and not (request and slru.used_by[key] == request):
                slru = replace(
                    slru,
                    probationary_segment=_without(slru.probationary_segment, {key}),
                    protected_segment=(*_without(slru.protected_segment, {key}), key),
                    used_by={**slru.used_by, key: request},
                )._within_share()
        return slru

    def _within_share(self) -> Slru[K]:
        """While the protected segment is too long, its least recent idle key becomes the most recent on probation."""
        slru = self
        while len(slru.protected_segment) > int(self.capacity * self.protected_share):
            idle = [key for key in slru.protected_segment if key in slru.idle]
            if not idle:
                break
            slru = replace(
                slru,
                probationary_segment=(*slru.probationary_segment, idle[0]),
                protected_segment=_without(slru.protected_segment, {idle[0]}),
            )
        return slru

    def victims(self, n: int, protected: Collection[K]) -> tuple[K, ...]:
        """The next n idle ones that the call does not protect, from the probationary segment first."""
        in_order = self.probationary_segment + self.protected_segment
        return tuple(key for key in in_order if key in self.idle and key not in protected)[:n]

    def evict(self, *victims: K, protected: Collection[K] = ()) -> Slru[K]:
        """The victims are gone."""
        return self.remove(*victims)

    def remove(self, *keys: K) -> Slru[K]:
        """The keys are gone, and nothing comes back for the room that they leave."""
        gone = frozenset(keys)
        return replace(
            self,
            probationary_segment=_without(self.probationary_segment, gone),
            protected_segment=_without(self.protected_segment, gone),
            written=self.written - gone,
            idle=self.idle - gone,
            used_by={key: request for key, request in self.used_by.items() if key not in gone},
        )


def _without(keys: tuple[K, ...], gone: Collection[K]) -> tuple[K, ...]:
    return tuple(key for key in keys if key not in gone)
