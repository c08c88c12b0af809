"""Hypothesis state machines, made from choosers: a rule for each choice, and one for many choices at once.

They choose nothing by themselves and judge nothing: what is likely is the chooser's, what is right the lockstep's.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, cast

from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis import strategies as st
from hypothesis.internal.conjecture.providers import HypothesisProvider
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from kvoffload.contract.choices import Chooser, Pools
from kvoffload.contract.lockstep import Lockstep
from kvoffload.contract.walk import STRETCH


def run_machine(
    chooser: type[Chooser], start: Callable[[int], Lockstep], num_histories: int, num_steps: int, number: int = 0
) -> None:
    """Have Hypothesis choose so many histories; the same number gives the same ones.

    Args:
        chooser: what can be chosen.
        start: makes a subject of a capacity, in lockstep with the specification.
        num_histories: how many.
        num_steps: the most steps that a history has.
        number: a seed.

    Raises:
        ContractViolation: if a history breaks a clause.
        HypothesisException: if it breaks none when Hypothesis runs it again, for one.
    """
    # A state machine freezes its settings at first use, so all are passed.
    chosen = settings(
        max_examples=num_histories,
        stateful_step_count=num_steps,
        deadline=None,
        database=None,
        # Shrinking and explaining are ours to do: on the recorded history, in milliseconds.
        phases=(Phase.explicit, Phase.generate),
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
        report_multiple_bugs=False,
        print_blob=False,
        derandomize=not number,
    )
    made = machine(chooser, start)
    with _no_constants():
        run_state_machine_as_test(seed(number)(made) if number else made, settings=chosen)


@contextmanager
def _no_constants() -> Iterator[None]:
    """Let Hypothesis draw no number that it has read in the modules imported so far: one seed gives one report."""
    draw = getattr(HypothesisProvider, "_maybe_draw_constant", None)
    if draw is None:
        yield
        return
    HypothesisProvider._maybe_draw_constant = lambda *_, **__: None  # type: ignore[method-assign]
    try:
        yield
    finally:
        HypothesisProvider._maybe_draw_constant = draw  # type: ignore[method-assign]


def machine(chooser: type[Chooser], start: Callable[[int], Lockstep]) -> type[RuleBasedStateMachine]:
    """A machine whose histories are chosen by Hypothesis from what this chooser can choose.

    Args:
        chooser: what can be chosen.
        start: makes a subject of a capacity, in lockstep with the specification.
    """

    def begin(self: Any, **arguments: Any) -> None:
        self.chooser = chooser(start, **arguments)

    rules = {
        "begin": cast(Any, initialize)(**_strategies(chooser.beginning))(begin),
        **{method.__name__: _rule(method, pools) for method, pools in chooser.choices},
    }
    return type("Machine", (_Machine,), rules)


class _Machine(RuleBasedStateMachine):
    chooser: Chooser | None = None

    @rule(number=st.integers(0, 2**32 - 1))
    def walk(self, number: int) -> None:
        """Many choices by the dice: what Hypothesis draws one by one takes longer than the calls that are chosen."""
        if self.chooser is not None:  # Hypothesis has every machine begin first; the type does not say so
            self.chooser.choose(random.Random(number), STRETCH)

    def teardown(self) -> None:
        """The history ends as its chooser ends it, if it has begun."""
        if self.chooser is not None:
            self.chooser.finish()


def _strategies(pools: Pools) -> dict[str, st.SearchStrategy[Any]]:
    return {name: st.sampled_from(pool) for name, pool in pools.items()}


def _rule(method: Callable[..., None], pools: Pools) -> Any:
    def choose(self: Any, **arguments: Any) -> None:
        method(self.chooser, **arguments)

    choose.__name__ = method.__name__
    return cast(Any, rule)(**_strategies(pools))(choose)
