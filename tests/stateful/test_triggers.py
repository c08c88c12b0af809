"""The rarest seeded bugs, each by the shortest history that shows it."""

import pytest

from kvoffload.contract.lockstep.base import Watch
from kvoffload.contract.lockstep.start import start
from kvoffload.contract.search.minimise import replay
from tests.stateful.seeded import BUGS
from tests.stateful.seeded.triggers import TRIGGERS

BUGS_BY_NAME = {bug.name: bug for bug in BUGS}


@pytest.mark.parametrize("name", TRIGGERS)
def test_trigger_breaks_the_clause_that_names_the_bug(name: str) -> None:
    bug, (capacity, history) = BUGS_BY_NAME[name], TRIGGERS[name]
    violation = replay(start(bug.target, capacity, Watch()), history)
    assert violation is not None and violation.clause.id == bug.clause
