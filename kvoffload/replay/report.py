"""The results of a replay as text: tables on a terminal, aligned lines in a pipe."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich import box
from rich.console import Console
from rich.table import Table

from kvoffload.replay.results import ReplayResult

NS_PER_US = 1000


@dataclass(frozen=True)
class Columns:
    """Rows of text under headings: the first ``num_names`` columns are names, the others numbers."""

    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    num_names: int = 1

    def lines(self) -> Iterator[str]:
        """The rows as aligned lines, names to the left and numbers to the right."""
        table = (self.headings, *self.rows)
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        for row in table:
            cells = [
                cell.ljust(width) if i < self.num_names else cell.rjust(width)
                for i, (cell, width) in enumerate(zip(row, widths, strict=True))
            ]
            yield "  ".join(cells).rstrip()

    def table(self) -> Table:
        """The rows as a table for a terminal."""
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
        for i, heading in enumerate(self.headings):
            table.add_column(heading, justify="left" if i < self.num_names else "right")
        for row in self.rows:
            table.add_row(*row)
        return table


def hit_columns(results: Sequence[ReplayResult]) -> Columns:
    """One row for each policy: its hit rate and what it cost in evictions and refusals."""
    return Columns(
        ("policy", "hit rate %", "blocks evicted", "stores refused"),
        tuple(
            (result.policy, f"{100 * result.hit_rate:.2f}", f"{result.num_evicted:,}", f"{result.num_refused:,}")
            for result in results
        ),
    )


def time_columns(results: Sequence[ReplayResult]) -> Columns:
    """One row for each policy and call that was made: how often, and how long it took."""
    return Columns(
        ("policy", "call", "calls", "p50 us", "p99 us", "max us"),
        tuple(
            (
                result.policy,
                name,
                f"{times.num_calls:,}",
                *(f"{times.percentile(percent) / NS_PER_US:,.1f}" for percent in (50, 99, 100)),
            )
            for result in results
            for name, times in result.times.items()
            if times.counts
        ),
        num_names=2,
    )


def headline(workload: str, results: Sequence[ReplayResult], num_blocks: int, latency: int) -> str:
    """What was replayed, and on what."""
    first = results[0]
    completion = "at once" if not latency else f"{latency:,} request{'s' if latency > 1 else ''} later"
    return (
        f"{workload}: {first.num_requests:,} requests, {first.num_accesses:,} block accesses\n"
        f"capacity {num_blocks:,} blocks; transfers complete {completion}"
    )


def print_report(
    console: Console, workload: str, results: Sequence[ReplayResult], num_blocks: int, latency: int, as_tables: bool
) -> None:
    """Print what was replayed, the hit rates, and the times or, of verified replays, how many calls were checked.

    Args:
        console: where to.
        workload: what was replayed.
        results: one for each policy.
        num_blocks: the capacity, in blocks.
        latency: how many requests later a transfer completed.
        as_tables: whether to print tables, or else aligned lines.
    """
    unverified = [result for result in results if result.num_verified is None and result.times]
    parts = [hit_columns(results), *([time_columns(unverified)] if unverified else [])]
    checked = [
        f"{result.policy}: {result.num_verified:,} calls checked against the specification; none broke a clause"
        for result in results
        if result.num_verified is not None
    ]
    head = headline(workload, results, num_blocks, latency)
    if as_tables:
        print_line(console, head)
        for part in parts:
            console.print(part.table())
        for line in checked:
            print_line(console, line)
    else:
        blocks = [head, *("\n".join(part.lines()) for part in parts), *checked]
        print_line(console, "\n\n".join(blocks))  # in one piece, for a reader that stops after the first line


def print_line(console: Console, text: str) -> None:
    """Print a text as it is: not wrapped at the edge of the terminal, nothing in it taken for markup."""
    console.print(text, soft_wrap=True, markup=False, highlight=False, emoji=False)
