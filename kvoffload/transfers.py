"""Which transfers are outstanding, and which blocks each of them holds."""

from __future__ import annotations

from collections.abc import Collection, Iterable


class Transfers:
    """Who holds each busy block: the one store that writes it, or the loads that read it, oldest first.

    Kept by block id and only for busy blocks, so that it stays as small as what is in flight. A transfer is outstanding
    until its last block is released. Ids are never given out twice, not even after ``clear()``: a completion that
    arrives late must not be taken for a later transfer's.
    """

    def __init__(self) -> None:
        self._next_id = 1
        self._num_held: dict[int, int] = {}
        self._holders: dict[int, tuple[int, ...]] = {}

    def open(self, block_ids: Collection[int]) -> int:
        """A new transfer holds the given blocks, each named once; the result is its id."""
        transfer_id = self._next_id
        self._next_id += 1
        alone = (transfer_id,)
        for block_id in block_ids:
            earlier = self._holders.get(block_id)
            self._holders[block_id] = earlier + alone if earlier else alone
        if block_ids:
            self._num_held[transfer_id] = len(block_ids)
        return transfer_id

    def is_outstanding(self, transfer_id: int) -> bool:
        """Whether the transfer still holds a block."""
        return transfer_id in self._num_held

    def holds(self, transfer_id: int, block_id: int) -> bool:
        """Whether this transfer holds this block."""
        return transfer_id in self._holders.get(block_id, ())

    def release(self, block_ids: Iterable[int], transfer_id: int | None = None) -> None:
        """The transfer lets go of these blocks, which it holds; without an id, the oldest holder of each does."""
        for block_id in block_ids:
            holders = self._holders.pop(block_id)
            at = 0 if transfer_id is None else holders.index(transfer_id)
            if len(holders) > 1:
                self._holders[block_id] = holders[:at] + holders[at + 1 :]
            released = holders[at]
            self._num_held[released] -= 1
            if not self._num_held[released]:
                del self._num_held[released]

    def forget(self, block_id: int) -> None:
        """Every holder lets go of the block, if it has any."""
        self.release([block_id] * len(self._holders.get(block_id, ())))

    def clear(self) -> None:
        """No transfer is outstanding."""
        self._num_held.clear()
        self._holders.clear()
