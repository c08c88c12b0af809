"""What a manager shows, as expressions of Python: the evidence where it is not what the model says."""

from __future__ import annotations

from collections.abc import Collection, Set

from kvoffload.contract.calls.evidence import Evidence, asserting, braced, holds_list, some
from kvoffload.contract.targets.drivers import ManagerDriver
from kvoffload.contract.targets.view import GAUGES, ManagerView, shown_evictable
from kvoffload.types import OffloadKey

POLICY = "manager._policy"


def residency_of(view: ManagerView, key: OffloadKey) -> str:
    """The expression that tells what a key is: from the manager's policy, or from a lookup if it shows none."""
    return f"told(manager.lookup({key!r}))" if view.policy is None else f"status(manager, {key!r})"


def is_residency(view: ManagerView, key: OffloadKey, residency: str) -> Evidence:
    """The key is that."""
    return asserting(f'{residency_of(view, key)} == "{residency}"')


class Shown:
    """The evidence that one thing is as the model says.

    Args:
        driver: has the manager.
        view: knows what it calls its things.
    """

    def __init__(self, driver: ManagerDriver, view: ManagerView) -> None:
        self._manager = driver.manager
        self._view = view

    @property
    def num_free(self) -> str:
        """The expression that tells how many blocks are free."""
        return (
            f"manager.{self._view.free}{'()' if callable(getattr(self._manager, self._view.free or '', None)) else ''}"
        )

    @property
    def num_evictable(self) -> str:
        """The expression that tells the evictable counter."""
        return f"manager.{self._view.counter}"

    def free(self, number: int) -> Evidence:
        """So many blocks are free."""
        return asserting(f"{self.num_free} == {number}")

    def counter(self, number: int) -> Evidence:
        """The evictable counter is that."""
        return asserting(f"{self.num_evictable} == {number}")

    def list(self, idle: Set[OffloadKey]) -> Evidence:
        """The policy's evictable list is that."""
        return holds_list(POLICY, shown_evictable(self._view.policy) is not None, idle)

    def pins(self, key: OffloadKey, number: int) -> Evidence:
        """So many loads hold the key."""
        return asserting(f"{POLICY}.get({key!r}).ref_cnt == {number}")

    def slot(self, key: OffloadKey) -> Evidence:
        """The key lies where its store has told."""
        return asserting(f"slot(manager, {key!r}) == told_slot({key!r})")

    def apart(self, keys: Collection[OffloadKey]) -> Evidence:
        """The keys lie in blocks of their own, as their stores have told."""
        return asserting(f"len({{{', '.join(f'told_slot({key!r})' for key in keys)}}}) == {len(keys)}")

    def statistic(self, name: str, value: float) -> Evidence:
        """The counter or gauge is that."""
        return asserting(f"{statistic(name)} == {value!r}")


def statistic(name: str) -> str:
    """The expression that reads a counter or a gauge."""
    return f"manager.get_stats().{name}" if name in GAUGES else f"manager.get_stats().counters.{name}"


def store_allowed(keys: Collection[OffloadKey], need: int, candidates: Set[OffloadKey], is_refused: bool) -> Evidence:
    """A store is refused, or else stores these keys and evicts as many as it needs, of those that may go."""
    if is_refused:
        return asserting("returned is None")
    evicts = f"len(returned.evicted_keys) == {max(need, 0)}"
    if need <= 0:
        return asserting("returned is not None", evicts)
    return asserting(
        "returned is not None", evicts, f"len(set(returned.evicted_keys) & {braced(candidates)}) == {need}"
    )


def listed_in(what: str, keys: Collection[OffloadKey]) -> Evidence:
    """The call returned these keys, in this order."""
    return asserting(f"list(returned.{what}) == {some(keys)}")
