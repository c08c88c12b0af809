"""What ``kvoffload check`` does once its options are parsed."""

from __future__ import annotations

from rich.console import Console

from kvoffload.contract.checks import check_manager, check_policy, require_known
from kvoffload.contract.orders import check_order
from kvoffload.contract.resolve import TargetError, resolve
from kvoffload.contract.search import QUICK
from kvoffload.contract.verdict import Verdict


def run_check(
    target: str,
    order: str | None,
    capabilities: list[str],
    admission: tuple[int, int] | None,
    histories: int | None,
    steps: int | None,
    seed: int | None,
) -> int:
    """Check the target and print what was found.

    Args:
        target: ``MODULE:NAME``.
        order: the order that it declares.
        capabilities: what else it declares.
        admission: the ``store_threshold`` and the ``max_tracker_size`` to make a manager with.
        histories: how many histories to try.
        steps: the most steps chosen in each.
        seed: chooses other histories.

    Returns:
        The verdict, which is the exit code.
    """
    out, err = (
        Console(soft_wrap=True, markup=False, highlight=False),
        Console(stderr=True, soft_wrap=True, markup=False),
    )
    try:
        arguments = {} if admission is None else {"store_threshold": admission[0], "max_tracker_size": admission[1]}
        found = resolve(target, order, **arguments)
        check_order(order)
        require_known(capabilities)
    except (TargetError, ValueError) as error:
        err.print(f"kvoffload check: {error}")
        return Verdict.COULD_NOT_BE_CHECKED
    budget = QUICK
    if histories is not None or steps is not None:
        budget = type(QUICK)(
            QUICK,
            max_examples=histories or QUICK.max_examples,
            stateful_step_count=steps or QUICK.stateful_step_count,
        )
    with err.status(f"Checking {target} ..."):  # on a terminal only
        if found.subject == "policy":
            report = check_policy(
                found.make, order=order, capabilities=capabilities, budget=budget, seed=seed, name=target
            )
        else:
            report = check_manager(
                found.make,
                order=order,
                budget=budget,
                seed=seed,
                name=target,
                arguments=found.arguments,
                store_threshold=arguments.get("store_threshold", 0),
                max_tracker_size=arguments.get("max_tracker_size", 1),
            )
    out.print(str(report))
    return report.verdict
