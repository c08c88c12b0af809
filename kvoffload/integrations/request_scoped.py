"""A policy behind the calls of vLLM's offloading manager, which speaks of requests where ours speaks of uses."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Sequence, Set
from typing import Any

from kvoffload.interface import CachePolicy
from kvoffload.types import NO_REQUEST, OffloadKey


class RequestScopedPolicy:
    """Takes the calls of vLLM's manager, from 0.27.1 to 0.33, and makes those of kvoffload's on a policy.

    * The policy hears who stores a key right before the key is inserted, and not of a store that is refused.
    * A request's use of its blocks is one touch, at its end, of those that it stored or found ready, in prefix order.
    * Blocks that become idle with no other call between are told tail first, in whatever order the manager names them.

    Attributes:
        policy: the policy.
        cache_capacity: the most blocks that will be resident at a time.
    """

    @staticmethod
    def make_policy(cache_capacity: int) -> CachePolicy:
        """The policy for so many blocks; ``kvoffload.integrations.vllm.for_vllm`` fills this in."""
        raise NotImplementedError

    def __init__(self, cache_capacity: int) -> None:
        self.cache_capacity = cache_capacity
        self.policy = self.make_policy(cache_capacity)
        # Where each resident block ends in its prompt, in tokens, 0 if that is not known; then, as how manieth it came.
        self._places: dict[OffloadKey, tuple[int, int]] = {}
        self._num_inserted = 0
        self._missed: OrderedDict[OffloadKey, Any] = OrderedDict()  # who asked to store a key that was not resident
        self._now_idle: list[OffloadKey] = []  # of these the policy has not heard yet

    def get(self, key: OffloadKey) -> Any:
        """The very chunk that was inserted under the key, or ``None``."""
        return self.policy.get(key)

    def insert(self, key: OffloadKey, chunk: Any, req_context: Any = None) -> None:
        """The chunk is resident from now on; before 0.33 nobody says who stores it: the last who missed it does."""
        self._tell_idle()
        missed_by = self._missed.pop(key, NO_REQUEST)
        request = missed_by if req_context is None else req_context
        self._num_inserted += 1
        self._places[key] = _position(request, key) or 0, self._num_inserted
        self.policy.on_store_miss([key], request)
        self.policy.insert(key, chunk)

    def remove(self, key: OffloadKey) -> None:
        """The key's store has failed."""
        self._tell_idle()
        self.policy.remove(key)
        del self._places[key]

    def touch(self, keys: Iterable[OffloadKey], req_context: Any = NO_REQUEST) -> None:
        """The request used these keys, the head of the prefix first: vLLM's scheduler says so until 0.30."""
        self._tell_idle()
        self.policy.touch(list(keys), req_context)

    def evict(self, n: int, protected: Set[OffloadKey]) -> list[tuple[OffloadKey, Any]] | None:
        """Exactly n idle chunks that are not protected, or ``None``."""
        self._tell_idle()
        victims = self.policy.evict(n, protected)
        for key, _ in victims or ():
            del self._places[key]
        return victims

    def clear(self) -> None:
        """Afterwards the policy behaves as a new one."""
        self.policy.clear()
        for part in (self._places, self._missed, self._now_idle):
            part.clear()
        self._num_inserted = 0

    def mark_evictable(self, key: OffloadKey) -> None:
        """The chunk under the key has become idle."""
        self._now_idle.append(key)

    def mark_non_evictable(self, key: OffloadKey) -> None:
        """The chunk under the key is about to be read."""
        self._tell_idle()
        self.policy.mark_non_evictable(key)

    def on_store_miss(self, keys: Iterable[OffloadKey], req_context: Any) -> None:
        """The request asks to store these keys (from 0.31); whether it can is not known yet."""
        for key in keys:
            self._missed[key] = req_context
            self._missed.move_to_end(key)
        while len(self._missed) > self.cache_capacity:
            self._missed.popitem(last=False)

    def on_request_access(self, keys: Iterable[OffloadKey], req_context: Any) -> None:
        """Nothing yet (from 0.33): the request's use of these keys counts once, when it has finished."""

    def on_request_finished(
        self,
        key_groups: Sequence[Sequence[OffloadKey]],
        insertion_only_keys: Set[OffloadKey],
        reused_keys: Set[OffloadKey],
        req_context: Any,
    ) -> None:
        """The request used what it stored and what it found ready (from 0.31); other keys it only asked for."""
        named = [key for group in key_groups for key in group]
        for key in named:
            if self._missed.get(key) is req_context:
                del self._missed[key]
        keys = [key for key in named if key in insertion_only_keys or key in reused_keys]
        positions = {key: position for key in keys if (position := _position(req_context, key)) is not None}
        if len(positions) == len(keys):
            keys.sort(key=positions.__getitem__)
        self.touch(keys, req_context)

    def _tell_idle(self) -> None:
        self._now_idle.sort(key=self._places.__getitem__)
        while self._now_idle:
            self.policy.mark_evictable(self._now_idle.pop())

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.policy!r})"


def _position(req_context: Any, key: OffloadKey) -> int | None:
    """Where the key's block ends in the request, in tokens; ``None`` if the request does not know (before 0.31)."""
    position_of = getattr(req_context, "get_offload_key_position", None)
    position: int | None = None if position_of is None else position_of(key)
    return position
