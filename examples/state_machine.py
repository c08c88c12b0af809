"""State machines of your own: one for a manager, and one with a rule more and a rule less.

$ python -m pytest -q state_machine.py
..                                                                       [100%]
2 passed in 3.00s
"""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import precondition, rule

from kvoffload import NO_REQUEST, CPUOffloadingManager, LRUCachePolicy, OffloadKey, ReqContext
from kvoffload.contract.stateful import ManagerStateMachine


class PatientPolicy(LRUCachePolicy):
    """Evicts what has been idle for longest, touched or not."""

    def touch(self, keys: Sequence[OffloadKey], req_context: ReqContext = NO_REQUEST) -> None:
        """Nothing moves."""


class PatientManager(ManagerStateMachine):
    """Our manager with that policy in it."""

    make = staticmethod(lambda num_blocks: CPUOffloadingManager(num_blocks, PatientPolicy, enable_events=True))


class QuietManager(ManagerStateMachine):
    """It tells no events, and is reset between transfers as well."""

    make = staticmethod(lambda num_blocks: CPUOffloadingManager(num_blocks, PatientPolicy))
    take_events = None  # type: ignore[assignment]

    @precondition(lambda self: not self.tier.pinned and not self.tier.pending)
    @rule()
    def reset_when_nothing_is_in_flight(self) -> None:
        """No transfer is late afterwards."""
        self.reset_cache()


TestPatientManager = PatientManager.TestCase
TestPatientManager.settings = settings(
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    phases=[phase for phase in Phase if phase is not Phase.explain],  # it takes most of the time of a failure
)
TestQuietManager = QuietManager.TestCase
TestQuietManager.settings = TestPatientManager.settings
