"""LMCache's two families of policies (0.5), behind the calls of a policy that holds its blocks."""

from __future__ import annotations

from collections.abc import Iterable, Set
from dataclasses import dataclass
from typing import Any

from kvoffload.policies.base import BlockStatus
from kvoffload.types import OffloadKey

Victims = list[tuple[OffloadKey, BlockStatus | None]]
RULES_OUT = frozenset({"get", "clear", "any-touch", "refusals", "repeated-keys"})
"""What no policy of either family promises: it is told of keys that are there, and gives up as many as it finds."""


@dataclass
class Entry:
    """What the cache of an in-process policy holds for a key.

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


IN_PROCESS = ("init_mutable_mapping", "get_evict_candidates")
MULTI_PROCESS = ("on_keys_created", "get_eviction_actions")
"""The calls by which either family is known."""


def has_calls(it: Any, names: tuple[str, ...]) -> bool:
    """Whether an object, or the objects of a class, can be called so."""
    return all(callable(getattr(it, name, None)) for name in names)


class InProcessPolicy:
    """A policy of ``lmcache.v1.storage_backend.cache_policy`` and the cache that it orders, as its caller keeps it."""

    ruled_out = RULES_OUT

    def __init__(self, policy: Any) -> None:
        self.policy = policy
        self.cache: Any = policy.init_mutable_mapping()

    @staticmethod
    def fits(made: Any) -> bool:
        """Whether it has the calls of this family."""
        return has_calls(made, IN_PROCESS)

    def insert(self, key: OffloadKey, block: BlockStatus) -> None:
        """Put the key into the cache, and tell the policy."""
        self.cache[key] = Entry(block)
        self.policy.update_on_put(key)

    def touch(self, keys: Iterable[OffloadKey]) -> None:
        """Tell the policy of a hit on each key, the last one first."""
        for key in reversed(list(keys)):
            self.policy.update_on_hit(key, self.cache)

    def remove(self, key: OffloadKey) -> None:
        """Take the key out of the cache, and tell the policy that this was forced."""
        del self.cache[key]
        self.policy.update_on_force_evict(key)

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


class SaltedKey(bytes):
    """A key with the one salt that all keys of a check have."""

    cache_salt = "salt"


class MultiProcessPolicy:
    """A policy of ``lmcache.v1.distributed.eviction_policy``: it proposes victims, and is told what has left."""

    ruled_out = RULES_OUT

    def __init__(self, policy: Any) -> None:
        self.policy = policy
        self.blocks: dict[OffloadKey, BlockStatus] = {}
        self._created: set[OffloadKey] = set()

    @staticmethod
    def fits(made: Any) -> bool:
        """Whether it has the calls of this family."""
        return has_calls(made, MULTI_PROCESS)

    def insert(self, key: OffloadKey, block: BlockStatus) -> None:
        """The key is reserved; an idle block's is created as well."""
        self.blocks[key] = block
        reserve = getattr(self.policy, "on_keys_reserved", None)
        if reserve is not None:
            reserve([SaltedKey(key)])
        if block.ref_cnt == 0:
            self.mark_evictable(key)

    def mark_evictable(self, key: OffloadKey) -> None:
        """The first time, the key is created; after a load nothing is told."""
        if key not in self._created:
            self._created.add(key)
            self.policy.on_keys_created([SaltedKey(key)])

    def touch(self, keys: Iterable[OffloadKey]) -> None:
        """Tell the policy of the keys that were used."""
        self.policy.on_keys_touched([SaltedKey(key) for key in keys])

    def remove(self, key: OffloadKey) -> None:
        """Tell the policy that the key has left."""
        del self.blocks[key]
        self._created.discard(key)
        self.policy.on_keys_removed([SaltedKey(key)])

    def evict(self, n: int, protected: Set[OffloadKey]) -> Victims | None:
        """Ask for so large a share that n keys come, and confirm them; ``None`` if fewer came."""
        if n == 0:
            return []
        count = getattr(self.policy, "get_num_tracked_keys", lambda: len(self._created))

        def eligible(key: OffloadKey) -> bool:
            block = self.blocks.get(key)
            return block is not None and block.ref_cnt == 0 and key not in protected

        share = (n + 0.5) / max(count(), 1)
        actions = self.policy.get_eviction_actions(share, key_eligible_filter=eligible, cache_salt=SaltedKey.cache_salt)
        keys = [OffloadKey(bytes(key)) for action in actions for key in action.keys]
        if len(keys) < n:
            return None
        victims = [(key, self.blocks.get(key)) for key in keys]
        for key in keys:
            if key in self.blocks:
                self.remove(key)
        return victims
