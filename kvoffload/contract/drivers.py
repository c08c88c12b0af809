"""One operation carried out on a manager or a policy, and what came back, in plain form.

A driver is as hard on its subject as callers are: every call gets fresh key objects, the lists it passed are emptied
after the call, and so are the lists it was given back.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

from kvoffload.contract import operations as ops
from kvoffload.policies.base import BlockStatus
from kvoffload.types import OffloadKey, ReqContext


class Stored(NamedTuple):
    """What an accepted ``prepare_store`` returned."""

    keys_to_store: tuple[OffloadKey, ...]
    block_ids: tuple[int, ...]
    evicted_keys: tuple[OffloadKey, ...]


@dataclass(frozen=True)
class Outcome:
    """What a call returned, in plain form, or what it raised."""

    value: Any = None
    raised: Exception | None = None

    def same_as(self, other: Outcome) -> bool:
        """Both returned the same, or raised exceptions of one type."""
        return self.value == other.value and type(self.raised) is type(other.raised)


class FaultInPolicyError(Exception):
    """Raised inside a policy's method on purpose, to see what its manager makes of it."""


def fresh(key: OffloadKey) -> OffloadKey:
    """An equal key that is another object, as a scheduler makes one for every request."""
    return OffloadKey(bytes(bytearray(key)))


@contextmanager
def passing(keys: Iterable[OffloadKey], one_shot: bool) -> Iterator[Iterable[OffloadKey]]:
    """The keys as a call is given them: fresh, in a list that its owner empties later, or in an iterator."""
    passed = [fresh(key) for key in keys]
    yield iter(passed) if one_shot else passed
    passed.clear()


class ManagerDriver:
    """Carries operations out on one manager."""

    def __init__(self, manager: Any) -> None:
        self.manager = manager
        self._transfer_ids: dict[int, int] = {}

    def can(self, op: ops.Operation) -> bool:
        """Whether the operation is a call at all: the transfer it completes was prepared, on this manager."""
        transfer = getattr(op, "transfer", None)
        return not isinstance(op, ops.Completion) or transfer is None or transfer in self._transfer_ids

    def perform(self, op: ops.Operation) -> Outcome:
        """Make the call."""
        try:
            with passing(op.named, getattr(op, "one_shot", False)) as passed:
                return Outcome(self._call(op, passed))
        except Exception as raised:
            return Outcome(raised=raised)

    def _call(self, op: ops.Operation, keys: Iterable[OffloadKey]) -> Any:
        manager, context = self.manager, ReqContext(getattr(op, "request", ""))
        match op:
            case ops.Lookup():
                return manager.lookup(*keys, context).name
            case ops.PrepareStore():
                output = manager.prepare_store(keys, context)
                return None if output is None else self._stored(output, op.transfer)
            case ops.CompleteStore():
                return manager.complete_store(keys, context, op.success, **self._id_of(op.transfer))
            case ops.PrepareLoad():
                spec = manager.prepare_load(keys, context)
                self._transfer_ids[op.transfer] = spec.transfer_id
                return _taken(spec.block_ids)
            case ops.CompleteLoad():
                return manager.complete_load(keys, context, **self._id_of(op.transfer))
            case ops.TouchKeys():
                return manager.touch(keys, context)
            case ops.ResetCache():
                return manager.reset_cache()
            case ops.TakeEvents():
                return tuple((event.kind.name, tuple(event.keys)) for event in _taken(manager.take_events()))
        raise TypeError(f"{op} is no call on a manager.")

    def _stored(self, output: Any, transfer: int) -> Stored:
        self._transfer_ids[transfer] = output.transfer_id
        spec = output.store_spec
        return Stored(_taken(output.keys_to_store), _taken(spec.block_ids), _taken(output.evicted_keys))

    def _id_of(self, transfer: int | None) -> dict[str, int]:
        return {} if transfer is None else {"transfer_id": self._transfer_ids[transfer]}


class PolicyDriver:
    """Carries operations out on one policy, as a manager that keeps the protocol would."""

    def __init__(self, policy: Any) -> None:
        self.policy = policy
        self.blocks: dict[OffloadKey, BlockStatus] = {}
        self._num_inserted = 0

    def perform(self, op: ops.Operation) -> Outcome:
        """Make the call."""
        try:
            return Outcome(self._call(op))
        except Exception as raised:
            return Outcome(raised=raised)

    def _call(self, op: ops.Operation) -> Any:
        policy = self.policy
        match op:
            case ops.Get():
                return policy.get(fresh(op.key))
            case ops.Insert():
                block = BlockStatus(self._num_inserted, 0 if op.idle else -1)
                self._num_inserted += 1
                self.blocks[op.key] = block
                if hasattr(policy, "on_store_miss"):
                    policy.on_store_miss([fresh(op.key)], ReqContext(op.request))
                return policy.insert(fresh(op.key), block)
            case ops.FinishStore():
                self.blocks[op.key].ref_cnt = 0  # pending -> idle
                return policy.mark_evictable(fresh(op.key))
            case ops.Pin():
                self.blocks[op.key].ref_cnt += 1
                told = self.blocks[op.key].ref_cnt == 1  # idle -> pinned
                if told:
                    policy.mark_non_evictable(fresh(op.key))
                return told
            case ops.Unpin():
                self.blocks[op.key].ref_cnt -= 1
                told = self.blocks[op.key].ref_cnt == 0  # pinned -> idle
                if told:
                    policy.mark_evictable(fresh(op.key))
                return told
            case ops.Remove():
                del self.blocks[op.key]
                return policy.remove(fresh(op.key))
            case ops.TouchPolicy():
                with passing(op.keys, one_shot=False) as passed:
                    return policy.touch(passed, ReqContext(op.request))
            case ops.Evict():
                victims = policy.evict(op.n, {fresh(key) for key in op.keys})
                if victims is None:
                    return None
                for key, _ in victims:
                    self.blocks.pop(key, None)
                return _taken(victims)
            case ops.Clear():
                self.blocks.clear()
                return policy.clear()
        raise TypeError(f"{op} is no call on a policy.")


def _taken(returned: Iterable[Any]) -> tuple[Any, ...]:
    """What a call returned; a list is the caller's own, and this caller empties it."""
    taken = tuple(returned)
    if isinstance(returned, list):
        returned.clear()
    return taken
