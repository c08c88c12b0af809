"""The state of one block, shared by the manager, which writes it, and the policy, which reads it."""

from __future__ import annotations


class BlockStatus:
    """One resident block: where it lies and who uses it.

    Attributes:
        block_id: the block's slot on the CPU side, ``0 .. num_blocks - 1``.
        ref_cnt: -1 while it is written (pending), 0 when idle, else the number of loads that read it.
    """

    __slots__ = ("block_id", "ref_cnt")

    def __init__(self, block_id: int, ref_cnt: int = -1) -> None:
        self.block_id = block_id
        self.ref_cnt = ref_cnt

    @property
    def is_ready(self) -> bool:
        """Whether the block has been written and may be read."""
        return self.ref_cnt >= 0

    def __repr__(self) -> str:
        return f"BlockStatus(block_id={self.block_id}, ref_cnt={self.ref_cnt})"
