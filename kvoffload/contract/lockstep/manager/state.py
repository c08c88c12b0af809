"""Where the model stands, and where what a manager shows differs from it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from kvoffload.contract.calls.text import counted, listed
from kvoffload.contract.lockstep.difference import Difference
from kvoffload.contract.lockstep.manager.shown import Shown
from kvoffload.contract.lockstep.orders import Order
from kvoffload.contract.targets.view import COUNTERS
from kvoffload.types import OffloadKey
from kvoffload_spec import tier as spec
from kvoffload_spec.admission import Admission
from kvoffload_spec.transfer import Transfers


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

    def differences(self, shown: Shown, keys: Iterable[OffloadKey], whole: bool) -> Iterator[Difference]:
        """What the manager shows of these keys and of its counts, where the model says something else.

        Args:
            shown: what the manager shows.
            keys: the keys to compare.
            whole: whether to compare what costs a pass over all resident keys as well.
        """
        tells_pending = self.tells_pending or shown.has_policy
        for key in keys:
            yield from self._of_key(shown, key, tells_pending)
        counts, num_free, num_idle = shown.counts(), spec.free(self.tier), len(self.tier.idle)
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
        evictable = shown.evictable() if whole else None
        if evictable is not None and sorted(evictable) != sorted(self.tier.idle):
            idle, why = listed(sorted(self.tier.idle)), self._why_listed(evictable)
            yield Difference("list", f"evictable {idle}", f"evictable {listed(evictable)}", why)
        expected = self._stats()
        for name, count in shown.stats().items():
            if count != expected[name]:
                actual, why = f"no {name}" if count is None else f"{name} {count}", "counted from the calls above"
                yield Difference("stats", f"{name} {expected[name]}", actual, why, came=name)

    @property
    def clause_of_admission(self) -> str:
        """What wrong admission breaks: after a key was forgotten since the last reset, it is about the tracker."""
        return "admission-bounded" if self.has_forgotten else "admission-counts"

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
        counters["lookups"] = sum(self.totals[name] for name in ("hits", "pending_hits", "misses"))
        return {**counters, **gauges}

    def _of_key(self, shown: Shown, key: OffloadKey, tells_pending: bool) -> Iterator[Difference]:
        expected, (actual, ref_cnt, slot, is_ready) = spec.lookup(self.tier, key), shown.key(key)
        if actual != (expected if tells_pending else self.told(expected)):
            is_so, was = f"{key!r} is {expected}", f"{key!r} is {actual}"
            yield Difference("residency", is_so, was, self.why(key), key, actual)
            return
        if is_ready is not None and is_ready != (expected == "HIT"):
            is_so, was = f"is_ready of {key!r} is {not is_ready}", f"is_ready of {key!r} is {is_ready}"
            yield Difference("ready", is_so, was, self.why(key), key)
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
