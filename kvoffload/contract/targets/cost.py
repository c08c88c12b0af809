"""What one call costs, told without a clock: executed lines and allocated bytes."""

from __future__ import annotations

import gc
import sys
import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass
from types import FrameType
from typing import Any


@dataclass(frozen=True, slots=True)
class Cost:
    """What one call took; two costs compare on one Python version only.

    Attributes:
        lines: executed lines of Python, in the call and in all that it calls. What runs inside C counts as nothing.
        peak_bytes: the most memory that the call had allocated at one time. It shows a pass inside C that builds
            something (a copy, a rebuilt table); one that only looks is seen by a clock alone.
    """

    lines: int
    peak_bytes: int


def cost_of(call: Callable[[], object]) -> Cost:
    """Makes the call once and counts; the same call on the same state always counts the same lines.

    The thread's trace function is put back afterwards, whether the call returns or raises; until then whoever installed
    it, a debugger or a coverage tool, does not see the call. Memory traced by others stays traced, but its peak begins
    anew.

    Args:
        call: what to make, without arguments.

    Returns:
        The lines and bytes of the call, tracing included; tracing adds a few hundred bytes for each frame.
    """
    lines = 0

    def trace(
        frame: FrameType, event: str, arg: object
    ) -> Callable[..., Any]:  # pragma: no cover - nobody traces a tracer
        nonlocal lines
        lines += event == "line"
        return trace

    # A collection in the middle of the call would run other people's callbacks, and their lines would be counted.
    collected = gc.isenabled()
    gc.disable()
    traced_before = tracemalloc.is_tracing()
    if not traced_before:
        tracemalloc.start()
    tracer = sys.gettrace()
    try:
        tracemalloc.reset_peak()
        bytes_before, _ = tracemalloc.get_traced_memory()
        sys.settrace(trace)
        try:
            call()
        finally:
            sys.settrace(tracer)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        if not traced_before:
            tracemalloc.stop()
        if collected:
            gc.enable()
    return Cost(lines, peak - bytes_before)
