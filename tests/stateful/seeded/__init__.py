"""The seeded bugs: small classes with one bug each, and the clause that has to catch it."""

from tests.stateful.seeded import (  # noqa: F401 - each module adds its bugs to the catalogue
    arguments,
    finished,
    foreign,
    manager_admission,
    manager_completions,
    manager_counts,
    manager_events,
    manager_faults,
    manager_lives,
    manager_loads,
    manager_stats,
    manager_stores,
    misbehaviour,
    policy_arc,
    policy_arc_more,
    policy_growth,
    policy_lists,
    policy_lookups,
    policy_orders,
    policy_victims,
)
from tests.stateful.seeded.bug import BUGS, Hunt, SeededBug, hunt
from tests.stateful.seeded.correct import CORRECT, Unusual

__all__ = ["BUGS", "CORRECT", "Hunt", "SeededBug", "Unusual", "hunt"]
