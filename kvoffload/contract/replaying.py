"""What ``kvoffload replay-history`` does once its options are parsed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from kvoffload.contract.command import plain
from kvoffload.contract.history import read_history
from kvoffload.contract.lockstep import Watch
from kvoffload.contract.minimise import replay
from kvoffload.contract.orders import check_order
from kvoffload.contract.report import describe_run
from kvoffload.contract.resolve import resolve
from kvoffload.contract.target import TargetError
from kvoffload.contract.time_limit import time_limit
from kvoffload.contract.verdict import Verdict


def run_replay_history(
    text: str,
    history: str,
    order: str | None,
    capabilities: Sequence[str],
    arguments: Mapping[str, object],
    pytest: Path | None,
) -> int:
    """Make the calls of one history on the target, and print what came of it.

    Args:
        text: the target: ``MODULE:NAME`` or vLLM's configuration.
        history: the calls.
        order: the order that it declares.
        capabilities: what else it declares.
        arguments: what else to make it with.
        pytest: a file to write the history to as a test.

    Returns:
        0 if no clause is broken, 1 if one is, 2 if it could not be run.
    """
    try:
        check_order(order)
        subject, capacity, operations = read_history(history)
        target = resolve(text, order, capabilities, **arguments)
        if target.subject != subject:
            raise TargetError(f"{text} is a {target.subject}; the history is one of a {subject}.")
    except (TargetError, ValueError) as error:
        plain(stderr=True).print(f"kvoffload replay-history: {error}")
        return Verdict.COULD_NOT_BE_CHECKED
    with time_limit():
        lockstep = target.lockstep(capacity, Watch())
        violation = replay(lockstep, operations)
    if violation is not None:
        target.sign(violation)
        plain().print(str(violation))
        return Verdict.BROKEN
    plain().print(describe_run(lockstep, target.name, target.arguments))
    return Verdict.KEPT
