"""What prepare_store executes, counted: no clock, so the same figures on every machine.

Run ``python -m benchmarks.lines`` from the root of the repository.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from unittest.mock import Mock, call

from benchmarks.common import BATCH, FullTier, WalkingLRU
from kvoffload import CachePolicy, LRUCachePolicy
from kvoffload.contract.targets.cost import Cost, cost_of
from kvoffload.policies.factory import CachePolicyFactory

CLAIM = (
    "Claim: prepare_store of 64 blocks that evicts 64 executes the same lines and allocates the same at any size,\n"
    "idle or half pinned, with every policy; a store that the evictable counter refuses touches its 64 keys and\n"
    "nothing else."
)
SIZES = (1_000, 10_000, 100_000)
# Once in a while a table of the manager is rebuilt, a cost that is spread over as many calls as it has entries. It does
# not fall into each of three calls in a row; a pass over all blocks does.
CALLS = 3
# The same containers differ by what their growth rounds up to.
SLACK_BYTES = 8192
PASS_OVER_PINNED = ("fifo",)
"""The policies that pass over each pinned block once, in the first eviction after the load that pins it."""


def store_cost(tier: FullTier, refused: bool) -> Cost:
    """The cost of a store that evicts, or is refused: the most lines and the least peak of a few calls in a row."""
    costs = []
    for _ in range(CALLS):
        keys = tier.new_keys()
        num_evictable = tier.manager.num_evictable_cache_blocks
        costs.append(cost_of(partial(tier.manager.prepare_store, keys)))
        assert num_evictable - tier.manager.num_evictable_cache_blocks == (0 if refused else BATCH)
        tier.manager.complete_store(keys)
    return Cost(max(cost.lines for cost in costs), min(cost.peak_bytes for cost in costs))


def asked_by_refusal(num_blocks: int) -> tuple[int, int]:
    """For how many of its keys a guarded refusal asks the policy, and how often it asks for anything else."""
    tier = FullTier(num_blocks, LRUCachePolicy, num_pinned=num_blocks)
    witness = tier.manager._policy = Mock(wraps=tier.manager._policy)
    keys = tier.new_keys()
    tier.manager.prepare_store(keys)
    gets = sum(call.get(key) in witness.mock_calls for key in keys)
    return gets, len(witness.mock_calls) - gets


def row(label: str, cells: list[str]) -> None:
    """Print one line of the table."""
    print(f"{label:<52}" + "".join(f"{cell:>18}" for cell in cells))


def measure(label: str, policy: Callable[[int], CachePolicy], pinned: float, after_first: bool = False) -> list[Cost]:
    """The costs in one situation, one for each size, printed; on demand only from the second call on."""
    costs = []
    for size in SIZES:
        tier = FullTier(size, policy, int(size * pinned))
        if after_first:
            store_cost(tier, refused=False)
        costs.append(store_cost(tier, refused=pinned == 1))
    row(label, [f"{cost.lines:,} / {cost.peak_bytes / 1024:.1f}" for cost in costs])
    return costs


def same(costs: list[Cost]) -> bool:
    """Whether all executed the same lines and allocated the same memory."""
    peaks = [cost.peak_bytes for cost in costs]
    return len({cost.lines for cost in costs}) == 1 and max(peaks) - min(peaks) <= SLACK_BYTES


def main() -> int:
    """Print the table; 0 if the claim holds, else 1."""
    print(CLAIM + "\n")
    row("executed lines / peak KiB, at so many blocks", [f"{size:,}" for size in SIZES])
    stores = []
    for name in CachePolicyFactory.names():
        policy = CachePolicyFactory.get_cache_policy_cls(name)
        passes_over = name in PASS_OVER_PINNED
        after = ", after the first" if passes_over else ""
        stores.append(measure(f"{name}: store and evict, all idle", policy, 0))
        stores.append(measure(f"{name}: store and evict, half pinned{after}", policy, 0.5, after_first=passes_over))
    refusals = measure("lru: guarded refusal, all pinned", LRUCachePolicy, 1)
    measure("for comparison, walking: all idle", WalkingLRU, 0)
    measure("for comparison, walking: half pinned", WalkingLRU, 0.5)
    asked = [asked_by_refusal(size) for size in SIZES]
    print()
    row("policy calls of a guarded refusal", [f"{size:,}" for size in SIZES])
    row("get, one per key of the call", [str(gets) for gets, _ in asked])
    row("anything else", [str(others) for _, others in asked])
    holds = all(map(same, stores)) and same(refusals) and set(asked) == {(BATCH, 0)}
    print(f"\nThe claim {'holds' if holds else 'DOES NOT HOLD'}.")
    return 0 if holds else 1


if __name__ == "__main__":
    sys.exit(main())
