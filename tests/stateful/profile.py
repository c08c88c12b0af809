"""How long and how far to look, as the chosen Hypothesis profile says."""

import random
from typing import TypedDict

from hypothesis import settings


class Effort(TypedDict):
    """What the entries of the contract library take."""

    budget: int
    seed: int


def effort() -> Effort:
    """Three walks for each of the profile's examples."""
    chosen = settings()
    seed = 0 if chosen.derandomize else random.SystemRandom().randrange(1, 1_000_000)
    return {"budget": 3 * chosen.max_examples, "seed": seed}
