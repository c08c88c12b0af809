"""One operation carried out on a manager or a policy, and what came back, in plain form.

A driver is as hard on its subject as callers are: every call gets fresh key objects, the lists it passed are emptied
after the call, and so are the lists it was given back.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from kvoffload.contract.calls import operations as ops
from kvoffload.contract.calls.outcome import ExitsError, HangsError, Outcome, Stored, WrongTypeError
from kvoffload.contract.targets.adapters import as_manager, as_policy
from kvoffload.contract.targets.requests import Requests
from kvoffload.contract.targets.time_limit import SECONDS, CallHangsError, watched
from kvoffload.policies.base import BlockStatus
from kvoffload.types import OffloadKey


class FaultInPolicyError(Exception):
    """Raised inside a policy's method on purpose, to see what its manager makes of it."""


def fresh(key: OffloadKey) -> OffloadKey:
    """An equal key that is another object, as a scheduler makes one for every request."""
    return OffloadKey(bytes(bytearray(key)))


class _Given:
    """The keys of a call as its caller passes them, who looks afterwards whether they are still the same."""

    def __init__(self, keys: Iterable[OffloadKey], one_shot: bool = False, as_set: bool = False) -> None:
        self._keys = tuple(keys)
        fresh_keys = map(fresh, self._keys)
        self.passed: Any = set(fresh_keys) if as_set else iter(list(fresh_keys)) if one_shot else list(fresh_keys)

    @property
    def changed(self) -> str:
        """What they have become, if they are not as they were."""
        if isinstance(self.passed, set):
            return "" if self.passed == set(self._keys) else f"the set of protected keys is now {_shown(self.passed)}"
        if isinstance(self.passed, list) and self.passed != list(self._keys):
            return f"the caller's list is now {_shown(self.passed)}"
        return ""


def _shown(keys: Iterable[object]) -> str:
    return f"[{', '.join(map(repr, keys))}]"


class Driver(ABC):
    """Carries operations out on one subject.

    Attributes:
        requests: the requests that calls were made for.
    """

    def __init__(self) -> None:
        self.requests = Requests()
        self._given: list[_Given] = []

    def perform(self, op: ops.Operation) -> Outcome:
        """Make the call."""
        self._given.clear()
        try:
            value = watched(lambda: self._call(op))
        except CallHangsError:
            return Outcome(raised=HangsError(SECONDS))
        except SystemExit as exit:
            return Outcome(raised=ExitsError(exit.code))
        except Exception as raised:
            return Outcome(raised=raised, changed=self._what_changed())
        return Outcome(value, changed=self._what_changed())

    @contextmanager
    def _passing(self, given: _Given) -> Iterator[Any]:
        self._given.append(given)
        yield given.passed

    def _what_changed(self) -> str:
        changed = next((given.changed for given in self._given if given.changed), "")
        for given in self._given:
            if isinstance(given.passed, list | set):
                given.passed.clear()
        return changed

    @abstractmethod
    def _call(self, op: ops.Operation) -> Any:
        """Make the call; the result in plain form."""


class ManagerDriver(Driver):
    """Carries operations out on one manager."""

    def __init__(self, manager: Any) -> None:
        super().__init__()
        self.calls = as_manager(manager)
        self.manager = self.calls.manager
        self._transfer_ids: dict[int, int] = {}

    def can(self, op: ops.Operation) -> bool:
        """Whether the operation is a call at all: the transfer it completes was prepared, on this manager."""
        transfer = op.transfer
        return not isinstance(op, ops.Completion) or transfer is None or transfer in self._transfer_ids

    def _call(self, op: ops.Operation) -> Any:
        calls, request = self.calls, self.requests[op.request]
        with self._passing(_Given(op.named, op.one_shot)) as keys:
            match op:
                case ops.Lookup():
                    return calls.lookup(fresh(op.key), request).name
                case ops.PrepareStore():
                    output = calls.prepare_store(keys, request)
                    if output is None:
                        return None
                    self._transfer_ids[op.transfer] = output.transfer_id
                    block_ids = tuple(output.store_spec.block_ids)
                    return Stored(tuple(output.keys_to_store), block_ids, tuple(output.evicted_keys))
                case ops.CompleteStore():
                    return calls.complete_store(keys, request, op.success, transfer_id=self._id_of(op.transfer))
                case ops.PrepareLoad():
                    spec = calls.prepare_load(keys, request)
                    self._transfer_ids[op.transfer] = spec.transfer_id
                    return tuple(spec.block_ids)
                case ops.CompleteLoad():
                    return calls.complete_load(keys, request, transfer_id=self._id_of(op.transfer))
                case ops.ResetCache():
                    return calls.reset_cache()
                case ops.TakeEvents():
                    return tuple((event.kind.name, event.keys) for event in calls.take_events())
                case ops.FinishRequest():
                    calls.on_request_finished(request)
                    return self.requests.finish(op.request)
                case ops.ManyKeys() if "manager" in op.on:  # whose answer, if it has one, is in plain form already
                    return getattr(calls, op.method)(keys, request)
        raise TypeError(f"{op} is no call on a manager.")

    def _id_of(self, transfer: int | None) -> int | None:
        return None if transfer is None else self._transfer_ids[transfer]


class PolicyDriver(Driver):
    """Carries operations out on one policy, as a manager that keeps the protocol would."""

    def __init__(self, policy: Any) -> None:
        super().__init__()
        self.calls = as_policy(policy)
        self.policy = self.calls.policy
        self.blocks: dict[OffloadKey, BlockStatus] = {}
        self._is: dict[OffloadKey, tuple[int, int]] = {}  # the block id and ref_cnt that each resident block has
        self._num_inserted = 0
        self._seen: dict[str, dict[OffloadKey, bool]] = {}  # of each running request, its keys; whether it inserted it

    def _call(self, op: ops.Operation) -> Any:
        calls, request = self.calls, self.requests[op.request]
        match op:
            case ops.Get():
                return calls.get(fresh(op.key))
            case ops.Insert():
                block = Block(self._num_inserted, 0 if op.idle else -1)
                self._num_inserted += 1
                self._set(op.key, block, block.ref_cnt)
                self._seen.setdefault(op.request, {}).setdefault(op.key, True)
                for announce in (calls.on_store_miss, calls.on_request_access):
                    with self._passing(_Given(op.named)) as keys:
                        announce(keys, request)
                return calls.insert(fresh(op.key), block, request)
            case ops.FinishStore():
                self._set(op.key, self.blocks[op.key], 0)  # pending -> idle
                return calls.mark_evictable(fresh(op.key))
            case ops.Pin():
                ref_cnt = self._set(op.key, self.blocks[op.key], self._is[op.key][1] + 1)
                if ref_cnt == 1:  # idle -> pinned
                    calls.mark_non_evictable(fresh(op.key))
                return ref_cnt == 1
            case ops.Unpin():
                ref_cnt = self._set(op.key, self.blocks[op.key], self._is[op.key][1] - 1)
                if ref_cnt == 0:  # pinned -> idle
                    calls.mark_evictable(fresh(op.key))
                return ref_cnt == 0
            case ops.Remove():
                self._forget(op.key)
                return calls.remove(fresh(op.key))
            case ops.TouchPolicy():
                seen = self._seen.setdefault(op.request, {})
                for key in op.keys:
                    seen.setdefault(key, False)
                with self._passing(_Given(op.keys)) as keys:
                    return calls.touch(keys, request)
            case ops.Evict():
                with self._passing(_Given(op.keys, as_set=True)) as protected:
                    victims = calls.evict(op.n, protected)
                return None if victims is None else self._evicted(victims)
            case ops.Clear():
                self.blocks.clear()
                self._is.clear()
                self._seen.clear()  # no policy is told of the end of what it has forgotten
                return calls.clear()
            case ops.FinishRequest():
                seen = self._seen.pop(op.request, {})
                inserted = {key for key, by_insert in seen.items() if by_insert}
                if seen:
                    calls.on_request_finished([tuple(seen)], inserted, set(seen) - inserted, request)
                return self.requests.finish(op.request)
        raise TypeError(f"{op} is no call on a policy.")

    def get_all(self, keys: Iterable[OffloadKey]) -> list[tuple[OffloadKey, Outcome]]:
        """What ``get`` says of each key: many gets for the price of one watched call."""
        answers: list[tuple[OffloadKey, Outcome]] = []
        get, keys = self.calls.get, list(keys)

        def get_each() -> None:
            for key in keys:
                try:
                    answers.append((key, Outcome(get(fresh(key)))))
                except Exception as raised:
                    answers.append((key, Outcome(raised=raised)))

        try:
            watched(get_each)
        except CallHangsError:
            answers.append((keys[len(answers)], Outcome(raised=HangsError(SECONDS))))
        except SystemExit as exit:
            answers.append((keys[len(answers)], Outcome(raised=ExitsError(exit.code))))
        return answers

    def _set(self, key: OffloadKey, block: BlockStatus, ref_cnt: int) -> int:
        block.ref_cnt = ref_cnt
        self.blocks[key] = block
        self._is[key] = block.block_id, ref_cnt
        return ref_cnt

    def _forget(self, key: OffloadKey) -> None:
        self.blocks.pop(key, None)
        self._is.pop(key, None)

    def _evicted(self, victims: Any) -> tuple[tuple[OffloadKey, BlockStatus], ...]:
        if not isinstance(victims, list | tuple) or not all(isinstance(it, tuple) and len(it) == 2 for it in victims):
            raise WrongTypeError(repr(victims), "None or a list of (key, block) pairs")
        pairs = tuple(victims)
        if isinstance(victims, list):
            victims.clear()
        for key, _ in pairs:
            self._forget(key)
        return pairs

    def _what_changed(self) -> str:
        for key, (block_id, ref_cnt) in self._is.items():
            block = self.blocks[key]
            if block.ref_cnt != ref_cnt or block.block_id != block_id:
                changed = f"the block of {key!r} has ref_cnt {block.ref_cnt} and block_id {block.block_id}"
                block.ref_cnt, block.block_id = ref_cnt, block_id  # so that what is known need not end a history
                return changed
        return super()._what_changed()


class Block(BlockStatus):
    """A block under both of its names: vLLM has called it a chunk since 0.30."""

    __slots__ = ()

    @property
    def chunk_id(self) -> int:
        """The block's slot."""
        return self.block_id

    def __repr__(self) -> str:
        return f"BlockStatus(block_id={self.block_id}, ref_cnt={self.ref_cnt})"
