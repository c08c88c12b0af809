"""Hypothesis profiles, chosen with ``--hypothesis-profile``; every machine is handed the chosen one explicitly."""

from hypothesis import settings

settings.register_profile(
    "quick", max_examples=300, stateful_step_count=40, deadline=None, derandomize=True, database=None
)
settings.register_profile(
    "ci", max_examples=1000, stateful_step_count=50, deadline=None, derandomize=True, database=None
)
settings.register_profile("nightly", max_examples=20_000, stateful_step_count=100, deadline=None, derandomize=False)
settings.load_profile("quick")
