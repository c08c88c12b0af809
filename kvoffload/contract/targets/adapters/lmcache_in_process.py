"""Policies of LMCache that order their caller's cache: ``lmcache.v1.storage_backend.cache_policy`` (0.5)."""

from __future__ import annotations

from collections.abc import Iterable, Set
from dataclasses import dataclass
from typing import Any

from kvoffload.policies.base import BlockStatus
from kvoffload.types import OffloadKey

RULES_OUT = frozenset({"get", "clear", "any-touch", "refusals", "repeated-keys"})
"""What no policy of LMCache promises: it is told of keys that are there, and gives up as many as it finds."""

Victims = list[tuple[OffloadKey, BlockStatus | None]]


@dataclass
class Entry:
    """What the cache holds for a key.

    Attributes:
        block: the block.
        protected: whether it may not leave now, idle as it may be.
    """

    block: BlockStatus
    protected: bool = False

    @property
    def can_evict(self) -> bool:
        """Whether a policy may choose it."""
        return self.block.ref_cnt == 0 and not self.protected


class InProcessPolicy:
    """A policy and the cache that it orders, as its caller keeps it."""

    subject = "policy"
    sized = False
    ruled_out = RULES_OUT

    def __init__(self, policy: Any) -> None:
        self.policy = policy
        self.cache: Any = policy.init_mutable_mapping()

    @staticmethod
    def fits(made: Any) -> bool:
        """Whether it, or what is made of the class, has the calls of this family."""
        return all(callable(getattr(made, name, None)) for name in ("init_mutable_mapping", "get_evict_candidates"))

    def get(self, key: OffloadKey) -> BlockStatus | None:
        """The key's block, as the cache holds it."""
        entry = self.cache.get(key)
        return None if entry is None else entry.block

    def insert(self, key: OffloadKey, block: BlockStatus) -> None:
        """Put the key into the cache, and tell the policy."""
        self.cache[key] = Entry(block)
        self.policy.update_on_put(key)

    def touch(self, keys: Iterable[OffloadKey]) -> None:
        """Tell the policy of a hit on each key that is there, the last one first."""
        for key in reversed(list(keys)):
            if key in self.cache:
                self.policy.update_on_hit(key, self.cache)

    def remove(self, key: OffloadKey) -> None:
        """Take the key out of the cache, and tell the policy that this was forced."""
        del self.cache[key]
        self.policy.update_on_force_evict(key)

    def clear(self) -> None:
        """Remove every key: the policy has no other way."""
        for key in list(self.cache):
            self.remove(key)

    def evict(self, n: int, protected: Set[OffloadKey]) -> Victims | None:
        """Take the policy's candidates out of the cache; ``None`` if it found fewer."""
        if n == 0:
            return []
        for key in protected & self.cache.keys():
            self.cache[key].protected = True
        keys = list(self.policy.get_evict_candidates(self.cache, n))
        for key in protected & self.cache.keys():
            self.cache[key].protected = False
        entries = [(key, self.cache.pop(key, None)) for key in keys]
        return [(key, entry and entry.block) for key, entry in entries] if len(entries) >= n else None
