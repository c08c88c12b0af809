"""Which transfers are outstanding, as two sets of pairs, and which keys a completion speaks for."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

K = TypeVar("K")


@dataclass(frozen=True)
class Transfers(Generic[K]):
    """The transfers in flight. They are numbered upwards; the lowest number is the oldest.

    Attributes:
        writes: (transfer, key) for every key that a store still has to complete.
        reads: (transfer, key) for every key that a load still holds.
    """

    writes: frozenset[tuple[int, K]] = frozenset()
    reads: frozenset[tuple[int, K]] = frozenset()


def open_store(transfers: Transfers[K], transfer: int, keys: Iterable[K]) -> Transfers[K]:
    """The store writes these keys."""
    return replace(transfers, writes=transfers.writes | {(transfer, key) for key in keys})


def stored(transfers: Transfers[K], keys: Iterable[K], transfer: int | None) -> frozenset[K]:
    """The keys that a completion of a store speaks for: those being written, by this very transfer if one is named."""
    named = frozenset(keys)
    return frozenset(key for writer, key in transfers.writes if key in named and transfer in (None, writer))


def close_store(transfers: Transfers[K], keys: Iterable[K]) -> Transfers[K]:
    """These keys are not written any more."""
    done = frozenset(keys)
    return replace(transfers, writes=frozenset(write for write in transfers.writes if write[1] not in done))


def open_load(transfers: Transfers[K], transfer: int, keys: Iterable[K]) -> Transfers[K]:
    """The load holds each of these keys once."""
    return replace(transfers, reads=transfers.reads | {(transfer, key) for key in keys})


def is_stale_load(transfers: Transfers[K], transfer: int | None) -> bool:
    """The named load is not outstanding, so that its completion changes nothing."""
    return transfer is not None and all(reader != transfer for reader, _ in transfers.reads)


def released(transfers: Transfers[K], keys: Iterable[K], transfer: int | None) -> frozenset[tuple[int, K]]:
    """What a completion of a load lets go of: each key's hold by this transfer, or else by its oldest one."""
    named = frozenset(keys)
    holds = [(reader, key) for reader, key in transfers.reads if key in named and transfer in (None, reader)]
    oldest = {key: min(reader for reader, held in holds if held == key) for _, key in holds}
    return frozenset((reader, key) for key, reader in oldest.items())


def close_load(transfers: Transfers[K], holds: frozenset[tuple[int, K]]) -> Transfers[K]:
    """These holds are let go of."""
    return replace(transfers, reads=transfers.reads - holds)
