"""Policies that are not the same twice, or that grow: in what they remember, or in what an eviction costs."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence, Set

from kvoffload import NO_REQUEST, BlockStatus, LRUCachePolicy, OffloadKey, ReqContext
from tests.stateful.seeded.bug import ChoosingPolicy, seeded

# --- not the same twice ---


# Now and then chance gives all that is tried again the same answer, and only the first another one.
@seeded("deterministic", "no seed", order=None, also=("evict-atomic", "clear-fresh"))
class EvictsAtRandom(ChoosingPolicy):
    """Victims are drawn from the interpreter's own source of randomness."""

    def candidates(self, n: int, protected: Set[OffloadKey]) -> Iterator[OffloadKey]:
        idle = list(super().candidates(n, protected))
        return iter(random.sample(idle, len(idle)))


# What is tried again often comes to lie where the one before it lay, and then answers as that did.
@seeded("deterministic", "id() for a key", order=None, also=("evict-atomic", "clear-fresh"))
class EvictsByAddress(ChoosingPolicy):
    """Victims are chosen by where their blocks happen to lie in the interpreter's memory."""

    def candidates(self, n: int, protected: Set[OffloadKey]) -> Iterator[OffloadKey]:
        return iter(sorted(super().candidates(n, protected), key=lambda key: id(self.blocks[key])))


# --- what it remembers ---


class GhostPolicy(LRUCachePolicy):
    """Remembers the last keys that were evicted, as many as ``num_ghosts`` says."""

    num_ghosts = 0

    def __init__(self, cache_capacity: int) -> None:
        super().__init__(cache_capacity)
        self.ghosts: dict[OffloadKey, None] = {}

    def evict(self, n: int, protected: Set[OffloadKey]) -> list[tuple[OffloadKey, BlockStatus]] | None:
        victims = super().evict(n, protected)
        self.ghosts.update((key, None) for key, _ in victims or ())
        while len(self.ghosts) > self.num_ghosts:
            del self.ghosts[next(iter(self.ghosts))]
        return victims


@seeded("memory-bounded", "vllm-project/vllm#27039")
class KeepsTenThousandGhosts(GhostPolicy):
    """The ghost list holds 10,000 keys whatever the capacity is."""

    num_ghosts = 10_000


@seeded("memory-bounded", "forgotten when it leaves")
class CountsUsesForEver(LRUCachePolicy):
    """The uses of a key are counted on after it has left."""

    def __init__(self, cache_capacity: int) -> None:
        super().__init__(cache_capacity)
        self.uses: Counter[OffloadKey] = Counter()

    def touch(self, keys: Sequence[OffloadKey], req_context: ReqContext = NO_REQUEST) -> None:
        super().touch(keys, req_context)
        self.uses.update(keys)


# --- what an eviction costs ---


@seeded("evict-scales", "vllm-project/vllm#46216")
class WalksPastPinnedBlocks(LRUCachePolicy):
    """The pinned blocks are looked at on the way to the first idle one."""

    def evict(self, n: int, protected: Set[OffloadKey]) -> list[tuple[OffloadKey, BlockStatus]] | None:
        for block in self.blocks.values():
            if block.ref_cnt == 0:
                break
        return super().evict(n, protected)


@seeded("evict-scales", "vllm-project/vllm#5411")
class LooksAtEveryBlock(LRUCachePolicy):
    """Every eviction counts the idle blocks first."""

    def evict(self, n: int, protected: Set[OffloadKey]) -> list[tuple[OffloadKey, BlockStatus]] | None:
        if n > sum(block.ref_cnt == 0 for block in self.blocks.values()):
            return None
        return super().evict(n, protected)


@seeded("evict-scales", "kvcache-ai/Mooncake#2560")
class CopiesTheListToWalkIt(LRUCachePolicy):
    """The whole list is copied, so that it may be changed while it is walked."""

    def evict(self, n: int, protected: Set[OffloadKey]) -> list[tuple[OffloadKey, BlockStatus]] | None:
        unprotected = list(self.evictable_blocks)
        return None if n > len(unprotected) else super().evict(n, protected)
