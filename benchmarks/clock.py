"""Timing that a busy machine disturbs least."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from time import perf_counter_ns, thread_time_ns
from typing import TypeVar

Name = TypeVar("Name")
Taken = TypeVar("Taken")

TURNS = 10
CALLS_PER_TURN = 20
# A call of this length may have been interrupted; its share of the processor is then the better figure.
INTERRUPTED_NS = 1_000_000


def time_ns(call: Callable[[], object]) -> int:
    """How long one call takes, in nanoseconds."""
    processor = thread_time_ns()
    start = perf_counter_ns()
    call()
    elapsed = perf_counter_ns() - start
    processor = thread_time_ns() - processor
    return elapsed if elapsed < INTERRUPTED_NS else min(elapsed, processor)


def take_turns(steps: Mapping[Name, Callable[[], Taken]]) -> dict[Name, list[Taken]]:
    """What each step took, call by call: some calls of one, then some of the next, so that a slow minute slows all.

    Args:
        steps: by name, a step that says what it took.
    """
    taken: dict[Name, list[Taken]] = {name: [] for name in steps}
    for _ in range(TURNS):
        for name, step in steps.items():
            taken[name].extend(step() for _ in range(CALLS_PER_TURN))
    return taken


def percentile(times: list[int], percent: int) -> int:
    """The time that so many of a hundred calls do not exceed."""
    return sorted(times)[min(len(times) - 1, len(times) * percent // 100)]
