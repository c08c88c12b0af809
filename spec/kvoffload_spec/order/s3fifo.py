"""S3-FIFO (Yang and others, SOSP 2023), for batches of blocks that may be pinned."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Generic, TypeVar

K = TypeVar("K")


@dataclass(frozen=True)
class S3Fifo(Generic[K]):
    """``order-s3fifo``: a small and a main queue, how often each key was used, and the ghosts of the small one.

    Attributes:
        capacity: in blocks.
        small_share: how much of the capacity may belong to small before its keys go first; in blocks, rounded down, at
            least 1.
        small: the idle keys of the small queue, the next to have its turn first.
        main: the idle keys of the main queue, in the same order.
        ghosts: keys that left from small, oldest first.
        of_small: the resident keys that belong to small; the others belong to main.
        written: the resident keys that are no longer pending.
        uses: for each resident key, how often it was used since it was stored or came to main, less its turns there.
        used_by: for each resident key, the request that used it last; empty if unknown.
    """

    capacity: int
    small_share: float = 0.1
    small: tuple[K, ...] = ()
    main: tuple[K, ...] = ()
    ghosts: tuple[K, ...] = ()
    of_small: frozenset[K] = frozenset()
    written: frozenset[K] = frozenset()
    uses: Mapping[K, int] = field(default_factory=dict)
    used_by: Mapping[K, str] = field(default_factory=dict)

    def insert(self, keys: Collection[K], request: str = "") -> S3Fifo[K]:
        """Keys that are no ghosts belong to small; ghosts are none any more."""
        return replace(
            self,
            ghosts=_without(self.ghosts, frozenset(keys)),
            of_small=self.of_small.union(key for key in keys if key not in self.ghosts),
            uses={**self.uses, **dict.fromkeys(keys, 0)},
            used_by={**self.used_by, **dict.fromkeys(keys, request)},
        )

    def mark_evictable(self, *keys: K) -> S3Fifo[K]:
        """The keys enter their queue at the end, the last named last of all."""
        return replace(
            self,
            small=self.small + tuple(key for key in keys if key in self.of_small),
            main=self.main + tuple(key for key in keys if key not in self.of_small),
            written=self.written.union(keys),
        )

    def mark_non_evictable(self, *keys: K) -> S3Fifo[K]:
        """The keys leave their queue; they still belong to small or main."""
        gone = frozenset(keys)
        return replace(self, small=_without(self.small, gone), main=_without(self.main, gone))

    def touch(self, keys: Iterable[K], request: str = "") -> S3Fifo[K]:
        """A written key that another request used last has one use more, up to 3; no key moves.

        Without a request's name, every touch is one of another request. Pending keys and ghosts stay what they are.
        """
        used = [key for key in set(keys) & self.written if not (request and self.used_by[key] == request)]
        return replace(
            self,
            uses={**self.uses, **{key: min(3, self.uses[key] + 1) for key in used}},
            used_by={**self.used_by, **dict.fromkeys(used, request)},
        )

    def victims(self, n: int, protected: Collection[K]) -> tuple[K, ...]:
        """One by one: turn after turn, until n have ended with a victim."""
        return self._evicted(n, protected)[0]

    def evict(self, *victims: K, protected: Collection[K] = ()) -> S3Fifo[K]:
        """The victims are gone, those of small are ghosts, and the turns have changed places and uses."""
        return self._evicted(len(victims), protected)[1]

    def _evicted(self, n: int, protected: Collection[K]) -> tuple[tuple[K, ...], S3Fifo[K]]:
        """It is the turn of the first unprotected key: of small before main if small has more than its share.

        Else of main before small. The key goes to the end of main if it was used, in small twice; else it is a victim.
        """
        share = max(1, int(self.capacity * self.small_share))
        candidates = frozenset(self.small + self.main).difference(protected)
        small, main, of_small, uses = list(self.small), list(self.main), set(self.of_small), dict(self.uses)
        victims: list[K] = []
        ghosts = list(self.ghosts)
        while len(victims) < min(n, len(candidates)):
            queue = small + main if len(of_small) > share else main + small
            key = next(key for key in queue if key in candidates)
            if key in of_small:
                small.remove(key)
                of_small.remove(key)
                if uses[key] >= 2:
                    main.append(key)
                    uses[key] = 0
                else:
                    victims.append(key)
                    ghosts.append(key)
            else:
                main.remove(key)
                if uses[key] >= 1:
                    main.append(key)
                    uses[key] -= 1
                else:
                    victims.append(key)
        order = replace(self, small=tuple(small), main=tuple(main), of_small=frozenset(of_small), uses=uses)
        return tuple(victims), replace(order.remove(*victims), ghosts=tuple(ghosts[-self.capacity :]))

    def remove(self, *keys: K) -> S3Fifo[K]:
        """The keys are gone and leave no ghost."""
        gone = frozenset(keys)
        return replace(
            self,
            small=_without(self.small, gone),
            main=_without(self.main, gone),
            of_small=self.of_small - gone,
            written=self.written - gone,
            uses={key: uses for key, uses in self.uses.items() if key not in gone},
            used_by={key: request for key, request in self.used_by.items() if key not in gone},
        )


def _without(keys: tuple[K, ...], gone: Collection[K]) -> tuple[K, ...]:
    return tuple(key for key in keys if key not in gone)
