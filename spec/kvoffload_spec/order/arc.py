"""ARC (Megiddo and Modha, FAST 2003), for batches of blocks that may be pinned."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Generic, TypeVar

K = TypeVar("K")


@dataclass(frozen=True)
class Arc(Generic[K]):
    """``order-arc``: two queues of resident keys, two of ghosts, and a target that the ghosts move.

    Attributes:
        capacity: in blocks.
        t1: resident keys that one request has used, the one that became idle or was used longest ago first.
        t2: resident keys that more than one request has used, or that came back as a ghost; in the same order.
        b1: ghosts that left from ``t1``, oldest first.
        b2: ghosts that left from ``t2``, oldest first.
        target: how many keys ``t1`` should have.
        written: the resident keys that are no longer pending.
        idle: those of them that may be evicted.
        used_by: for each resident key, the request that used it last; empty if unknown.
    """

    capacity: int
    t1: tuple[K, ...] = ()
    t2: tuple[K, ...] = ()
    b1: tuple[K, ...] = ()
    b2: tuple[K, ...] = ()
    target: int = 0
    written: frozenset[K] = frozenset()
    idle: frozenset[K] = frozenset()
    used_by: Mapping[K, str] = field(default_factory=dict)

    def insert(self, keys: Collection[K], request: str = "") -> Arc[K]:
        """One after the other: a ghost moves the target towards the queue it left, and comes back into ``t2``."""
        arc = replace(self, used_by={**self.used_by, **dict.fromkeys(keys, request)})
        for key in keys:
            is_ghost = key in arc.b1 or key in arc.b2
            arc = (arc._returned(key) if is_ghost else replace(arc, t1=(*arc.t1, key)))._bounded()
        return arc

    def _returned(self, ghost: K) -> Arc[K]:
        if ghost in self.b1:
            target = min(self.capacity, self.target + max(1, len(self.b2) // len(self.b1)))
        else:
            target = max(0, self.target - max(1, len(self.b1) // len(self.b2)))
        b1, b2 = _without(self.b1, {ghost}), _without(self.b2, {ghost})
        return replace(self, t2=(*self.t2, ghost), b1=b1, b2=b2, target=target)

    def _bounded(self) -> Arc[K]:
        """The oldest ghosts are forgotten: T1 + B1 holds at most ``capacity`` keys, all four at most twice as many."""
        room = self.capacity - len(self.t1)
        b1 = self.b1[max(0, len(self.b1) - room) :]
        room = 2 * self.capacity - len(self.t1) - len(self.t2) - len(b1)
        return replace(self, b1=b1, b2=self.b2[max(0, len(self.b2) - room) :])

    def mark_evictable(self, *keys: K) -> Arc[K]:
        """The keys become the most recent of their queue, the last named last of all."""
        ready = frozenset(keys)
        return replace(
            self,
            t1=_without(self.t1, ready) + tuple(key for key in keys if key in self.t1),
            t2=_without(self.t2, ready) + tuple(key for key in keys if key in self.t2),
            written=self.written | ready,
            idle=self.idle | ready,
        )

    def mark_non_evictable(self, *keys: K) -> Arc[K]:
        """The keys stay in their queue and may not be evicted."""
        return replace(self, idle=self.idle.difference(keys))

    def touch(self, keys: Iterable[K], request: str = "") -> Arc[K]:
        """A written key that another request used last becomes the most recent of ``t2``, the first named last of all.

        Without a request's name, every touch is one of another request. Pending keys and ghosts stay what they are.
        """
        used = tuple(
            key
            for key in reversed(tuple(dict.fromkeys(keys)))
            if key in self.written and not (request and self.used_by[key] == request)
        )
        t1, t2 = _without(self.t1, set(used)), _without(self.t2, set(used)) + used
        return replace(self, t1=t1, t2=t2, used_by={**self.used_by, **dict.fromkeys(used, request)})

    def victims(self, n: int, protected: Collection[K]) -> tuple[K, ...]:
        """One by one the least recent idle key: of ``t1`` while above its target, else of ``t2``, else of either."""
        from_t1, from_t2 = (
            [key for key in side if key in self.idle and key not in protected] for side in (self.t1, self.t2)
        )
        chosen: list[K] = []
        size = len(self.t1)
        while len(chosen) < n and (from_t1 or from_t2):
            if from_t1 and (size > self.target or not from_t2):
                chosen.append(from_t1.pop(0))
                size -= 1
            else:
                chosen.append(from_t2.pop(0))
        return tuple(chosen)

    def evict(self, *victims: K, protected: Collection[K] = ()) -> Arc[K]:
        """The victims become ghosts, each of the queue that it leaves."""
        from_t1, from_t2 = (tuple(key for key in victims if key in side) for side in (self.t1, self.t2))
        return replace(self.remove(*victims), b1=self.b1 + from_t1, b2=self.b2 + from_t2)._bounded()

    def remove(self, *keys: K) -> Arc[K]:
        """The keys are gone and leave no ghost."""
        gone = frozenset(keys)
        return replace(
            self,
            t1=_without(self.t1, gone),
            t2=_without(self.t2, gone),
            written=self.written - gone,
            idle=self.idle - gone,
            used_by={key: request for key, request in self.used_by.items() if key not in gone},
        )


def _without(keys: tuple[K, ...], gone: Collection[K]) -> tuple[K, ...]:
    return tuple(key for key in keys if key not in gone)
