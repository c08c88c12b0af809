"""What a replay found out, as data."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field


class CallTimes:
    """How long the calls of one kind took, in nanoseconds.

    Attributes:
        counts: how many calls took each time. A trace makes a hundred million calls, but they take only some thousands
            of different times: this stays exact and small.
    """

    def __init__(self) -> None:
        self.counts: defaultdict[int, int] = defaultdict(int)

    @property
    def num_calls(self) -> int:
        """How many calls were timed."""
        return sum(self.counts.values())

    def percentile(self, percent: float) -> int:
        """The least time that so many of a hundred calls do not exceed, in nanoseconds; 0 if none was timed."""
        needed = self.num_calls * percent / 100
        within = 0
        for elapsed in sorted(self.counts):
            within += self.counts[elapsed]
            if within >= needed:
                return elapsed
        return 0


@dataclass
class ReplayResult:
    """One policy on one workload.

    Attributes:
        policy: its name.
        num_requests: how many requests were served.
        num_accesses: how many blocks they have, each counted in every request that has it.
        num_hits: how many of these blocks were ready, with every block before them.
        num_evicted: how many blocks were evicted.
        num_refused: how many stores were refused, one at most for each request.
        times: how long the calls took, by the name of the call.
        num_verified: how many calls were checked against the specification; ``None`` if none was to be.
    """

    policy: str
    num_requests: int = 0
    num_accesses: int = 0
    num_hits: int = 0
    num_evicted: int = 0
    num_refused: int = 0
    times: dict[str, CallTimes] = field(default_factory=dict)
    num_verified: int | None = None

    @property
    def hit_rate(self) -> float:
        """The share of the block accesses that are prefix hits, 0 to 1."""
        return self.num_hits / self.num_accesses if self.num_accesses else 0.0
