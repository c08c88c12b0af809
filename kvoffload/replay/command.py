"""What ``kvoffload replay`` does once its options are parsed."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from kvoffload.policies.factory import CachePolicyFactory, make_cache_policy
from kvoffload.replay.belady import replay_min
from kvoffload.replay.progress import progress_bar
from kvoffload.replay.report import print_line, print_report
from kvoffload.replay.results import ReplayResult
from kvoffload.replay.run import BrokenManagerError, maker_of, replay
from kvoffload.replay.synthetic import SyntheticConversations
from kvoffload.replay.traces import TraceError, TraceFile
from kvoffload.replay.workload import DEFAULT_NUM_REQUESTS, Workload


class UsageError(Exception):
    """The options do not go together; the text says which, and what to do."""


def choose_workload(trace: Path | None, synthetic: bool, seed: int | None, num_requests: int | None) -> Workload:
    """The workload that the options ask for.

    Raises:
        UsageError: if they ask for none or for two.
    """
    if trace is not None and synthetic:
        raise UsageError(f"Both the trace {trace} and --synthetic are given; a replay has one workload. Leave one out.")
    if trace is None and not synthetic:
        raise UsageError(
            "Neither a trace nor --synthetic is given; a replay needs a workload. Name a trace file, or "
            "pass --synthetic for a made-up one."
        )
    if trace is None:
        return SyntheticConversations(num_requests or DEFAULT_NUM_REQUESTS, seed or 0)
    if seed is not None:
        raise UsageError(
            "--seed is given with a trace; it chooses among the workloads that --synthetic makes. Leave it out."
        )
    return TraceFile(trace, num_requests)


def choose_policies(names: Sequence[str]) -> list[str]:
    """The named policies, each once, in the order given.

    Args:
        names: known names, or ``MODULE:CLASS`` of policies that lie elsewhere.

    Raises:
        UsageError: if no policy has one of the names.
    """
    if "" not in sys.path:
        sys.path.insert(0, "")  # a console script does not look in the folder that it is run from
    for name in names:
        if ":" not in name and name not in CachePolicyFactory.names():
            known = ", ".join(CachePolicyFactory.names())
            raise UsageError(f"--policy is {name!r}; known are {known}. Name one of them, or MODULE:CLASS of your own.")
        try:
            make_cache_policy(maker_of(name), 2)
        except Exception as error:
            raise UsageError(f"--policy is {name!r}, which cannot be made for 2 blocks: {error}") from error
    return list(dict.fromkeys(names))


def run_replay(
    workload: Workload, policies: Sequence[str], num_blocks: int, latency: int, verify: bool, with_min: bool
) -> int:
    """Replay the workload once for every policy, and once with knowledge of the future if asked, and print the report.

    Policies take turns at the whole workload instead of sharing one pass, for the first to see a key would pay for its
    hash and the others would not.

    Returns:
        0 if all went well, 1 if a manager is broken, 2 if the trace cannot be read.
    """
    out = Console()
    results: list[ReplayResult] = []
    broken = None
    try:
        for policy in policies:
            with progress_bar(f"replay {policy}", workload) as update:
                results.append(replay(workload, policy, num_blocks, latency, verify, update))
        if with_min:
            with progress_bar("look ahead for MIN", workload) as update:
                results.append(replay_min(workload, num_blocks, update))
    except TraceError as error:
        print_error(str(error))
        return 2
    except BrokenManagerError as error:
        broken = error
    if results:
        print_report(out, str(workload), results, num_blocks, latency, as_tables=sys.stdout.isatty())
    if broken is not None:
        print_line(out, str(broken))
        return 1
    return 0


def print_error(sentence: str) -> None:
    """Say on standard error why nothing was replayed."""
    print_line(Console(stderr=True), f"kvoffload replay: {sentence}")
