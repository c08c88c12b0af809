"""What is left of a call on a manager that does not claim to take all that a call may hold."""

from __future__ import annotations

from collections.abc import Set

from kvoffload.contract.calls import operations as ops
from kvoffload.contract.lockstep.manager.state import ManagerState
from kvoffload.types import OffloadKey
from kvoffload_spec import tier as spec
from kvoffload_spec import transfer


def claimed_call(claims: Set[str], state: ManagerState, op: ops.Operation) -> ops.Operation | None:
    """The call without what is not claimed; ``None`` if nothing is left of it.

    Args:
        claims: ids of the capabilities that the manager claims.
        state: where the model stands.
        op: the call.
    """
    if op.one_shot and "one-shot" not in claims:
        op = op.but(one_shot=False)
    match op:
        case ops.PrepareLoad() if "unready-loads" not in claims:
            return _with_keys(op, spec.ready(state.tier))
        case ops.CompleteStore() | ops.CompleteLoad() if op.transfer is not None:
            if "transfer-ids" not in claims:
                return _release(claims, state, op.but(transfer=None))
            if "late-completions" not in claims and not _is_outstanding(state, op):
                return None
    return _release(claims, state, op)


def _release(claims: Set[str], state: ManagerState, op: ops.Operation) -> ops.Operation | None:
    if not isinstance(op, ops.CompleteLoad) or "unbalanced-releases" in claims:
        return op
    if op.transfer is not None and not _is_outstanding(state, op):
        return op
    return _with_keys(op, {key for _, key in transfer.released(state.transfers, op.keys, op.transfer)})


def _is_outstanding(state: ManagerState, op: ops.CompleteStore | ops.CompleteLoad) -> bool:
    transfers = state.transfers.writes if isinstance(op, ops.CompleteStore) else state.transfers.reads
    return any(id == op.transfer for id, _ in transfers)


def _with_keys(op: ops.PrepareLoad | ops.CompleteLoad, allowed: Set[OffloadKey]) -> ops.Operation | None:
    kept = tuple(key for key in op.keys if key in allowed)
    return op.but(keys=kept) if kept or not op.keys else None
