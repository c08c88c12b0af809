"""How long and how far to look, as the chosen Hypothesis profile says."""

import random
from typing import TypedDict

from hypothesis import settings


class Effort(TypedDict):
    """What the entries of the contract library take."""

    budget: int
    steps: int
    seed: int


def effort() -> Effort:
    """A quarter of the histories are Hypothesis' own, as many as the profile's examples; the rest are walks."""
    chosen = settings()
    seed = 0 if chosen.derandomize else random.SystemRandom().randrange(1, 1_000_000)
    return {"budget": 4 * chosen.max_examples, "steps": chosen.stateful_step_count, "seed": seed}
