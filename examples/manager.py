"""A stand-alone manager: FIFO, no events, no statistics. It keeps the contract as far as it claims.

$ kvoffload check manager:SmallManager
KEPT: manager:SmallManager, manager contract 2, order not declared: 14 clauses
...
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass
class Block:
    """Where a block lies, whether its data has arrived, and how many loads read it."""

    id: int
    ready: bool = False
    num_loads: int = 0


@dataclass
class Slots:
    """The slots that a transfer reads or writes."""

    block_ids: list[int]


@dataclass
class StoreOutput:
    """What to write, where to, and what had to leave for it."""

    keys_to_store: list[bytes]
    store_spec: Slots
    evicted_keys: list[bytes]


class SmallManager:
    """Holds up to ``num_blocks`` blocks and evicts the oldest that no transfer uses."""

    def __init__(self, num_blocks: int) -> None:
        self.free = list(range(num_blocks))
        self.blocks: dict[bytes, Block] = {}  # the oldest first

    def lookup(self, key: bytes) -> bool | None:
        """Whether the key can be loaded; ``None`` says: not yet."""
        block = self.blocks.get(key)
        return False if block is None else block.ready or None

    def prepare_store(self, keys: Sequence[bytes]) -> StoreOutput | None:
        """Reserve a slot for each new key; ``None``, and no change, if there is no room."""
        new = [key for key in keys if key not in self.blocks]
        idle = [k for k, block in self.blocks.items() if block.ready and not block.num_loads and k not in keys]
        lacking = max(0, len(new) - len(self.free))
        if lacking > len(idle):
            return None
        evicted = idle[:lacking]
        for key in evicted:
            self.free.append(self.blocks.pop(key).id)
        for key in new:
            self.blocks[key] = Block(self.free.pop())
        return StoreOutput(new, Slots([self.blocks[key].id for key in new]), evicted)

    def complete_store(self, keys: Sequence[bytes], success: bool = True) -> None:
        """The data of these keys has arrived, or has not; keys that were there before are left alone."""
        for key in keys:
            block = self.blocks.get(key)
            if block is None or block.ready:
                continue
            if success:
                block.ready = True
            else:
                self.free.append(self.blocks.pop(key).id)

    def prepare_load(self, keys: Sequence[bytes]) -> Slots:
        """The slots of these keys, which stay until ``complete_load``."""
        blocks = [self.blocks[key] for key in keys]
        for block in blocks:
            block.num_loads += 1
        return Slots([block.id for block in blocks])

    def complete_load(self, keys: Sequence[bytes]) -> None:
        """The load of these keys has ended."""
        for key in keys:
            self.blocks[key].num_loads -= 1
