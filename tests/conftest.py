"""Hypothesis profiles, chosen with ``--hypothesis-profile``; every machine is handed the chosen one explicitly."""

from hypothesis import settings

settings.register_profile(
    "quick", max_examples=100, stateful_step_count=40, derandomize=True, database=None, deadline=None
)
settings.register_profile(
    "ci", max_examples=1000, stateful_step_count=50, derandomize=True, database=None, deadline=None
)
settings.register_profile("nightly", max_examples=5000, stateful_step_count=100, derandomize=False, deadline=None)
settings.load_profile("quick")
