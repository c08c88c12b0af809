"""What a seeded bug is, how one is added to the catalogue, and how one is hunted."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Set
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, TypeVar

from kvoffload import BlockStatus, CachePolicy, CPUOffloadingManager, LRUCachePolicy, OffloadKey
from kvoffload.admission import AdmissionTracker
from kvoffload.contract import check_policy
from kvoffload.contract.clauses import Subject
from kvoffload.contract.search.search import BUDGET, HASTY, search
from kvoffload.contract.targets.target import EVERY_KEY, Target
from kvoffload.contract.targets.time_limit import time_limit
from kvoffload_spec.admission import Admission

PROBED = ("memory-bounded", "evict-scales")
"""The clauses that a probe judges, and no history."""

BUDGET_BESIDES = 30
"""The histories among which a bug must break no other clause, for each seed."""

BUDGET_BESIDES_HANGING = 6
"""The same for a bug that hangs, where each history takes as long as a call may take."""

T = TypeVar("T", bound=type)


@dataclass(frozen=True)
class SeededBug:
    """One bug put in on purpose.

    Attributes:
        name: what goes wrong, as the name of the class that does it.
        clause: the clause that names it, and the only one that it breaks.
        subject: whether it shows in a policy or in a manager.
        make: makes the buggy thing for a capacity.
        source: where such a bug was seen.
        order: the order that it declares all the same, or ``None``.
        admission: the model of its admission.
        hangs: whether a call does not come back, so that a hunt waits for the time limit.
        also: other clauses that it breaks, where nobody can tell which is broken; where it is seeded, it says why.
    """

    name: str
    clause: str
    subject: Subject
    make: Callable[[int], Any]
    source: str
    order: str | None = "lru"
    admission: Admission[OffloadKey] = EVERY_KEY
    hangs: bool = False
    also: tuple[str, ...] = ()

    @property
    def clauses(self) -> frozenset[str]:
        """All that it breaks."""
        return frozenset((self.clause, *self.also))

    @property
    def target(self) -> Target:
        """What to search."""
        return Target(self.subject, self.make, self.order, admission=self.admission)


BUGS: list[SeededBug] = []


def seeded(
    clause: str, source: str, order: str | None = "lru", hangs: bool = False, also: tuple[str, ...] = ()
) -> Callable[[T], T]:
    """Put the class into the catalogue."""

    def add(cls: T) -> T:
        is_policy = issubclass(cls, CachePolicy)
        make = cls if is_policy else partial(cls, enable_events=True)
        subject: Subject = "policy" if is_policy else "manager"
        BUGS.append(SeededBug(cls.__name__, clause, subject, make, source, order, hangs=hangs, also=also))
        return cls

    return add


def seeded_in_manager(
    clause: str, source: str, order: str | None = "lru", also: tuple[str, ...] = ()
) -> Callable[[T], T]:
    """Put our manager with this policy in it into the catalogue."""

    def add(cls: T) -> T:
        make = partial(CPUOffloadingManager, cache_policy=cls, enable_events=True)
        BUGS.append(SeededBug(f"{cls.__name__}InManager", clause, "manager", make, source, order, also=also))
        return cls

    return add


def seeded_foreign(
    subject: Subject, clause: str, source: str, make: Callable[[Any], Any] | None = None
) -> Callable[[T], T]:
    """Put a class of another family's shape into the catalogue; it declares no order.

    Args:
        subject: whether it is a policy or a manager.
        clause: the clause that the bug breaks.
        source: where such a bug was seen.
        make: makes what a check takes out of the class, if it is not called with a capacity.
    """

    def add(cls: T) -> T:
        BUGS.append(SeededBug(cls.__name__, clause, subject, make(cls) if make else cls, source, None))
        return cls

    return add


def seeded_admission(
    clause: str, source: str, size: int, also: tuple[str, ...] = ()
) -> Callable[[type[AdmissionTracker]], type[AdmissionTracker]]:
    """Put our manager with this admission tracker, of so many keys, in it into the catalogue."""
    threshold = 2

    def add(cls: type[AdmissionTracker]) -> type[AdmissionTracker]:
        def make(num_blocks: int) -> CPUOffloadingManager:
            manager = CPUOffloadingManager(num_blocks, enable_events=True)
            manager._admission = cls(threshold, size)
            return manager

        admission = Admission[OffloadKey](threshold, size)
        BUGS.append(SeededBug(cls.__name__, clause, "manager", make, source, admission=admission, also=also))
        return cls

    return add


class Hunt(NamedTuple):
    """How a hunt went: the clause that was seen broken first, after how many histories, in how many seconds."""

    clause: str | None
    examples: int
    seconds: float


def hunt(bug: SeededBug, budget: int = BUDGET, number: int = 0) -> Hunt:
    """Look for the bug without knowing it."""
    began = time.perf_counter()
    if bug.clause in PROBED:
        # A probe comes after the search, and looks at one history of its own.
        report = check_policy(bug.make, order=bug.order, capabilities=("scales",), budget=40, seed=number)
        return Hunt(next(iter(report.broken), None), 1, time.perf_counter() - began)
    with _patience(bug):
        found = search(bug.target, budget=budget, number=number)
    broken = None if found.violation is None else found.violation.clause.id
    return Hunt(broken, found.examples, time.perf_counter() - began)


def breaks_besides(bug: SeededBug, number: int = 0) -> str | None:
    """Another clause that the bug breaks, if a look at fewer histories than a hunt has shows one."""
    if bug.clause in PROBED:
        # Its own clause is broken in no history, so that none ends early.
        found = search(bug.target, budget=BUDGET_BESIDES, number=number)
    else:
        budget = BUDGET_BESIDES_HANGING if bug.hangs else BUDGET_BESIDES
        with _patience(bug):
            found = search(bug.target, bug.clauses, budget, number)
    return None if found.violation is None else found.violation.clause.id


def _patience(bug: SeededBug) -> AbstractContextManager[None]:
    """A call that hangs is not waited for as long as a user's: of two clocks, the one that runs already counts."""
    return time_limit(HASTY) if bug.hangs else nullcontext()


class ChoosingPolicy(LRUCachePolicy):
    """A policy that differs from LRU in whom it chooses; whom it has chosen is removed as it should be."""

    def candidates(self, n: int, protected: Set[OffloadKey]) -> Iterator[OffloadKey]:
        """The keys that may go, the next first."""
        return (key for key in self.evictable_blocks if key not in protected)

    def evict(self, n: int, protected: Set[OffloadKey]) -> list[tuple[OffloadKey, BlockStatus]] | None:
        victims = [key for key, _ in zip(self.candidates(n, protected), range(n), strict=False)]
        if len(victims) < n:
            return None
        pairs = [(key, self.blocks[key]) for key in victims]
        for key in dict.fromkeys(victims):
            self.remove(key)
        return pairs


class SeamedManager(CPUOffloadingManager):
    """Our manager, with what several of its buggy subclasses ask for."""

    def ref_cnt(self, key: OffloadKey) -> int:
        """The block's ``ref_cnt``; -2 if there is none."""
        block = self._policy.get(key)
        return -2 if block is None else block.ref_cnt

    def new_keys(self, keys: Iterable[OffloadKey]) -> list[OffloadKey]:
        """The distinct keys that are not resident, in the order given."""
        return [key for key in dict.fromkeys(keys) if self.ref_cnt(key) == -2]

    def lacking(self, keys: Iterable[OffloadKey]) -> int:
        """How many blocks a store of these keys has to evict; below 0 if some stay free."""
        return len(self.new_keys(keys)) - self.num_free_blocks

    def refuse(self, keys: Iterable[OffloadKey]) -> None:
        """Count a store that is refused."""
        self._counters.blocks_offered += len(self.new_keys(keys))
        self._counters.stores_refused += 1

    def is_stale(self, transfer_id: int | None) -> bool:
        """Whether the named transfer is not outstanding."""
        return transfer_id is not None and not self._transfers.is_outstanding(transfer_id)
