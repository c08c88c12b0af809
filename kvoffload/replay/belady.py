"""Belady's MIN: what no policy can exceed, since it knows the rest of the trace."""

from __future__ import annotations

import heapq
from array import array
from collections.abc import Callable

from kvoffload.replay.results import ReplayResult
from kvoffload.replay.workload import Workload

NEVER = 2**62
"""The next use of a block that is not used again."""


def replay_min(workload: Workload, num_blocks: int, on_request: Callable[[], None] = lambda: None) -> ReplayResult:
    """The most prefix hits that any cache of that size can have on the workload (Belady, 1966, with bypass).

    After every request the blocks with the nearest next use are kept, of those of the request and those already there;
    a block that is not used again is not kept at all. Since ids are prefix ids, a block is never needed before the one
    that precedes it, so that what is kept are whole prefixes. The workload is read twice; memory is 8 bytes for each
    block access, and a few words for each kept block.

    Args:
        workload: the requests; they are taken to complete at once.
        num_blocks: the capacity, in blocks.
        on_request: called after every request, in either pass.

    Raises:
        TraceError: if the workload is a trace that cannot be read.
    """
    next_uses = _next_uses(workload, on_request)
    result = ReplayResult("MIN")
    kept: dict[int, int] = {}  # block -> the request that uses it next
    # (-next use, -depth in the prompt, block): the farthest first, and of those with one next use the tail before the
    # head, without which it is of no use. An entry is stale where kept says otherwise.
    farthest: list[tuple[int, int, int]] = []
    position = 0
    for block_ids in workload:
        result.num_requests += 1
        result.num_accesses += len(block_ids)
        in_prefix = True
        for depth, block_id in enumerate(block_ids):
            in_prefix = in_prefix and block_id in kept
            result.num_hits += in_prefix
            next_use = next_uses[position]
            position += 1
            if next_use == NEVER:
                kept.pop(block_id, None)
            else:
                kept[block_id] = next_use
                heapq.heappush(farthest, (-next_use, -depth, block_id))
        while len(kept) > num_blocks:
            next_use, _, block_id = heapq.heappop(farthest)
            if kept.get(block_id) == -next_use:
                del kept[block_id]
                result.num_evicted += 1
        on_request()
    return result


def _next_uses(workload: Workload, on_request: Callable[[], None]) -> array[int]:
    """For each block access in turn, the number of the request that uses the block next."""
    next_uses = array("q")
    latest: dict[int, int] = {}
    for number, block_ids in enumerate(workload):
        for block_id in block_ids:
            if block_id in latest:
                next_uses[latest[block_id]] = number
            latest[block_id] = len(next_uses)
            next_uses.append(NEVER)
        on_request()
    return next_uses
