"""How long and how far to look, as the chosen Hypothesis profile says."""

import random
from typing import TypedDict

from hypothesis import HealthCheck, Phase, settings


class Effort(TypedDict):
    """What the entries of the contract library take."""

    budget: int
    seed: int


def effort() -> Effort:
    """Three walks for each of the profile's examples."""
    chosen = settings()
    seed = 0 if chosen.derandomize else random.SystemRandom().randrange(1, 1_000_000)
    return {"budget": 3 * chosen.max_examples, "seed": seed}


def machine_settings() -> settings:
    """The chosen profile for a state machine, which would otherwise freeze the one of its first use.

    Without ``explain`` shrinking takes 1 to 5 s instead of 20 s. The health checks are on, which a machine suppresses.
    """
    return settings(
        settings(),
        phases=[phase for phase in Phase if phase is not Phase.explain],
        suppress_health_check=[HealthCheck.too_slow],
        report_multiple_bugs=False,
        deadline=None,
    )
