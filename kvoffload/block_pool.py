"""Which block ids are free."""

from __future__ import annotations

from kvoffload.errors import OutOfBlocksError


class BlockPool:
    """The free ids of ``0 .. num_blocks - 1``: those given back, latest first, then those never used, lowest first.

    Ids that were never used are counted, not listed, so that a pool of four million blocks costs nothing until they are
    used. Only the manager takes ids and gives them back; it gives back each id once.
    """

    def __init__(self, num_blocks: int) -> None:
        if num_blocks < 0:
            raise ValueError(f"num_blocks is {num_blocks}; a pool has 0 blocks or more.")
        self.num_blocks = num_blocks
        self.reset()

    @property
    def num_free(self) -> int:
        """How many ids are free, in blocks."""
        return len(self._returned) + self.num_blocks - self._first_unused

    def allocate(self, n: int) -> list[int]:
        """Take ``n`` ids.

        Raises:
            OutOfBlocksError: if fewer than ``n`` are free; none is taken then.
        """
        if n > self.num_free:
            raise OutOfBlocksError(n, self.num_free)
        cut = max(0, len(self._returned) - n)
        block_ids = self._returned[cut:]
        del self._returned[cut:]
        unused = n - len(block_ids)
        block_ids.extend(range(self._first_unused, self._first_unused + unused))
        self._first_unused += unused
        return block_ids

    def free(self, block_ids: list[int]) -> None:
        """Give ids back."""
        self._returned.extend(block_ids)

    def reset(self) -> None:
        """Every id is free again, in the order of a new pool."""
        self._returned: list[int] = []
        self._first_unused = 0
