"""The command line."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Annotated

import typer

from kvoffload.contract.reports.exports import FORMATS
from kvoffload.replay import command
from kvoffload_spec.order import ORDERS

app = typer.Typer(no_args_is_help=True, pretty_exceptions_enable=False, add_completion=False)

DEFAULT_POLICIES = ["lru"]


@app.callback()
def main() -> None:
    """Check and measure KV-cache offloading managers and their eviction policies."""


Target = Annotated[
    str,
    typer.Argument(
        help="MODULE:NAME of a class or factory that takes a number of blocks; or vLLM's extra configuration as JSON.",
        show_default=False,
    ),
]
Order = Annotated[
    str | None,
    typer.Option(
        help=f"The order that it declares: {', '.join(ORDERS)}; some with a share, as slru:0.5.",
        show_default="none: no order is checked",
    ),
]
Capabilities = Annotated[
    list[str] | None,
    typer.Option(
        "--capability",
        help="What it promises besides (scales), or does not promise (no-repeated-keys); may be given several times.",
        show_default=False,
    ),
]
StoreThreshold = Annotated[
    int | None,
    typer.Option(min=0, help="Make a manager with this store_threshold, and check its admission.", show_default=False),
]
MaxTrackerSize = Annotated[
    int, typer.Option(min=1, help="The max_tracker_size that goes with it; small, so that it overflows.")
]


Arguments = Annotated[
    list[str] | None,
    typer.Option(
        "--argument",
        help="What else to make it with, as NAME=VALUE: cache_policy=arc; may be given several times.",
        show_default=False,
    ),
]


def _arguments(named: list[str] | None, store_threshold: int | None, max_tracker_size: int) -> dict[str, object]:
    arguments = dict(map(_argument, named or ()))
    if store_threshold is not None:
        arguments |= {"store_threshold": store_threshold, "max_tracker_size": max_tracker_size}
    return arguments


def _argument(text: str) -> tuple[str, object]:
    name, equals, value = text.partition("=")
    if not (equals and name.isidentifier()):
        raise typer.BadParameter(f"{text!r} is no argument; write its name, = and its value: cache_policy=arc.")
    try:
        return name, ast.literal_eval(value)
    except (SyntaxError, ValueError):  # no literal of Python: text that needs no quotes
        return name, value


@app.command()
def check(
    target: Target,
    order: Order = None,
    capability: Capabilities = None,
    expected_failure: Annotated[
        list[str] | None,
        typer.Option(
            help="A clause that it is known to break, and why: 'events-replay=our issue 12'. If it is kept all the "
            "same, the verdict is broken.",
            show_default=False,
        ),
    ] = None,
    contract: Annotated[
        int | None,
        typer.Option(help="Hold it to this version of the contract.", show_default="the newest"),
    ] = None,
    argument: Arguments = None,
    store_threshold: StoreThreshold = None,
    max_tracker_size: MaxTrackerSize = 3,
    budget: Annotated[
        int | None,
        typer.Option(min=1, help="How many histories to try; 300 unless given.", show_default=False),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Which histories; one seed gives one report, always.")] = 0,
    json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
    junit: Annotated[Path | None, typer.Option(help="Write it to this file as JUnit XML, too.")] = None,
    report: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FORMAT=FILE",
            help=f"Write it to a file as {', '.join(FORMATS)}, too; may be given several times.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Run the policy or manager contract on any importable class.

    Exit code 0: every clause is kept; 1: a clause is broken; 2: it could not be checked; 3: inconclusive, for some call
    or situation never came up.
    """
    # Here, not above: nobody who replays a trace should wait for it.
    from kvoffload.contract.checks import PolicyOptions
    from kvoffload.contract.command import run_check

    options = PolicyOptions(
        order=order,
        capabilities=capability or [],
        expected_failures=dict(map(_known_failure, expected_failure or ())),
        seed=seed,
    )
    if contract is not None:
        options["contract"] = contract
    if budget is not None:
        options["budget"] = budget
    files = dict(map(_file_of_a_report, report or ()))
    if junit is not None:
        files[junit] = "junit"
    raise typer.Exit(run_check(target, options, _arguments(argument, store_threshold, max_tracker_size), json, files))


def _file_of_a_report(text: str) -> tuple[Path, str]:
    name, _, file = text.partition("=")
    if name not in FORMATS or not file:
        raise typer.BadParameter(f"{text!r} is no report; write FORMAT=FILE, with one of {', '.join(FORMATS)}.")
    return Path(file), name


def _known_failure(text: str) -> tuple[str, str]:
    id, equals, reason = text.partition("=")
    if not (equals and reason.strip()):
        raise typer.BadParameter(f"{text!r} has no reason; write the clause, = and why: 'events-replay=our issue 12'.")
    return id.strip(), reason.strip()


@app.command("replay-history")
def replay_history(
    target: Target,
    history: Annotated[
        str,
        typer.Argument(help="The calls, as a report shows them: 'manager 2; store a b; done a b; load a; store c'."),
    ],
    order: Order = None,
    capability: Capabilities = None,
    argument: Arguments = None,
    store_threshold: StoreThreshold = None,
    max_tracker_size: MaxTrackerSize = 3,
    pytest: Annotated[
        Path | None,
        typer.Option(help="Write the history to this file as a test of pytest, which judges it again; - prints it."),
    ] = None,
) -> None:
    """Make the calls of one history, and judge each.

    Exit code 0: no clause is broken; 1: one is; 2: it could not be run.
    """
    from kvoffload.contract.command import run_replay_history

    arguments = _arguments(argument, store_threshold, max_tracker_size)
    raise typer.Exit(run_replay_history(target, history, order, capability or [], arguments, pytest))


@app.command()
def clauses(
    page: Annotated[
        bool, typer.Option("--page", help="Print a page in Markdown: every capability, and every clause explained.")
    ] = False,
) -> None:
    """List every clause of the contract."""
    from kvoffload.contract.clauses.page import contract_page, list_clauses

    typer.echo(contract_page() if page else list_clauses(), nl=not page)


@app.command()
def explain(clause: Annotated[str, typer.Argument(help="The id of a clause, as a report shows it.")]) -> None:
    """Say what a clause is for, where it was broken in public, and what breaks it."""
    from kvoffload.contract.clauses.page import explain as explanation

    try:
        typer.echo(explanation(clause))
    except ValueError as error:
        typer.echo(f"kvoffload explain: {error}", err=True)
        raise typer.Exit(2) from error


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
        list[str], typer.Option(help="Eviction policy, by name or as MODULE:CLASS; give it several times to compare.")
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
