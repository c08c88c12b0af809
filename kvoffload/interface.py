"""The two interfaces, with what every call promises: ``OffloadingManager`` and ``CachePolicy``.

Wherever a call takes ``keys``, that is any collection of keys in prefix order, head first: it may be empty, may name a
key twice, may be a one-shot iterable. ``req_context`` says for which request the call is made.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Sequence, Set
from typing import TYPE_CHECKING

from kvoffload.policies.base import BlockStatus
from kvoffload.types import NO_REQUEST, OffloadKey, ReqContext

if TYPE_CHECKING:
    from kvoffload.stats import OffloadingStats
    from kvoffload.types import LoadStoreSpec, LookupResult, OffloadingEvent, PrepareStoreOutput


class OffloadingManager(ABC):
    """Decides which blocks are held, which are in flight and which may be evicted.

    A block is *pending* from ``prepare_store`` until ``complete_store``, then *ready*; a ready block is *pinned* while
    a load reads it and *idle*, that is evictable, otherwise. A call that raises one of ``kvoffload.errors`` has changed
    nothing.
    """

    @abstractmethod
    def lookup(self, key: OffloadKey, req_context: ReqContext = NO_REQUEST) -> LookupResult:
        """``MISS``: not resident; ``HIT_PENDING``: being written; ``HIT``: ready. Changes nothing."""

    @abstractmethod
    def prepare_store(
        self, keys: Iterable[OffloadKey], req_context: ReqContext = NO_REQUEST
    ) -> PrepareStoreOutput | None:
        """Reserve a block for every key that is not resident; they are pending until ``complete_store``.

        Exactly as many blocks are evicted as are lacking, never one that is pending, pinned or named in this call.

        Returns:
            What to store where, and what was evicted; or ``None`` if too few blocks are free or evictable, and then
            nothing has changed.
        """

    @abstractmethod
    def complete_store(
        self,
        keys: Iterable[OffloadKey],
        req_context: ReqContext = NO_REQUEST,
        success: bool = True,
        *,
        transfer_id: int | None = None,
    ) -> None:
        """The pending ones of these keys become idle, last key first; on failure they leave and their ids are free.

        Keys that are not pending are left alone: a batch may name keys that were resident already.

        Args:
            keys: the keys whose store ended, all of the transfer's or a part.
            req_context: the request.
            success: whether the data arrived.
            transfer_id: complete only what this very transfer reserved. A transfer that is no longer outstanding
                changes nothing.
        """

    @abstractmethod
    def prepare_load(self, keys: Iterable[OffloadKey], req_context: ReqContext = NO_REQUEST) -> LoadStoreSpec:
        """Pin each distinct key once, until ``complete_load``.

        Returns:
            The slots to read, ``block_ids[i]`` for ``keys[i]``, repeats included.

        Raises:
            BlockNotFoundError: if a key is not resident.
            BlockNotReadyError: if a key is pending.
        """

    @abstractmethod
    def complete_load(
        self, keys: Iterable[OffloadKey], req_context: ReqContext = NO_REQUEST, *, transfer_id: int | None = None
    ) -> None:
        """Release each distinct key once, last key first; a key that no other load holds becomes idle.

        Args:
            keys: the keys whose load ended, all of the transfer's or a part.
            req_context: the request.
            transfer_id: release what this very transfer holds; without it, each key's oldest load is released. A
                transfer that is no longer outstanding changes nothing.

        Raises:
            UnbalancedReleaseError: if no load of a key, or not this transfer, is in progress.
        """

    @abstractmethod
    def touch(self, keys: Iterable[OffloadKey], req_context: ReqContext = NO_REQUEST) -> None:
        """These keys were used: the policy may change its order, and nothing else changes. Any key is allowed."""

    @abstractmethod
    def reset_cache(self) -> None:
        """Afterwards the manager cannot be told from a new one, except that transfer ids are never reused."""

    @abstractmethod
    def take_events(self) -> list[OffloadingEvent]:
        """The events since the last call, oldest first, each delivered once.

        Replaying them at any moment gives exactly the ready keys.
        """

    @property
    @abstractmethod
    def num_evictable_cache_blocks(self) -> int:
        """The evictable counter: how many ready blocks no load reads, in blocks."""

    # What a manager may show besides, for whoever checks or observes it.

    @property
    def num_free_blocks(self) -> int | None:
        """How many blocks hold nothing, in blocks; ``None`` if the manager does not show it."""
        return None

    @property
    def policy(self) -> CachePolicy | None:
        """What holds the blocks and chooses the victims, to be looked at only; ``None`` if it is not shown."""
        return None

    def get_stats(self) -> OffloadingStats | None:
        """A snapshot of what was counted since the manager was made or reset; ``None`` if it counts nothing."""
        return None


class CachePolicy(ABC):
    """Holds the resident blocks and chooses which idle ones leave.

    The manager writes ``block.ref_cnt``; a policy only reads it. ``mark_evictable`` and ``mark_non_evictable`` are
    called exactly when a resident block's ``ref_cnt`` becomes 0 and when it leaves 0; a block that is inserted with
    ``ref_cnt`` 0 is evictable at once. ``insert`` is given a key that is not resident; ``remove`` and the two hooks one
    that is.

    Args:
        cache_capacity: the most blocks that will be resident at a time.

    Raises:
        ValueError: if ``cache_capacity`` is negative.
    """

    if TYPE_CHECKING:
        # For the type checker only: some policies set an attribute, which a property would not let them.
        @property
        def evictable_blocks(self) -> Collection[OffloadKey]:
            """The evictable list: the keys of the idle blocks, each once. A policy need not have one to show."""

    def __init__(self, cache_capacity: int) -> None:
        if cache_capacity < 0:
            raise ValueError(f"cache_capacity is {cache_capacity}; a policy is made for 0 blocks or more.")
        self.cache_capacity = cache_capacity

    @staticmethod
    def check_eviction_count(n: int) -> None:
        """Refuse a negative ``n``; an ``evict`` calls this first.

        Raises:
            ValueError: if ``n`` is negative.
        """
        if n < 0:
            raise ValueError(f"evict was asked for {n} blocks; ask for 0 or more.")

    @abstractmethod
    def get(self, key: OffloadKey) -> BlockStatus | None:
        """The very block that was inserted under the key, or ``None`` if the key is not resident."""

    @abstractmethod
    def insert(self, key: OffloadKey, block: BlockStatus) -> None:
        """The block is resident under the key from now on."""

    @abstractmethod
    def remove(self, key: OffloadKey) -> None:
        """The key is not resident any more, without having been a victim."""

    @abstractmethod
    def touch(self, keys: Sequence[OffloadKey], req_context: ReqContext = NO_REQUEST) -> None:
        """These keys were used, the head of the prefix first; only the order changes. Never raises, for any keys."""

    @abstractmethod
    def evict(self, n: int, protected: Set[OffloadKey]) -> list[tuple[OffloadKey, BlockStatus]] | None:
        """Remove exactly ``n`` idle blocks whose keys are not protected.

        Returns:
            The n victims in the order chosen; or ``None`` if fewer than n idle unprotected blocks exist, and then
            nothing has changed, order and adaptive state included.

        Raises:
            ValueError: if ``n`` is negative.
        """

    @abstractmethod
    def clear(self) -> None:
        """Afterwards the policy behaves as a new one."""

    def on_store_miss(self, keys: Collection[OffloadKey], req_context: ReqContext = NO_REQUEST) -> None:
        """These keys are not resident and are inserted next, for this request."""

    def mark_evictable(self, key: OffloadKey) -> None:
        """The resident block under the key has become idle."""

    def mark_non_evictable(self, key: OffloadKey) -> None:
        """The resident block under the key is no longer idle: a load pins it."""
