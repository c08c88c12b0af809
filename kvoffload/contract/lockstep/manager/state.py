"""Where the model stands, and where what a manager shows differs from it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields

from kvoffload.contract.calls.operations import Lookup
from kvoffload.contract.calls.text import counted, listed
from kvoffload.contract.lockstep.difference import Difference
from kvoffload.contract.lockstep.orders import Order
from kvoffload.contract.targets.drivers import ManagerDriver
from kvoffload.contract.targets.view import ManagerView
from kvoffload.stats import OffloadingCounters
from kvoffload.types import OffloadKey
from kvoffload_spec import tier as spec
from kvoffload_spec.admission import Admission
from kvoffload_spec.transfer import Transfers

COUNTERS = tuple(counter.name for counter in fields(OffloadingCounters))


def residency(driver: ManagerDriver, view: ManagerView, key: OffloadKey) -> str:
    """What the key is: told by the manager's policy, or by a lookup if it shows none."""
    return str(driver.perform(Lookup(key)).value) if view.policy is None else _is(*view.block(key))


def _is(ref_cnt: int | None, slot: int | None) -> str:
    """What a key is whose block has this count and this id."""
    return "MISS" if slot is None else "HIT_PENDING" if ref_cnt is not None and ref_cnt < 0 else "HIT"


@dataclass
class ManagerState:
    """The specification's view of a manager after the calls so far.

    Attributes:
        tier: which keys are pending, idle and pinned.
        transfers: which transfers are outstanding.
        order: the declared order of the idle keys, or ``None``.
        admission: which requests have offered which keys.
        slots: the block id of each resident key, as the manager told it.
        known: every key that was named so far.
        evicted: every key that was evicted so far.
        announced: what a consumer of the events takes for ready.
        totals: what the statistics have to have counted.
        has_forgotten: whether admission has forgotten a key since the last reset.
        tells_pending: whether a lookup tells a pending key from a missing one.
    """

    tier: spec.Tier[OffloadKey]
    transfers: Transfers[OffloadKey]
    order: Order | None
    admission: Admission[OffloadKey]
    slots: dict[OffloadKey, int]
    known: dict[OffloadKey, None]
    evicted: set[OffloadKey]
    announced: set[OffloadKey]
    totals: Counter[str] = field(default_factory=Counter)
    has_forgotten: bool = False
    tells_pending: bool = True

    @classmethod
    def new(cls, capacity: int, order: Order | None, admission: Admission[OffloadKey]) -> ManagerState:
        """The state of a new manager."""
        return cls(spec.Tier(capacity), Transfers(), order, admission, {}, {}, set(), set())

    def differences(
        self, driver: ManagerDriver, view: ManagerView, keys: Iterable[OffloadKey], whole: bool
    ) -> Iterator[Difference]:
        """What the manager shows of these keys and of its counts, where the model says something else.

        Args:
            driver: looks the keys up.
            view: reads the rest.
            keys: the keys to compare.
            whole: whether to compare what costs a pass over all resident keys as well.
        """
        for key in keys:
            yield from self._of_key(driver, view, key)
        counts, num_free, num_idle = view.counts(), spec.free(self.tier), len(self.tier.idle)
        if counts.get("free", num_free) != num_free:
            why = f"{counted(self.tier.capacity, 'block')}, {len(spec.resident(self.tier))} resident"
            yield Difference("free", f"{num_free} free", f"{counts['free']} free", why)
        shared = [slot for slot, users in Counter(self.slots.values()).items() if users > 1] if whole else []
        if shared:
            together, why = self._at(shared), "each resident key lies in a block of its own"
            actual = f"{listed(together)} share a block"
            yield Difference("ids", "distinct block ids", actual, why)
        if counts.get("counter", num_idle) != num_idle:
            idle = listed(sorted(self.tier.idle)) if whole and num_idle else counted(num_idle, "key")
            why = f"ready and read by no load: {idle}"
            yield Difference("counter", f"counter {num_idle}", f"counter {counts['counter']}", why)
        evictable = view.evictable() if whole else None
        if evictable is not None and sorted(evictable) != sorted(self.tier.idle):
            idle, why = listed(sorted(self.tier.idle)), self._why_listed(evictable)
            yield Difference("list", f"evictable {idle}", f"evictable {listed(evictable)}", why)
        stats, expected = view.stats(), self._stats()
        for name in stats:
            if stats[name] != expected[name]:
                why = "counted from the calls above"
                yield Difference("stats", f"{name} {expected[name]}", f"{name} {stats[name]}", why)

    def told(self, residency: str) -> str:
        """What a lookup tells of a key that is that."""
        return "MISS" if residency == "HIT_PENDING" and not self.tells_pending else residency

    def why(self, key: OffloadKey) -> str:
        """Why the model says of the key what it says."""
        if key in self.tier.pending:
            return f"a store of {key!r} is prepared and not yet completed"
        if key in self.tier.pinned:
            return f"{key!r} is stored, and a load of it is in progress"
        if key in self.tier.idle:
            return f"{key!r} is stored, and was neither evicted nor reset since"
        return f"{key!r} was evicted" if key in self.evicted else f"{key!r} is not stored"

    def _stats(self) -> dict[str, float]:
        """Every counter and gauge, as the history says it."""
        tier, capacity = self.tier, self.tier.capacity or 1
        counters = {name: self.totals[name] for name in COUNTERS}
        gauges = {
            "num_blocks": tier.capacity,
            "pending": len(tier.pending),
            "pinned": len(tier.pinned),
            "idle": len(tier.idle),
            "free": spec.free(tier),
            "used": (len(tier.pending) + len(tier.pinned)) / capacity,
            "used_write": len(tier.pending) / capacity,
            "used_read": len(tier.pinned) / capacity,
        }
        lookups = sum(self.totals[name] for name in ("hits", "pending_hits", "misses"))
        return {**counters, "lookups": lookups, **gauges}

    def _of_key(self, driver: ManagerDriver, view: ManagerView, key: OffloadKey) -> Iterator[Difference]:
        expected, (ref_cnt, slot) = spec.lookup(self.tier, key), view.block(key)
        actual = residency(driver, view, key) if view.policy is None else _is(ref_cnt, slot)
        if actual != (expected if view.policy is not None else self.told(expected)):
            yield Difference("residency", f"{key!r} is {expected}", f"{key!r} is {actual}", self.why(key), key)
            return
        pins = self.tier.pinned.get(key, 0)
        if expected == "HIT" and ref_cnt is not None and ref_cnt != pins:
            is_so, was = f"ref_cnt of {key!r} is {pins}", f"ref_cnt of {key!r} is {ref_cnt}"
            why = f"{counted(pins, 'load') if pins else 'no load'} of {key!r} in progress"
            yield Difference("pins", is_so, was, why, key)
        if expected != "MISS" and slot is not None and slot != self.slots.setdefault(key, slot):
            is_so, was = f"{key!r} in block {self.slots[key]}", f"{key!r} in block {slot}"
            why = f"the store of {key!r} told its block, and {key!r} is still resident"
            yield Difference("slot", is_so, was, why, key)

    def _at(self, slots: Iterable[int]) -> list[OffloadKey]:
        return sorted(key for key, slot in self.slots.items() if slot in slots)

    def _why_listed(self, evictable: Sequence[OffloadKey]) -> str:
        """What is wrong with one of the keys that are, or are not, in the evictable list."""
        wrong = [key for key in evictable if key not in self.tier.idle]
        wrong += [key for key in sorted(self.tier.idle) if key not in evictable]
        return self.why(wrong[0]) if wrong else "each key is in it once"
