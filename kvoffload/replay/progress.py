"""How far a replay has come, on a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from kvoffload.replay.workload import Workload

SECONDS_BETWEEN_UPDATES = 0.1


@contextmanager
def progress_bar(label: str, workload: Workload) -> Iterator[Callable[[], None]]:
    """A bar on standard error while the workload is read; none if that is no terminal.

    The bar is drawn between requests and by no thread of its own, which would disturb the calls that are timed.

    Args:
        label: what stands before the bar.
        workload: whose progress to show.

    Yields:
        What to call after every request.
    """
    if not sys.stderr.isatty():
        yield lambda: None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), auto_refresh=False, transient=True) as progress:
        task = progress.add_task(label, total=1.0)
        next_update = 0.0

        def update() -> None:
            nonlocal next_update
            now = monotonic()
            if now >= next_update:
                next_update = now + SECONDS_BETWEEN_UPDATES
                progress.update(task, completed=workload.progress, refresh=True)

        yield update
