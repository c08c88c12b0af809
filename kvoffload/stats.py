"""What a manager counts, as plain data."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class OffloadingCounters:
    """Totals since the manager was made or reset.

    Attributes:
        hits: lookups that found a ready block.
        pending_hits: lookups that found a block whose store has not completed.
        misses: lookups that found nothing.
        blocks_offered: blocks that stores named and that were not resident, refused stores included.
        blocks_skipped: those of them that admission did not let in.
        stores_refused: stores that were refused for want of room, in calls.
        blocks_stored: blocks whose store completed.
        blocks_failed: blocks whose store failed.
        blocks_loaded: blocks that loads pinned, each once per load.
        blocks_evicted: blocks that left to make room.
        stale_completions: completions of a transfer that was not outstanding, in calls.
    """

    hits: int = 0
    pending_hits: int = 0
    misses: int = 0
    blocks_offered: int = 0
    blocks_skipped: int = 0
    stores_refused: int = 0
    blocks_stored: int = 0
    blocks_failed: int = 0
    blocks_loaded: int = 0
    blocks_evicted: int = 0
    stale_completions: int = 0

    @property
    def lookups(self) -> int:
        """All lookups, whatever they found."""
        return self.hits + self.pending_hits + self.misses


@dataclass(frozen=True, slots=True)
class OffloadingStats:
    """A snapshot of a manager: its counters, and where its blocks are now.

    The gauges are derived from each other as far as that goes, so that they cannot drift apart.

    Attributes:
        counters: the totals so far.
        num_blocks: the capacity, in blocks.
        pending: blocks that are being written.
        pinned: blocks that loads read.
        idle: blocks that may be evicted.
    """

    counters: OffloadingCounters
    num_blocks: int
    pending: int
    pinned: int
    idle: int

    @property
    def free(self) -> int:
        """Blocks that hold nothing."""
        return self.num_blocks - self.pending - self.pinned - self.idle

    @property
    def used_write(self) -> float:
        """The share of the capacity that is being written, 0 to 1."""
        return self.pending / self.num_blocks if self.num_blocks else 0.0

    @property
    def used_read(self) -> float:
        """The share of the capacity that loads read, 0 to 1."""
        return self.pinned / self.num_blocks if self.num_blocks else 0.0

    @property
    def used(self) -> float:
        """The share of the capacity that transfers hold; idle blocks can be had at once and do not count."""
        return (self.pending + self.pinned) / self.num_blocks if self.num_blocks else 0.0
