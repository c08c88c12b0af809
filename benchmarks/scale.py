"""How long prepare_store takes as the cache grows, in one process, as ratios.

Run ``python -m benchmarks.scale`` from the root of the repository; it takes half a minute and 2 GB of memory. Every
call is given new key objects, garbage collection is off, the caches are full, and the sizes take turns.
"""

from __future__ import annotations

import gc
import sys
from collections import deque
from collections.abc import Callable
from functools import partial
from statistics import median

from benchmarks.clock import percentile, take_turns, time_ns
from benchmarks.common import BATCH, FullTier, WalkingLRU, fresh_keys
from kvoffload import OffloadKey

CLAIM = "Claim: prepare_store of 64 blocks that evicts 64 takes at most 5x as long at 1,000,000 blocks as at 10,000."
SIZES = (10_000, 100_000, 1_000_000)
MOST = 5
WALK_SIZE = 100_000
FLOOR, IDLE, HALF, REFUSED = "floor: dict accesses", "all idle", "half pinned", "guarded refusal"
WALKING = "walking, half pinned"


class Floor:
    """The bare dict accesses of a store that evicts: nobody who keeps blocks by key does less.

    For each new key one lookup that fails and one insertion, for each victim one deletion. Victims are known
    beforehand.
    """

    def __init__(self, num_blocks: int) -> None:
        keys = fresh_keys(0, num_blocks)
        self.blocks = dict(zip(keys, range(num_blocks), strict=True))
        self.order = deque(keys)
        self.next_index = num_blocks

    def step(self) -> int:
        """One store, in nanoseconds."""
        keys = fresh_keys(self.next_index, BATCH)
        victims = [self.order.popleft() for _ in range(BATCH)]
        self.next_index += BATCH
        self.order.extend(keys)
        return time_ns(partial(self._store, keys, victims))

    def _store(self, keys: list[OffloadKey], victims: list[OffloadKey]) -> None:
        blocks = self.blocks
        for victim in victims:
            del blocks[victim]
        for key in keys:
            if key not in blocks:
                blocks[key] = 0


def store_step(tier: FullTier) -> int:
    """One store that evicts, or that the counter refuses, in nanoseconds; its completion is not timed."""
    keys = tier.new_keys()
    elapsed = time_ns(partial(tier.manager.prepare_store, keys))
    tier.manager.complete_store(keys)
    return elapsed


def row(cells: list[str]) -> None:
    """Print one line of the table."""
    print(f"{cells[0]:<34}" + "".join(f"{cell:>11}" for cell in cells[1:]), flush=True)


def steps() -> dict[tuple[str, int], Callable[[], int]]:
    """What is timed, by situation and size."""
    made: dict[tuple[str, int], Callable[[], int]] = {}
    for size in SIZES:
        made[FLOOR, size] = Floor(size).step
        made[IDLE, size] = partial(store_step, FullTier(size))
        made[HALF, size] = partial(store_step, FullTier(size, num_pinned=size // 2))
        made[REFUSED, size] = partial(store_step, FullTier(size, num_pinned=size))
    made[WALKING, WALK_SIZE] = partial(store_step, FullTier(WALK_SIZE, WalkingLRU, WALK_SIZE // 2))
    return made


def main() -> int:
    """Print the table; 0 if the claim holds, else 1."""
    print(CLAIM + "\n", flush=True)
    gc.disable()
    times = take_turns(steps())
    middle = {name: median(taken) for name, taken in times.items()}
    row(["prepare_store(64), microseconds", "p50", "p99", "max", "first", "growth", "of floor"])
    for situation in (FLOOR, IDLE, HALF, REFUSED, WALKING):
        for size in SIZES:
            if (situation, size) in times:
                taken = times[situation, size]
                durations = [middle[situation, size], percentile(taken, 99), max(taken), taken[0]]
                growth = middle[situation, size] / middle.get((situation, SIZES[0]), middle[situation, size])
                of_floor = middle[situation, size] / middle[FLOOR, size]
                cells = [f"{duration / 1000:.1f}" for duration in durations]
                cells += [f"{growth:.1f}x", "" if situation == REFUSED else f"{of_floor:.1f}x"]
                row([f"{situation}, {size:,}", *cells])
    idle, half = (middle[name, SIZES[-1]] / middle[name, SIZES[0]] for name in (IDLE, HALF))
    slower = middle[WALKING, WALK_SIZE] / middle[HALF, WALK_SIZE]
    holds = max(idle, half) <= MOST
    print(
        f"\nAt 1,000,000 blocks a store takes {idle:.1f}x (idle) and {half:.1f}x (half pinned) what it takes at 10,000."
        f"\nA policy that walks over pinned blocks takes {slower:.0f}x as long at {WALK_SIZE:,}, half pinned."
        f"\nThe claim {'holds' if holds else 'DOES NOT HOLD'}."
    )
    return 0 if holds else 1


if __name__ == "__main__":
    sys.exit(main())
