"""``GoodPolicy`` with one bug that is easy to write: it breaks ``evict-atomic``, and no other clause.

$ kvoffload check broken_policy:BrokenPolicy --order lru
evict-atomic: an evict() that returns None leaves the policy unchanged, its order included
...
BROKEN: broken_policy:BrokenPolicy, policy contract 2, order lru: 1 of 14 clauses broken
...
"""

from __future__ import annotations

from collections.abc import Collection

from good_policy import GoodPolicy

from kvoffload.contract import BlockStatus


class BrokenPolicy(GoodPolicy):
    """Takes its victims off one by one, and has lost those that it took when it finds that there are too few."""

    def evict(self, n: int, protected: Collection[bytes]) -> list[tuple[bytes, BlockStatus]] | None:
        """N victims, or ``None``."""
        victims: list[tuple[bytes, BlockStatus]] = []
        for key in list(self.evictable_blocks):
            if len(victims) == n:
                break
            if key not in protected:
                victims.append((key, self.evictable_blocks.pop(key)))
        if len(victims) < n:
            return None  # the victims so far are idle, and no longer in the list
        for key, _ in victims:
            del self.blocks[key]
        return victims
