"""Policies whose list of idle blocks is wrong, or in the wrong order."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence, Set

from kvoffload import NO_REQUEST, BlockStatus, LRUCachePolicy, OffloadKey, ReqContext
from tests.stateful.seeded.bug import seeded, seeded_in_manager

# --- what is on it ---


@seeded_in_manager("list-exact", "forgotten hook")
@seeded("evictable-exact", "forgotten hook")
class KeepsPinnedOnTheList(LRUCachePolicy):
    """``mark_non_evictable`` is left to its empty default."""

    def mark_non_evictable(self, key: OffloadKey) -> None:
        pass


@seeded("evictable-exact", "sgl-project/sglang#33862")
class NeverListsWhatBecomesIdle(LRUCachePolicy):
    """``mark_evictable`` is left to its empty default, so that the pool starves."""

    def mark_evictable(self, key: OffloadKey) -> None:
        pass


@seeded("evictable-exact", "listed too early")
class ListsPendingBlocks(LRUCachePolicy):
    """A block is on the list as soon as it is inserted, written or not."""

    def insert(self, key: OffloadKey, block: BlockStatus) -> None:
        self.blocks[key] = self.evictable_blocks[key] = block


@seeded("evictable-exact", "forgotten case")
class ForgetsBlocksInsertedIdle(LRUCachePolicy):
    """Only ``mark_evictable`` puts a block on the list."""

    def insert(self, key: OffloadKey, block: BlockStatus) -> None:
        self.blocks[key] = block


@seeded("evictable-exact", "forgotten list")
class KeepsRemovedOnTheList(LRUCachePolicy):
    """``remove`` takes the key out of the table and leaves it on the list."""

    def remove(self, key: OffloadKey) -> None:
        del self.blocks[key]


# --- touches ---


@seeded_in_manager("touch-pure", "vllm-project/vllm#34576")
@seeded("touch-total", "vllm-project/vllm#34576")
class LosesTouchedPendingBlocks(LRUCachePolicy):
    """A touched key is popped and put back; for a pending one there is nowhere to put it back, and it is lost."""

    def touch(self, keys: Sequence[OffloadKey], req_context: ReqContext = NO_REQUEST) -> None:
        super().touch(keys, req_context)
        for key in keys:
            if key in self.blocks:
                block = self.blocks.pop(key)
                if block.ref_cnt < 0:
                    raise KeyError(key)
                self.blocks[key] = block


@seeded("touch-total", "forgotten test")
class RaisesOnTouchedStrangers(LRUCachePolicy):
    """Every touched key is taken for an idle one."""

    def touch(self, keys: Sequence[OffloadKey], req_context: ReqContext = NO_REQUEST) -> None:
        for key in reversed(keys):
            self.evictable_blocks.move_to_end(key)


@seeded("touch-total", "repeats not thought of")
class RaisesOnTouchedRepeats(LRUCachePolicy):
    """All touched keys are popped before they are put back, and a repeat is popped twice."""

    def touch(self, keys: Sequence[OffloadKey], req_context: ReqContext = NO_REQUEST) -> None:
        taken = [(key, self.evictable_blocks.pop(key)) for key in reversed([k for k in keys if k in self.blocks])]
        self.evictable_blocks.update(taken)


@seeded("touch-total", "wrong table")
class ListsTouchedBusyBlocks(LRUCachePolicy):
    """A touch puts any resident block on the list, pending and pinned ones too."""

    def touch(self, keys: Sequence[OffloadKey], req_context: ReqContext = NO_REQUEST) -> None:
        for key in reversed(keys):
            if key in self.blocks:
                self.evictable_blocks[key] = self.blocks[key]
                self.evictable_blocks.move_to_end(key)


@seeded("touch-total", "ghost hit taken for an insert")
class RevivesTouchedVictims(LRUCachePolicy):
    """A touch of the latest victim takes it in again, with the block that is not its own any more."""

    latest: tuple[OffloadKey, BlockStatus] | None = None

    def evict(self, n: int, protected: Set[OffloadKey]) -> list[tuple[OffloadKey, BlockStatus]] | None:
        victims = super().evict(n, protected)
        self.latest = victims[-1] if victims else self.latest
        return victims

    def touch(self, keys: Sequence[OffloadKey], req_context: ReqContext = NO_REQUEST) -> None:
        super().touch(keys, req_context)
        if self.latest is not None and self.latest[0] in keys:
            self.blocks.setdefault(*self.latest)

    def clear(self) -> None:
        super().clear()
        self.latest = None


# --- its order ---


@seeded("order-lru", "wrong end")
class TouchesToTheWrongEnd(LRUCachePolicy):
    """A touched block becomes the next victim."""

    def touch(self, keys: Sequence[OffloadKey], req_context: ReqContext = NO_REQUEST) -> None:
        for key in reversed(keys):
            if key in self.evictable_blocks:
                self.evictable_blocks.move_to_end(key, last=False)


@seeded("order-lru", "vllm-project/vllm#51787")
class TouchesHeadFirst(LRUCachePolicy):
    """The head of a touched prefix is evicted before its tail."""

    def touch(self, keys: Sequence[OffloadKey], req_context: ReqContext = NO_REQUEST) -> None:
        super().touch(keys[::-1], req_context)


@seeded("order-lru", "early return")
class StopsAtTheFirstStranger(LRUCachePolicy):
    """A touch ends at the first key that is not idle."""

    def touch(self, keys: Sequence[OffloadKey], req_context: ReqContext = NO_REQUEST) -> None:
        for key in reversed(keys):
            if key not in self.evictable_blocks:
                return
            self.evictable_blocks.move_to_end(key)


@seeded("order-lru", "aliasing of the caller's list")
class TouchesWhenItEvicts(LRUCachePolicy):
    """A touch keeps the caller's list until the next eviction, and the caller has emptied it by then."""

    touched: Sequence[OffloadKey] = ()

    def touch(self, keys: Sequence[OffloadKey], req_context: ReqContext = NO_REQUEST) -> None:
        self.touched = keys

    def evict(self, n: int, protected: Set[OffloadKey]) -> list[tuple[OffloadKey, BlockStatus]] | None:
        super().touch(self.touched)
        return super().evict(n, protected)


@seeded("order-lru", "wrong end")
class ListsIdleBlocksAtTheWrongEnd(LRUCachePolicy):
    """A block that becomes idle is the next victim."""

    def mark_evictable(self, key: OffloadKey) -> None:
        super().mark_evictable(key)
        self.evictable_blocks.move_to_end(key, last=False)


@seeded_in_manager("order-lru", "vllm-project/vllm#46216")
@seeded("order-lru", "vllm-project/vllm#46216")
class KeepsItsPlaceWhilePinned(LRUCachePolicy):
    """A block comes back from a load to the place that its insertion or last touch gave it, as in a scanning LRU."""

    def touch(self, keys: Sequence[OffloadKey], req_context: ReqContext = NO_REQUEST) -> None:
        super().touch(keys, req_context)
        for key in reversed(keys):
            if key in self.evictable_blocks:
                self.blocks[key] = self.blocks.pop(key)

    def mark_evictable(self, key: OffloadKey) -> None:
        super().mark_evictable(key)
        self.evictable_blocks = OrderedDict(
            (key, block) for key, block in self.blocks.items() if key in self.evictable_blocks
        )


@seeded("order-lru", "built from the end")
class GivesVictimsBackwards(LRUCachePolicy):
    """The right victims come in the wrong order."""

    def evict(self, n: int, protected: Set[OffloadKey]) -> list[tuple[OffloadKey, BlockStatus]] | None:
        victims = super().evict(n, protected)
        return victims and victims[::-1]


@seeded("order-lru", "wrong end")
class EvictsTheMostRecent(LRUCachePolicy):
    """Victims are taken from the most recent end."""

    def evict(self, n: int, protected: Set[OffloadKey]) -> list[tuple[OffloadKey, BlockStatus]] | None:
        forwards = self.evictable_blocks
        self.evictable_blocks = OrderedDict(reversed(forwards.items()))
        victims = super().evict(n, protected)
        self.evictable_blocks = OrderedDict(reversed(self.evictable_blocks.items()))
        return victims
