"""The command line."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kvoffload.replay import command

app = typer.Typer(no_args_is_help=True, pretty_exceptions_enable=False, add_completion=False)

DEFAULT_POLICIES = ["lru"]


@app.callback()
def main() -> None:
    """Check and measure KV-cache offloading managers and their eviction policies."""


@app.command()
def check(
    target: Annotated[
        str, typer.Argument(help="MODULE:NAME of a class or factory that takes a number of blocks.", show_default=False)
    ],
    order: Annotated[
        str | None,
        typer.Option(
            help="The order that it declares: lru, arc, slru, s3fifo, lfu or fifo; slru:0.5 with its share.",
            show_default="none: no order is checked",
        ),
    ] = None,
    capability: Annotated[
        list[str] | None,
        typer.Option(help="What else it declares: scales (evictions cost the same at any size).", show_default=False),
    ] = None,
    store_threshold: Annotated[
        int | None,
        typer.Option(
            min=0, help="Make a manager with this store_threshold, and check its admission.", show_default=False
        ),
    ] = None,
    max_tracker_size: Annotated[
        int, typer.Option(min=1, help="The max_tracker_size that goes with it; small, so that it overflows.")
    ] = 3,
    histories: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="How many histories to choose with care, after three times as many by the dice; 100 unless given.",
            show_default=False,
        ),
    ] = None,
    steps: Annotated[
        int | None,
        typer.Option(min=1, help="The most steps chosen in each; 50 unless given.", show_default=False),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(help="Try other histories.", show_default="the same ones every time")
    ] = None,
) -> None:
    """Run the policy or manager contract on any importable class.

    Exit code 0: every clause is kept; 1: a clause is broken; 2: it could not be checked; 3: inconclusive, for some call
    or situation never came up.
    """
    # Here, not above: it brings Hypothesis, for which nobody who replays a trace should wait.
    from kvoffload.contract.command import run_check

    admission = None if store_threshold is None else (store_threshold, max_tracker_size)
    raise typer.Exit(run_check(target, order, capability or [], admission, histories, steps, seed))


@app.command()
def replay(
    trace: Annotated[
        Path | None,
        typer.Argument(help="Trace with one JSON object per line (hash_ids or hash_runs); plain, gzip or zstd."),
    ] = None,
    synthetic: Annotated[bool, typer.Option("--synthetic", help="Make up multi-turn conversations instead.")] = False,
    seed: Annotated[int | None, typer.Option(help="Which of the synthetic workloads; 0 unless given.")] = None,
    requests: Annotated[
        int | None,
        typer.Option(
            "--requests",
            "--limit",
            min=1,
            help="Stop after so many requests.",
            show_default=f"the whole trace; {command.DEFAULT_NUM_REQUESTS} synthetic ones",
        ),
    ] = None,
    policy: Annotated[
        list[str], typer.Option(help="Eviction policy; give it several times to compare.")
    ] = DEFAULT_POLICIES,
    blocks: Annotated[int, typer.Option(min=0, help="Capacity, in blocks.")] = 10_000,
    latency: Annotated[
        int, typer.Option(min=0, help="How many requests later a transfer completes; 0 is at once.")
    ] = 0,
    verify: Annotated[
        bool, typer.Option("--verify", help="Run every call in lockstep with the specification; takes no times.")
    ] = False,
    minimum: Annotated[
        bool | None,
        typer.Option(
            "--min/--no-min",
            help="Add Belady's MIN, the optimum with knowledge of the future.",
            show_default="if several policies are compared",
        ),
    ] = None,
) -> None:
    """Drive a manager with a block trace; report its prefix hit rate, evictions, refusals and times per call.

    Exit code 0: it ran; 1: the manager broke a clause of its contract; 2: it could not be run.
    """
    try:
        workload = command.choose_workload(trace, synthetic, seed, requests)
        policies = command.choose_policies(policy)
    except command.UsageError as error:
        command.print_error(str(error))
        raise typer.Exit(2) from error
    with_min = len(policies) > 1 if minimum is None else minimum
    raise typer.Exit(command.run_replay(workload, policies, blocks, latency, verify, with_min))
