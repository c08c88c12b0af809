"""A state machine for eviction policies: any calls in any order, and the specification beside the policy.

The machine does what a manager does: it makes the blocks, writes their ``ref_cnt``, and tells the policy when one
becomes idle or busy. The model is ``kvoffload_spec.policy``: ``Residents`` says which keys are idle and which are busy.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    MultipleResults,
    RuleBasedStateMachine,
    initialize,
    invariant,
    multiple,
    precondition,
    rule,
)

from kvoffload import BlockStatus, CachePolicy, OffloadKey, ReqContext
from kvoffload.contract.stateful.given import KEYS, REQUESTS, equal, expect, shown
from kvoffload_spec import policy as spec
from kvoffload_spec.order import Order
from kvoffload_spec.policy import Residents

key_bundle: Bundle[OffloadKey] = Bundle("keys")


def one_that_is(in_state: Callable[[PolicyStateMachine], Collection[OffloadKey]]) -> st.SearchStrategy[OffloadKey]:
    """A key of those that this gives, of which there has to be one."""
    return st.runner().flatmap(lambda machine: st.sampled_from(sorted(in_state(machine))))


absent_keys = st.runner().flatmap(
    lambda machine: st.lists(st.sampled_from(sorted(machine.absent())), min_size=1, max_size=3, unique=True)
)
resident_keys = st.runner().flatmap(
    lambda machine: st.lists(st.sampled_from(sorted(machine.blocks) or KEYS), min_size=1, max_size=3)
)


class PolicyStateMachine(RuleBasedStateMachine):
    """Insertions, loads, touches and evictions of one policy, interleaved.

    Subclass it, say what to make, and have pytest collect its ``TestCase``::

        class MyMachine(PolicyStateMachine):
            make = staticmethod(lambda capacity: MyPolicy(capacity))

        TestMyPolicy = MyMachine.TestCase

    A policy that shows no ``evictable_blocks`` is not asked for them.

    Attributes:
        make: makes the policy, for so many blocks.
        order: makes the order in which the victims have to go, for so many blocks: one of ``kvoffload_spec.order``.
            Without it any idle block that is not protected may be a victim.
        residents: the model of which keys are idle and which are busy.
        blocks: the block of each resident key.
    """

    make: Callable[[int], CachePolicy]
    order: Callable[[int], Order[OffloadKey]] | None = None

    @initialize(target=key_bundle, capacity=st.integers(0, 4))
    def begin(self, capacity: int) -> MultipleResults[OffloadKey]:
        """A new policy."""
        self.policy = self.make(capacity)
        self.capacity = capacity
        self.num_blocks_made = 0
        self.last_call = "the start"
        self._start_model()
        return multiple(*KEYS)

    def _start_model(self) -> None:
        self.residents: Residents[OffloadKey] = Residents()
        self.blocks: dict[OffloadKey, BlockStatus] = {}
        self.ref_cnts: dict[OffloadKey, int] = {}
        self.in_order = None if self.order is None else self.order(self.capacity)

    # --- which keys are what ---

    def pending(self) -> set[OffloadKey]:
        """Keys that are being stored."""
        return {key for key in self.blocks if self.ref_cnts[key] < 0}

    def ready(self) -> set[OffloadKey]:
        """Keys that are stored."""
        return self.blocks.keys() - self.pending()

    def pinned(self) -> set[OffloadKey]:
        """Keys that loads read."""
        return {key for key in self.blocks if self.ref_cnts[key] > 0}

    def absent(self) -> set[OffloadKey]:
        """Keys that are not resident."""
        return set(KEYS) - self.blocks.keys()

    # --- blocks come, are used, and go ---

    @precondition(lambda self: len(self.blocks) < self.capacity)
    @rule(key=one_that_is(absent), idle=st.booleans(), request=REQUESTS)
    def insert(self, key: OffloadKey, idle: bool, request: ReqContext) -> None:
        """A block that is not resident comes, to be written (pending), or written already (idle)."""
        self.num_blocks_made += 1
        block = self.blocks[key] = BlockStatus(self.num_blocks_made)
        self._set_ref_cnt(key, 0 if idle else -1)
        self._call("on_store_miss", key)
        self.policy.on_store_miss([equal(key)], request)
        self._call("insert", key)
        self.policy.insert(equal(key), block)
        self.residents = spec.insert(self.residents, key, idle)
        if self.in_order is not None:
            self.in_order = self.in_order.insert([key], request.req_id)
            self.in_order = self.in_order.mark_evictable(key) if idle else self.in_order

    @precondition(lambda self: bool(self.pending()))
    @rule(key=one_that_is(pending))
    def finish_store(self, key: OffloadKey) -> None:
        """A pending block becomes idle."""
        self._set_ref_cnt(key, 0)
        self._is_idle(key)

    @precondition(lambda self: bool(self.ready()))
    @rule(key=one_that_is(ready))
    def pin(self, key: OffloadKey) -> None:
        """A load reads the block; the policy is told of the first one."""
        self._set_ref_cnt(key, self.ref_cnts[key] + 1)
        if self.ref_cnts[key] == 1:
            self._call("mark_non_evictable", key)
            self.policy.mark_non_evictable(equal(key))
            self.residents = spec.mark_non_evictable(self.residents, key)
            if self.in_order is not None:
                self.in_order = self.in_order.mark_non_evictable(key)

    @precondition(lambda self: bool(self.pinned()))
    @rule(key=one_that_is(pinned))
    def unpin(self, key: OffloadKey) -> None:
        """A load of the block ends; the policy is told of the last one."""
        self._set_ref_cnt(key, self.ref_cnts[key] - 1)
        if self.ref_cnts[key] == 0:
            self._is_idle(key)

    def _set_ref_cnt(self, key: OffloadKey, ref_cnt: int) -> None:
        self.ref_cnts[key] = self.blocks[key].ref_cnt = ref_cnt

    def _is_idle(self, key: OffloadKey) -> None:
        self._call("mark_evictable", key)
        self.policy.mark_evictable(equal(key))
        self.residents = spec.mark_evictable(self.residents, key)
        if self.in_order is not None:
            self.in_order = self.in_order.mark_evictable(key)

    @precondition(lambda self: bool(self.blocks))
    @rule(key=one_that_is(lambda self: self.blocks))
    def remove(self, key: OffloadKey) -> None:
        """A block leaves without being a victim."""
        self._call("remove", key)
        self.policy.remove(equal(key))
        del self.blocks[key]
        self.residents = spec.remove(self.residents, key)
        if self.in_order is not None:
            self.in_order = self.in_order.remove(key)

    @rule(keys=absent_keys, request=REQUESTS)
    def store(self, keys: list[OffloadKey], request: ReqContext) -> None:
        """New blocks come, written already, and push out as many as they need room for; or they do not come."""
        need = len(self.blocks) + len(keys) - self.capacity
        if need > 0:
            self.evict(need, set(keys))
        if len(self.blocks) + len(keys) <= self.capacity:
            for key in keys:
                self.insert(key, True, request)

    # --- any keys ---

    @rule(keys=st.lists(key_bundle, max_size=4) | resident_keys, request=REQUESTS)
    def touch(self, keys: list[OffloadKey], request: ReqContext) -> None:
        """Any keys may be touched: resident or not, busy, repeated. Only the order changes."""
        self._call("touch", *keys)
        given = [equal(key) for key in keys]
        self.policy.touch(given, request)
        expect(self.last_call, "a call leaves the list that it is given as it is", shown(keys), shown(given))
        given.clear()  # it is the caller's own
        if self.in_order is not None:
            self.in_order = self.in_order.touch(keys, request.req_id)

    @rule(n=st.integers(0, 3), protected=st.sets(key_bundle, max_size=2))
    def evict(self, n: int, protected: set[OffloadKey]) -> None:
        """Exactly n idle blocks go that are not protected; or ``None`` if there are fewer, and nothing changes."""
        self.last_call = f"evict({n}, {shown(sorted(protected))})"
        candidates = spec.candidates(self.residents, protected)
        given = {equal(key) for key in protected}
        answer = self.policy.evict(n, given)
        expect(self.last_call, "a call leaves the set that it is given as it is", protected, given)
        sentence = f"evict() says None if and only if there are fewer candidates: {shown(sorted(candidates))}"
        expect(self.last_call, sentence, spec.refuses(self.residents, n, protected), answer is None)
        if answer is None:
            return
        victims = [key for key, _ in answer]
        sentence = f"n distinct victims go, each of them a candidate: {shown(sorted(candidates))}"
        expect(self.last_call, sentence, [n, n], [len(victims), len(candidates.intersection(victims))])
        for key, block in answer:
            expect(self.last_call, f"{shown([key])} goes with its block", True, block is self.blocks.pop(key))
        if self.in_order is not None:
            sentence = "the victims are the next ones of the order"
            expect(self.last_call, sentence, shown(self.in_order.victims(n, protected)), shown(victims))
            self.in_order = self.in_order.evict(*victims, protected=protected)
        self.residents = spec.remove(self.residents, *victims)

    @precondition(lambda self: len(self.blocks) == self.capacity)
    @rule()
    def clear(self) -> None:
        """The policy is as new; it was full before, so that there is something to forget."""
        self.last_call = "clear()"
        self.policy.clear()
        self._start_model()

    def _call(self, name: str, *keys: OffloadKey) -> None:
        self.last_call = f"{name}({shown(keys)})"

    # --- what holds after every rule ---

    @invariant()
    def get_agrees(self) -> None:
        """The very block that was inserted is under its key until it leaves, and nothing is under any other key."""
        for key in KEYS:
            sentence = f"get() of {shown([key])} gives the very block that was inserted, while it is resident"
            expect(self.last_call, sentence, self.blocks.get(key), self.policy.get(equal(key)))

    @invariant()
    def blocks_are_only_read(self) -> None:
        """A policy reads the ``ref_cnt`` of a block; who writes it is the manager, here the machine."""
        for key, block in self.blocks.items():
            sentence = f"the policy leaves the ref_cnt of {shown([key])} alone"
            expect(self.last_call, sentence, self.ref_cnts[key], block.ref_cnt)

    @invariant()
    def list_is_exact(self) -> None:
        """The evictable list holds exactly the idle keys, each once."""
        evictable = getattr(self.policy, "evictable_blocks", None)
        if evictable is not None:
            sentence = "the evictable list holds exactly the idle keys, each once"
            expect(self.last_call, sentence, shown(sorted(self.residents.idle)), shown(sorted(evictable)))
