"""Independent searches side by side: each test asks for its own, and two processes work them off."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ProcessPoolExecutor
from typing import Generic, TypeVar

K = TypeVar("K")
T = TypeVar("T")


class SideBySide(Generic[K, T]):
    """Starts one job per key and gives each result to whoever asks for it.

    The processes are forked, so that they have the Hypothesis profile of this run. Where that is not possible, or a key
    was not foreseen, the job is done when it is first asked for.

    Args:
        job: what to do for a key; a function of a module.
        keys: the keys, in the order in which they will be asked for.
    """

    def __init__(self, job: Callable[[K], T], keys: Iterable[K]) -> None:
        self._job = job
        self._pool: ProcessPoolExecutor | None = None
        self._futures: dict[K, Future[T]] = {}
        self._done: dict[K, T] = {}
        if "fork" in multiprocessing.get_all_start_methods() and (os.cpu_count() or 1) > 1:
            self._pool = ProcessPoolExecutor(2, multiprocessing.get_context("fork"))
            self._futures = {key: self._pool.submit(job, key) for key in dict.fromkeys(keys)}

    def __getitem__(self, key: K) -> T:
        """The result of the job for this key; an exception of the job's is raised here."""
        if key in self._futures:
            return self._futures[key].result()
        if key not in self._done:
            self._done[key] = self._job(key)
        return self._done[key]

    def close(self) -> None:
        """Start no further job."""
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
