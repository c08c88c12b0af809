"""Policies that choose the wrong victims, or too many, or too few."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from typing import TypeAlias, cast

from kvoffload import NO_REQUEST, BlockStatus, LRUCachePolicy, OffloadKey, ReqContext
from tests.stateful.seeded.bug import ChoosingPolicy, seeded, seeded_in_manager

Victims: TypeAlias = list[tuple[OffloadKey, BlockStatus]]


# --- how many ---


@seeded("evict-exact", "off by one")
class EvictsOneMore(LRUCachePolicy):
    """One victim more than asked for goes, if there is one."""

    def evict(self, n: int, protected: Set[OffloadKey]) -> Victims | None:
        return super().evict(n + 1, protected) or super().evict(n, protected)


@seeded("evict-exact", "zero taken for nothing")
class RefusesToEvictNothing(LRUCachePolicy):
    """``evict(0)`` is ``None``, as if it had failed."""

    def evict(self, n: int, protected: Set[OffloadKey]) -> Victims | None:
        return super().evict(n, protected) or None


@seeded("evict-exact", "test at the foot of the loop")
class EvictsOneForNothing(LRUCachePolicy):
    """The loop counts after it has taken one, so that ``evict(0)`` takes one too."""

    def evict(self, n: int, protected: Set[OffloadKey]) -> Victims | None:
        return super().evict(max(n, 1), protected)


@seeded("evict-exact", "all or nothing forgotten")
class EvictsWhatThereIs(LRUCachePolicy):
    """If there are too few, these go."""

    def evict(self, n: int, protected: Set[OffloadKey]) -> Victims | None:
        return super().evict(min(n, sum(key not in protected for key in self.evictable_blocks)), protected)


@seeded("evict-exact", "vllm-project/vllm-ascend#15990")
class RaisesWhenThereAreTooFew(LRUCachePolicy):
    """The loop pops from an empty list."""

    def evict(self, n: int, protected: Set[OffloadKey]) -> Victims | None:
        victims = super().evict(n, protected)
        if victims is None:
            raise KeyError("dictionary is empty")
        return victims


@seeded("evict-exact", "zipped the wrong way round")
class PairsKeysWithOthersBlocks(LRUCachePolicy):
    """The keys come in one order and their blocks in the other."""

    def evict(self, n: int, protected: Set[OffloadKey]) -> Victims | None:
        victims = super().evict(n, protected)
        if victims is None:
            return None
        return [(key, block) for (key, _), (_, block) in zip(victims, reversed(victims), strict=True)]


@seeded("evict-exact", "generator for list")
class GivesVictimsOnce(LRUCachePolicy):
    """The victims are a generator, which is empty for whoever looks twice."""

    def evict(self, n: int, protected: Set[OffloadKey]) -> Victims | None:
        victims = super().evict(n, protected)
        return None if victims is None else cast(Victims, (pair for pair in victims))


@seeded("evict-exact", "vllm-project/vllm 0.33, duplicate heap entries", order=None)
class ChoosesOncePerEntry(ChoosingPolicy):
    """A block that became idle twice is in the queue twice, and can be two of the victims."""

    def __init__(self, cache_capacity: int) -> None:
        super().__init__(cache_capacity)
        self.queue: list[OffloadKey] = []

    def insert(self, key: OffloadKey, block: BlockStatus) -> None:
        super().insert(key, block)
        self.queue.append(key)

    def mark_evictable(self, key: OffloadKey) -> None:
        super().mark_evictable(key)
        self.queue.append(key)

    def remove(self, key: OffloadKey) -> None:
        super().remove(key)
        self.queue = [held for held in self.queue if held != key]

    def clear(self) -> None:
        super().clear()
        self.queue.clear()

    def candidates(self, n: int, protected: Set[OffloadKey]) -> Iterator[OffloadKey]:
        return (key for key in self.queue if key in self.evictable_blocks and key not in protected)


# --- whom ---


@seeded_in_manager("victims-idle", "LMCache/LMCache#222")
@seeded("evict-idle", "LMCache/LMCache#222")
class EvictsPinned(ChoosingPolicy):
    """When idle blocks run out, blocks that are being read go."""

    def candidates(self, n: int, protected: Set[OffloadKey]) -> Iterator[OffloadKey]:
        yield from super().candidates(n, protected)
        yield from (key for key, block in self.blocks.items() if block.ref_cnt > 0 and key not in protected)


@seeded("evict-idle", "comparison for equality")
class EvictsPending(ChoosingPolicy):
    """``ref_cnt <= 0`` is taken for idle, so that blocks that are being written go when idle ones run out."""

    def candidates(self, n: int, protected: Set[OffloadKey]) -> Iterator[OffloadKey]:
        yield from super().candidates(n, protected)
        yield from (key for key, block in self.blocks.items() if block.ref_cnt < 0 and key not in protected)


@seeded("evict-protected", "forgotten argument")
class ForgetsProtection(LRUCachePolicy):
    """``protected`` is not looked at."""

    def evict(self, n: int, protected: Set[OffloadKey]) -> Victims | None:
        return super().evict(n, set())


@seeded("evict-protected", "identity for equality")
class ProtectsByIdentity(ChoosingPolicy):
    """A key is protected only if it is the very object that is named."""

    def candidates(self, n: int, protected: Set[OffloadKey]) -> Iterator[OffloadKey]:
        return (key for key in self.evictable_blocks if not any(key is named for named in protected))


@seeded("evict-protected", "vllm-project/vllm#35846")
class ProtectsWhileItCan(LRUCachePolicy):
    """When the others run out, protected blocks go after all."""

    def evict(self, n: int, protected: Set[OffloadKey]) -> Victims | None:
        victims = super().evict(n, protected)
        return super().evict(n, set()) if victims is None else victims


# --- refusals ---


@seeded("evict-complete", "cut before filtered")
class LooksAtTheFirstFewOnly(ChoosingPolicy):
    """The next n are taken and the protected ones left out of these, so that the rest is not looked at."""

    def candidates(self, n: int, protected: Set[OffloadKey]) -> Iterator[OffloadKey]:
        return (key for key in list(self.evictable_blocks)[:n] if key not in protected)


@seeded("evict-complete", "break for continue")
class StopsAtTheFirstProtected(ChoosingPolicy):
    """The walk ends at a protected block instead of going past it."""

    def candidates(self, n: int, protected: Set[OffloadKey]) -> Iterator[OffloadKey]:
        for key in self.evictable_blocks:
            if key in protected:
                return
            yield key


@seeded("evict-complete", "counts what is not there")
class CountsEveryProtectedKey(LRUCachePolicy):
    """Every protected key is subtracted from the number of idle blocks, resident or not."""

    def evict(self, n: int, protected: Set[OffloadKey]) -> Victims | None:
        return None if n and n > len(self.evictable_blocks) - len(protected) else super().evict(n, protected)


@seeded("evict-complete", "off by one")
class KeepsOneBlockBack(LRUCachePolicy):
    """``n >= len`` where ``n > len`` is meant: the last idle block never goes."""

    def evict(self, n: int, protected: Set[OffloadKey]) -> Victims | None:
        return None if n and n >= len(self.evictable_blocks) else super().evict(n, protected)


@seeded("evict-complete", "vllm-project/vllm#55461", order=None)
class LooksAtOneOfTwoLists(ChoosingPolicy):
    """Blocks touched while idle are in a second list, which is not looked at when the first runs out."""

    def __init__(self, cache_capacity: int) -> None:
        super().__init__(cache_capacity)
        self.frequent: set[OffloadKey] = set()

    def touch(self, keys: Sequence[OffloadKey], req_context: ReqContext = NO_REQUEST) -> None:
        self.frequent.update(key for key in keys if key in self.evictable_blocks)

    def remove(self, key: OffloadKey) -> None:
        super().remove(key)
        self.frequent.discard(key)

    def clear(self) -> None:
        super().clear()
        self.frequent.clear()

    def candidates(self, n: int, protected: Set[OffloadKey]) -> Iterator[OffloadKey]:
        recent = [key for key in self.evictable_blocks if key not in self.frequent]
        return (key for key in recent or list(self.evictable_blocks) if key not in protected)


@seeded("evict-atomic", "vllm-project/vllm#37874")
class DropsVictimsBeforeItGivesUp(LRUCachePolicy):
    """Victims go one by one, and stay gone when there turn out to be too few."""

    def evict(self, n: int, protected: Set[OffloadKey]) -> Victims | None:
        victims: Victims = []
        while len(victims) < n:
            victim = super().evict(1, protected)
            if victim is None:
                return None
            victims += victim
        return victims


@seeded("evict-atomic", "put back at the wrong end")
class PutsBackAtTheWrongEnd(LRUCachePolicy):
    """What was taken before giving up is put back, but as the most recent."""

    def evict(self, n: int, protected: Set[OffloadKey]) -> Victims | None:
        victims = super().evict(n, protected)
        if victims is None:
            for key in [key for key in self.evictable_blocks if key not in protected]:
                self.evictable_blocks.move_to_end(key)
        return victims


@seeded("evict-forgets", "a ghost taken for a resident")
class FindsVictims(LRUCachePolicy):
    """Victims leave the list and stay in the table."""

    def evict(self, n: int, protected: Set[OffloadKey]) -> Victims | None:
        victims = super().evict(n, protected)
        self.blocks.update(victims or ())
        return victims


@seeded("evict-forgets", "forgotten list")
class ListsVictims(LRUCachePolicy):
    """Victims leave the table and stay on the list."""

    def evict(self, n: int, protected: Set[OffloadKey]) -> Victims | None:
        victims = super().evict(n, protected)
        for key, block in reversed(victims or []):
            self.evictable_blocks[key] = block
            self.evictable_blocks.move_to_end(key, last=False)
        return victims
