"""LFU with dynamic aging (Arlitt and others, SIGMETRICS PER 2000), for batches of blocks that may be pinned."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Generic, TypeVar

K = TypeVar("K")


@dataclass(frozen=True)
class LfuAging(Generic[K]):
    """``order-lfu``: each key has a priority, its number of uses plus the age of the cache when it was last used.

    Attributes:
        capacity: in blocks; nothing depends on it.
        age: the highest priority that a victim had, 0 at first.
        queue: the resident keys, the one that was stored, became idle or was used longest ago first.
        uses: for each resident key, how often it was used since it was stored, the store included.
        priority: for each resident key, its uses plus the age as of the last of them.
        written: the resident keys that are no longer pending.
        idle: those of them that may be evicted.
        used_by: for each resident key, the request that used it last; empty if unknown.
    """

    capacity: int
    age: int = 0
    queue: tuple[K, ...] = ()
    uses: Mapping[K, int] = field(default_factory=dict)
    priority: Mapping[K, int] = field(default_factory=dict)
    written: frozenset[K] = frozenset()
    idle: frozenset[K] = frozenset()
    used_by: Mapping[K, str] = field(default_factory=dict)

    def insert(self, keys: Iterable[K], request: str = "") -> LfuAging[K]:
        """The store is the first use."""
        return self._used(tuple(keys), request)

    def _used(self, keys: tuple[K, ...], request: str) -> LfuAging[K]:
        """Each key has one use more, at the age of now, and becomes the most recent, the last named last of all."""
        uses = {**self.uses, **{key: self.uses.get(key, 0) + 1 for key in keys}}
        return replace(
            self,
            queue=_without(self.queue, keys) + keys,
            uses=uses,
            priority={**self.priority, **{key: uses[key] + self.age for key in keys}},
            used_by={**self.used_by, **dict.fromkeys(keys, request)},
        )

    def mark_evictable(self, *keys: K) -> LfuAging[K]:
        """The keys become the most recent, the last named last of all."""
        return replace(
            self,
            queue=_without(self.queue, keys) + keys,
            written=self.written.union(keys),
            idle=self.idle.union(keys),
        )

    def mark_non_evictable(self, *keys: K) -> LfuAging[K]:
        """The keys keep their priority and may not be evicted."""
        return replace(self, idle=self.idle.difference(keys))

    def touch(self, keys: Iterable[K], request: str = "") -> LfuAging[K]:
        """A written key that another request used last is used, the first named last of all.

        Without a request's name, every touch is one of another request. Pending keys and keys that are not resident
        stay what they are.
        """
        used = tuple(
            key
            for key in reversed(tuple(dict.fromkeys(keys)))
            if key in self.written and not (request and self.used_by[key] == request)
        )
        return self._used(used, request)

    def victims(self, n: int, protected: Collection[K]) -> tuple[K, ...]:
        """The n idle unprotected keys of the lowest priority; of equal ones the least recent first."""
        candidates = [key for key in self.queue if key in self.idle and key not in protected]
        return tuple(sorted(candidates, key=lambda key: self.priority[key]))[:n]

    def evict(self, *victims: K, protected: Collection[K] = ()) -> LfuAging[K]:
        """The victims are gone, and the age has risen to the highest of their priorities, if that is higher."""
        return replace(self.remove(*victims), age=max([self.age, *(self.priority[key] for key in victims)]))

    def remove(self, *keys: K) -> LfuAging[K]:
        """The keys are gone; stored again, they start from one use."""
        return replace(
            self,
            queue=_without(self.queue, keys),
            uses={key: uses for key, uses in self.uses.items() if key not in keys},
            priority={key: priority for key, priority in self.priority.items() if key not in keys},
            written=self.written.difference(keys),
            idle=self.idle.difference(keys),
            used_by={key: request for key, request in self.used_by.items() if key not in keys},
        )


def _without(keys: tuple[K, ...], gone: Collection[K]) -> tuple[K, ...]:
    return tuple(key for key in keys if key not in gone)
