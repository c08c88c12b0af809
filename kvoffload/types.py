"""The plain data that passes between a scheduler and its offloading manager."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NewType

OffloadKey = NewType("OffloadKey", bytes)
"""Identity of a block: its hash, then the index of its group as 4 bytes, big-endian."""

_GROUP_BYTES = 4


def make_offload_key(block_hash: bytes, group_idx: int) -> OffloadKey:
    """The key is the block's hash followed by its group index.

    Args:
        block_hash: hash of the block and of everything before it, any length.
        group_idx: index of the KV-cache group, 0 to 2**32 - 1.

    Raises:
        ValueError: if ``group_idx`` does not fit four unsigned bytes.
    """
    if not 0 <= group_idx < 1 << (8 * _GROUP_BYTES):
        raise ValueError(f"group_idx is {group_idx}; it must be 0 to 2**32 - 1, to fit the key's last four bytes.")
    return OffloadKey(block_hash + group_idx.to_bytes(_GROUP_BYTES, "big"))


def get_offload_block_hash(key: OffloadKey) -> bytes:
    """The block hash is everything before the last four bytes."""
    return key[:-_GROUP_BYTES]


def get_offload_group_idx(key: OffloadKey) -> int:
    """The group index is the last four bytes, big-endian."""
    return int.from_bytes(key[-_GROUP_BYTES:], "big")


@dataclass(frozen=True, slots=True)
class ReqContext:
    """The request on whose behalf a call is made.

    Attributes:
        req_id: the request's identity; empty where the caller has no request at hand.
        kv_transfer_params: what the request carries for its transfers, passed through untouched.
    """

    req_id: str = ""
    kv_transfer_params: Mapping[str, Any] | None = None


NO_REQUEST = ReqContext()
"""The context of a call that no request stands behind."""


class LookupResult(enum.Enum):
    """What the manager knows of a key: nothing, a store in flight, or a readable block."""

    MISS = "miss"
    HIT_PENDING = "hit_pending"
    HIT = "hit"


@dataclass(slots=True)
class LoadStoreSpec:
    """Where the blocks of one transfer lie on the CPU side.

    Attributes:
        block_ids: one slot per key, in the order of the keys.
        transfer_id: names the transfer when it completes; never given out twice by one manager.
    """

    block_ids: list[int]
    transfer_id: int


@dataclass(slots=True)
class PrepareStoreOutput:
    """What an accepted store reserved, and what it evicted to make room.

    Attributes:
        keys_to_store: the keys that were not resident, each once, in the order given.
        store_spec: the slots reserved for them, in the same order.
        evicted_keys: the keys that left, in the order in which the policy chose them.
    """

    keys_to_store: list[OffloadKey]
    store_spec: LoadStoreSpec
    evicted_keys: list[OffloadKey]

    @property
    def transfer_id(self) -> int:
        """The id to complete this store with."""
        return self.store_spec.transfer_id


class EventKind(enum.Enum):
    """What happened to the blocks that other parties can read."""

    STORED = "stored"
    REMOVED = "removed"
    CLEARED = "cleared"


@dataclass(frozen=True, slots=True)
class OffloadingEvent:
    """One change of the set of ready blocks.

    Attributes:
        kind: ``STORED`` when a store completes, ``REMOVED`` on eviction, ``CLEARED`` on reset.
        keys: the keys concerned; empty for ``CLEARED``, which concerns them all.
        medium: where the blocks lie.
    """

    kind: EventKind
    keys: tuple[OffloadKey, ...] = ()
    medium: str = "CPU"
