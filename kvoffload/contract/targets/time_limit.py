"""Calls that never come back: interrupted, and told apart from those that raise."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TypeVar

SECONDS = 2.0
"""How long one call may take; it is interrupted after this time, and before twice of it."""

T = TypeVar("T")


class CallHangsError(BaseException):
    """Raised inside a call that takes too long; no ``Exception``, so that the call does not handle it by mistake."""


class _Watch:
    """Which call is being made: the clock looks whether it is still the one that it saw last."""

    def __init__(self) -> None:
        self.num_calls = 0
        self.is_in_call = False
        self.seen = -1


_watch = _Watch()


def watched(call: Callable[[], T]) -> T:
    """Make the call; while a time limit is on, it is interrupted if it hangs.

    Raises:
        CallHangsError: out of the call, if it takes longer than the limit.
    """
    _watch.num_calls += 1
    _watch.is_in_call = True
    try:
        return call()
    finally:
        _watch.is_in_call = False


@contextmanager
def time_limit(seconds: float = SECONDS) -> Iterator[None]:
    """Interrupt watched calls that take too long.

    One clock ticks for all calls, which costs a call next to nothing. There is none where it could not work or would
    disturb somebody: outside the main thread, where the platform has no such signal, and where another is running.
    """
    if not _can_tick():
        yield
        return
    before = signal.signal(signal.SIGALRM, _tick)
    signal.setitimer(signal.ITIMER_REAL, seconds, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _can_tick() -> bool:
    is_main = threading.current_thread() is threading.main_thread()
    return is_main and hasattr(signal, "setitimer") and signal.getitimer(signal.ITIMER_REAL)[0] == 0


def _tick(_signal: int, _frame: FrameType | None) -> None:
    if _watch.is_in_call and _watch.seen == _watch.num_calls:
        raise CallHangsError
    _watch.seen = _watch.num_calls
