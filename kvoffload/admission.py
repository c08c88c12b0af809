"""Which offered keys are worth storing: those that enough requests have offered."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence

from kvoffload.types import OffloadKey


class AdmissionTracker:
    """Remembers which requests offered a key, until there are ``store_threshold`` of them.

    An offer by a request that is remembered for the key counts nothing; without a request's name every offer counts. A
    key whose requests are complete stays admitted while it is tracked. The tracker is an LRU by last offer, the head of
    an offer the most recent, and gives up keys only when the whole offer has been counted: an offer larger than the
    tracker still makes progress, head first.

    Args:
        store_threshold: how many requests have to offer a key; 0 and 1 admit every key at once and track nothing.
        max_tracker_size: how many keys are tracked at most.

    Raises:
        ValueError: if ``store_threshold`` is negative or ``max_tracker_size`` is less than 1.
    """

    def __init__(self, store_threshold: int, max_tracker_size: int) -> None:
        if store_threshold < 0:
            raise ValueError(f"store_threshold is {store_threshold}; it is 0 (store every key) or more requests.")
        if max_tracker_size < 1:
            raise ValueError(f"max_tracker_size is {max_tracker_size}; the tracker holds 1 key or more.")
        self.store_threshold = store_threshold
        self.max_tracker_size = max_tracker_size
        self._offered_by: OrderedDict[OffloadKey, tuple[str, ...]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._offered_by)

    def admit(self, keys: Sequence[OffloadKey], request: str) -> list[OffloadKey]:
        """Count one offer of these distinct keys; the result is the admitted ones, in the order given.

        Args:
            keys: the offered keys that are not resident, head first.
            request: the name of the request that offers them, or empty.
        """
        if self.store_threshold < 2:
            return list(keys)
        offered_by = self._offered_by
        for key in reversed(keys):
            requests = offered_by.pop(key, ())
            if len(requests) < self.store_threshold and not (request and request in requests):
                requests = (*requests, request)
            offered_by[key] = requests
        admitted = [key for key in keys if len(offered_by[key]) == self.store_threshold]
        while len(offered_by) > self.max_tracker_size:
            offered_by.popitem(last=False)
        return admitted

    def clear(self) -> None:
        """No key has been offered."""
        self._offered_by.clear()
