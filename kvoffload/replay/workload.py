"""What a workload is, whether it is read from a trace or made up."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

DEFAULT_NUM_REQUESTS = 10_000
"""How many requests a workload that could go on for ever has, unless told otherwise."""


class Workload(Protocol):
    """A stream of requests that starts anew with every iteration, so that several policies can be given the same one.

    A request is the block ids of its prompt, head first. They are prefix ids: equal ids mean equal blocks after equal
    beginnings. ``str`` names the workload in a report.
    """

    @property
    def progress(self) -> float:
        """How much of the latest iteration is done, 0 to 1."""

    def __iter__(self) -> Iterator[Sequence[int]]:
        """The requests in the order of their arrival."""
