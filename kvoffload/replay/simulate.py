"""A manager driven as a scheduler drives it, request by request."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from hashlib import sha256
from time import perf_counter_ns
from typing import ParamSpec, TypeVar

from kvoffload.interface import OffloadingManager
from kvoffload.replay.results import CallTimes, ReplayResult
from kvoffload.types import LookupResult, OffloadKey, ReqContext, make_offload_key

P = ParamSpec("P")
R = TypeVar("R")

CALLS = ("lookup", "prepare_load", "prepare_store", "complete_load", "complete_store", "touch")
"""The calls that are timed, in the order in which a request makes them."""


def block_key(block_id: int) -> OffloadKey:
    """The key of a block of the trace: 36 bytes, a new object every time, as a scheduler computes them."""
    return make_offload_key(sha256(b"%d" % block_id).digest(), 0)


class Simulation:
    """Serves requests from one manager, and counts what it does and times every call, reading the clock included.

    A request looks its blocks up from the head to the first that is not ready, loads those hits, stores the rest,
    and at its end touches the whole prompt. In between the transfers complete that are due, oldest first: with latency
    0 its own, so that the prefix is pinned while the rest is stored; with latency n those of the request n before it.

    Args:
        manager: the manager, still new.
        result: where to count.
        latency: how many requests later a transfer completes.

    Raises:
        ValueError: if ``latency`` is negative.
    """

    def __init__(self, manager: OffloadingManager, result: ReplayResult, latency: int = 0) -> None:
        if latency < 0:
            raise ValueError(f"latency is {latency}; a transfer completes 0 or more requests later.")
        self._manager = manager
        self._latency = latency
        self._in_flight: deque[tuple[int, Callable[[], None]]] = deque()
        self.result = result
        self.result.times.update((name, CallTimes()) for name in CALLS)

    @property
    def num_in_flight(self) -> int:
        """How many transfers have not completed."""
        return len(self._in_flight)

    def serve(self, block_ids: Sequence[int]) -> None:
        """Serve the next request, whose prompt has these blocks, head first."""
        manager, result = self._manager, self.result
        result.num_requests += 1
        context = ReqContext(req_id=str(result.num_requests))
        keys = [block_key(block_id) for block_id in block_ids]
        num_hits = self._count_hits(keys, context)
        result.num_accesses += len(keys)
        result.num_hits += num_hits
        hits, rest = keys[:num_hits], keys[num_hits:]
        if hits:
            load = self._timed("prepare_load", manager.prepare_load, hits, context)
            self._start("complete_load", manager.complete_load, hits, context, transfer_id=load.transfer_id)
        if rest:
            self._store(rest, context)
        self._complete_due()
        self._timed("touch", manager.touch, keys, context)

    def finish(self) -> None:
        """Complete every transfer that is still in flight."""
        while self._in_flight:
            _, complete = self._in_flight.popleft()
            complete()

    def _count_hits(self, keys: list[OffloadKey], context: ReqContext) -> int:
        # Written out, for most calls of a replay are lookups, and _timed costs more than they do.
        lookup, counts = self._manager.lookup, self.result.times["lookup"].counts
        for num_hits, key in enumerate(keys):
            start = perf_counter_ns()
            found = lookup(key, context)
            counts[perf_counter_ns() - start] += 1
            if found is not LookupResult.HIT:
                return num_hits
        return len(keys)

    def _store(self, keys: list[OffloadKey], context: ReqContext) -> None:
        store = self._timed("prepare_store", self._manager.prepare_store, keys, context)
        if store is None:
            self.result.num_refused += 1
            return
        self.result.num_evicted += len(store.evicted_keys)
        if store.keys_to_store:
            complete = self._manager.complete_store
            self._start("complete_store", complete, store.keys_to_store, context, transfer_id=store.transfer_id)

    def _start(self, name: str, complete: Callable[P, None], *args: P.args, **kwargs: P.kwargs) -> None:
        due = self.result.num_requests + self._latency
        self._in_flight.append((due, partial(self._timed, name, partial(complete, *args, **kwargs))))

    def _complete_due(self) -> None:
        while self._in_flight and self._in_flight[0][0] <= self.result.num_requests:
            _, complete = self._in_flight.popleft()
            complete()

    def _timed(self, name: str, call: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        start = perf_counter_ns()
        returned = call(*args, **kwargs)
        self.result.times[name].counts[perf_counter_ns() - start] += 1
        return returned
