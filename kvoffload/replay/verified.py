"""A manager whose every call is checked against the specification as it is made."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

from kvoffload.contract.calls import operations as ops
from kvoffload.contract.calls.outcome import Outcome, Stored
from kvoffload.contract.clauses.capabilities import claims_of
from kvoffload.contract.lockstep.manager.judges import ManagerLockstep
from kvoffload.contract.lockstep.violation import ContractViolation
from kvoffload.contract.reports.violation import describe_violation
from kvoffload.contract.targets.adapters import as_manager
from kvoffload.contract.targets.seen import shown_by
from kvoffload.interface import OffloadingManager
from kvoffload.types import (
    NO_REQUEST,
    EventKind,
    LoadStoreSpec,
    LookupResult,
    OffloadingEvent,
    OffloadKey,
    PrepareStoreOutput,
    ReqContext,
)

T = TypeVar("T")


class VerifiedManager(OffloadingManager):
    """Passes every call on to a manager, in lockstep with the specification.

    A call costs a pass over the model's state, that is time in proportion to the resident blocks. Each call compares
    the keys it names and the counts; ``verify_all`` compares everything.

    Args:
        manager: the manager to check, still new; of any family that ``as_manager`` knows.
        num_blocks: its capacity, in blocks.
        order: the order that its policy declares, or ``None``.

    Raises:
        ContractViolation: from any call, at the first clause that breaks.
    """

    def __init__(self, manager: Any, num_blocks: int, order: str | None = None) -> None:
        self._manager = as_manager(manager)
        # Only calls on another new manager could show these; up to vLLM 0.21, a pending key is looked up as missing.
        told = {"events", "pending-lookups"}
        claims = claims_of("manager", shown_by(self._manager) | told, self._manager.ruled_out)
        self._lockstep = ManagerLockstep(lambda _: self._manager, num_blocks, claims, order, thorough=False, remember=8)
        self.num_calls = 0

    def _apply(self, op: ops.Operation) -> Any:
        self.num_calls += 1
        made_before = self._lockstep.num_calls
        try:
            self._lockstep.apply(op)
        except ContractViolation as violation:
            violation.text = describe_violation(violation)
            raise
        if self._lockstep.num_calls == made_before:  # it completes a transfer that there never was
            return None
        outcome = self._lockstep.history[-1].outcome or Outcome()
        if outcome.raised is not None:
            raise outcome.raised
        return outcome.value

    def verify_all(self) -> None:
        """Compare every resident key, every slot and the whole evictable list with the specification."""
        self._lockstep.compare_residents()

    @property
    def num_evictable_cache_blocks(self) -> int:
        return self._manager.num_evictable_cache_blocks

    @property
    def num_free_blocks(self) -> int:
        """How many blocks hold nothing, in blocks."""
        return int(self._lockstep.view.counts().get("free", 0))

    def lookup(self, key: OffloadKey, req_context: ReqContext = NO_REQUEST) -> LookupResult:
        return LookupResult[self._apply(ops.Lookup(key))]

    def prepare_store(
        self, keys: Iterable[OffloadKey], req_context: ReqContext = NO_REQUEST
    ) -> PrepareStoreOutput | None:
        transfer = self.num_calls
        stored: Stored | None = self._apply(ops.PrepareStore(tuple(keys), transfer, request=req_context.req_id))
        if stored is None:
            return None
        slots = LoadStoreSpec(list(stored.block_ids), transfer)
        return PrepareStoreOutput(list(stored.keys_to_store), slots, list(stored.evicted_keys))

    def complete_store(
        self,
        keys: Iterable[OffloadKey],
        req_context: ReqContext = NO_REQUEST,
        success: bool = True,
        *,
        transfer_id: int | None = None,
    ) -> None:
        self._apply(ops.CompleteStore(tuple(keys), success, transfer_id))

    def prepare_load(self, keys: Iterable[OffloadKey], req_context: ReqContext = NO_REQUEST) -> LoadStoreSpec:
        transfer = self.num_calls
        return LoadStoreSpec(list(self._apply(ops.PrepareLoad(tuple(keys), transfer))), transfer)

    def complete_load(
        self, keys: Iterable[OffloadKey], req_context: ReqContext = NO_REQUEST, *, transfer_id: int | None = None
    ) -> None:
        self._apply(ops.CompleteLoad(tuple(keys), transfer_id))

    def touch(self, keys: Iterable[OffloadKey], req_context: ReqContext = NO_REQUEST) -> None:
        self._apply(ops.TouchKeys(tuple(keys), request=req_context.req_id))

    def reset_cache(self) -> None:
        self._apply(ops.ResetCache())

    def take_events(self) -> list[OffloadingEvent]:
        return [OffloadingEvent(EventKind[kind], keys) for kind, keys in self._apply(ops.TakeEvents())]
