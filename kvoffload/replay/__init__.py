"""Block traces through a manager: read or make a workload, drive a policy with it, count the hits, time the calls."""

from kvoffload.replay.results import CallTimes, ReplayResult
from kvoffload.replay.run import BrokenManagerError, replay
from kvoffload.replay.simulate import Simulation
from kvoffload.replay.synthetic import SyntheticConversations
from kvoffload.replay.traces import TraceError, TraceFile
from kvoffload.replay.workload import Workload

__all__ = [
    "BrokenManagerError",
    "CallTimes",
    "ReplayResult",
    "Simulation",
    "SyntheticConversations",
    "TraceError",
    "TraceFile",
    "Workload",
    "replay",
]
