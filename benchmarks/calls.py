"""What a key costs in each call of a scheduler's step, as the cache grows.

Run ``python -m benchmarks.calls`` from the root of the repository. A step stores 64 new blocks, evicting 64, and loads
a run of 64 that was stored earlier: lookup, prepare_load, complete_load, touch. Each request has new key objects, which
it uses for all its calls; so the lookup meets the cold memory, and the others find it warm.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterable
from functools import partial
from random import Random
from statistics import median

from benchmarks.clock import take_turns, time_ns
from benchmarks.common import BATCH, FullTier, fresh_keys
from kvoffload import LookupResult, OffloadKey

CLAIM = "Claim: no call on 64 keys takes more than 5x as long at 1,000,000 blocks as at 10,000."
MOST = 5
SIZES = (10_000, 100_000, 1_000_000)
FLOOR = "floor: one dict access"
SEED = 1


def each(call: Callable[[OffloadKey], object], keys: Iterable[OffloadKey]) -> None:
    """Make the call for every key."""
    for key in keys:
        call(key)


class Step:
    """One step on a full manager, and a bare dict of as many keys."""

    def __init__(self, num_blocks: int) -> None:
        self.tier = FullTier(num_blocks)
        self.bare = dict(zip(fresh_keys(0, num_blocks), range(num_blocks), strict=True))
        self.random = Random(SEED)

    def run(self) -> dict[str, int]:
        """How long each call took on 64 keys, in nanoseconds."""
        manager, took = self.tier.manager, {}
        new = self.tier.new_keys()
        took["prepare_store, evicting"] = time_ns(partial(manager.prepare_store, new))
        took["complete_store"] = time_ns(partial(manager.complete_store, new))
        # The last quarter that was stored is resident whatever was loaded meanwhile.
        first = self.tier.next_index - BATCH - self.random.randrange(self.tier.num_blocks // 4)
        keys = fresh_keys(first, BATCH)
        took["lookup"] = time_ns(partial(each, manager.lookup, keys))
        assert all(manager.lookup(key) is LookupResult.HIT for key in keys)
        took["prepare_load"] = time_ns(partial(manager.prepare_load, keys))
        took["complete_load"] = time_ns(partial(manager.complete_load, keys))
        took["touch"] = time_ns(partial(manager.touch, keys))
        keys = fresh_keys(self.random.randrange(self.tier.num_blocks - BATCH), BATCH)
        took[FLOOR] = time_ns(partial(each, self.bare.__getitem__, keys))
        return took


def main() -> int:
    """Print the table; 0 if the claim holds, else 1."""
    print(CLAIM + "\n", flush=True)
    gc.disable()
    steps = take_turns({size: Step(size).run for size in SIZES})
    calls = list(steps[SIZES[0]][0])
    per_key = {call: [median(took[call] for took in steps[size]) / BATCH for size in SIZES] for call in calls}
    print(f"{'nanoseconds per key, at so many blocks':<40}" + "".join(f"{size:>12,}" for size in SIZES) + "   growth")
    for call, figures in per_key.items():
        cells = "".join(f"{figure:>12.0f}" for figure in figures)
        print(f"{call:<40}{cells}{figures[-1] / figures[0]:>8.1f}x")
    holds = all(figures[-1] <= MOST * figures[0] for call, figures in per_key.items() if call != FLOOR)
    print(f"\nThe claim {'holds' if holds else 'DOES NOT HOLD'}.")
    return 0 if holds else 1


if __name__ == "__main__":
    sys.exit(main())
