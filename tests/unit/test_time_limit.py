"""The clock that interrupts a call that hangs, and that leaves everybody else's clock alone."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator

import pytest

from kvoffload.contract.targets.time_limit import CallHangsError, time_limit, watched

SHORT = 0.05


@pytest.fixture(autouse=True)
def _no_clock_is_left() -> Iterator[None]:
    yield
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def busy(seconds: float) -> str:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pass
    return "done"


def in_steps(seconds: float) -> str:
    for _ in range(10):
        watched(lambda: busy(seconds / 10))
    return "done"


def test_a_call_that_hangs_is_interrupted_after_the_limit_and_before_twice_of_it() -> None:
    began = time.monotonic()
    with time_limit(SHORT), pytest.raises(CallHangsError):
        watched(lambda: busy(5))
    assert SHORT <= time.monotonic() - began < 1


def test_a_call_that_waits_is_interrupted_as_well() -> None:
    with time_limit(SHORT), pytest.raises(CallHangsError):
        watched(lambda: time.sleep(5))


def test_many_calls_that_together_take_longer_are_not_interrupted() -> None:
    with time_limit(SHORT):
        assert in_steps(4 * SHORT) == "done"


def test_what_is_not_watched_may_take_its_time() -> None:
    with time_limit(SHORT):
        assert busy(3 * SHORT) == "done"


def test_a_call_handles_no_interruption_by_mistake() -> None:
    def stubborn() -> None:
        try:
            busy(5)
        except Exception:
            busy(5)

    assert not issubclass(CallHangsError, Exception)
    with time_limit(SHORT), pytest.raises(CallHangsError):
        watched(stubborn)


def test_the_next_call_after_an_interrupted_one_has_the_whole_limit() -> None:
    with time_limit(SHORT):
        with pytest.raises(CallHangsError):
            watched(lambda: busy(5))
        assert watched(lambda: busy(SHORT / 5)) == "done"


def test_an_exception_passes_through() -> None:
    def raises() -> None:
        raise KeyError("theirs")

    with time_limit(SHORT), pytest.raises(KeyError):
        watched(raises)


def test_what_a_call_returns_is_returned_without_a_limit_as_well() -> None:
    assert watched(lambda: 7) == 7


@pytest.mark.parametrize("fails", [False, True])
def test_the_handler_of_before_is_put_back_and_the_clock_is_stopped(fails: bool) -> None:
    def theirs(*_: object) -> None: ...

    before = signal.signal(signal.SIGALRM, theirs)
    try:
        with pytest.raises(KeyError) if fails else time_limit(SHORT), time_limit(SHORT):
            assert signal.getsignal(signal.SIGALRM) is not theirs
            if fails:
                raise KeyError
        assert signal.getsignal(signal.SIGALRM) is theirs
    finally:
        signal.signal(signal.SIGALRM, before)


def test_a_clock_of_somebody_else_keeps_running() -> None:
    rung: list[int] = []
    before = signal.signal(signal.SIGALRM, lambda *_: rung.append(1))
    signal.setitimer(signal.ITIMER_REAL, SHORT)
    try:
        with time_limit(0.001):
            assert watched(lambda: busy(3 * SHORT)) == "done"
        assert rung == [1]
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_a_limit_within_a_limit_leaves_the_outer_one_on() -> None:
    with time_limit(SHORT):
        with time_limit(60):
            pass
        with pytest.raises(CallHangsError):
            watched(lambda: busy(5))


def test_outside_the_main_thread_there_is_no_limit_and_no_error() -> None:
    seen: list[object] = []

    def elsewhere() -> None:
        before = signal.getsignal(signal.SIGALRM)
        with time_limit(SHORT):
            seen.append(signal.getsignal(signal.SIGALRM) is before)
            seen.append(watched(lambda: busy(3 * SHORT)))

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert seen == [True, "done"]
