"""Policies of LMCache that propose victims and are told what has left: ``lmcache.v1.distributed.eviction_policy``."""

from __future__ import annotations

from collections.abc import Iterable, Set
from typing import Any

from kvoffload.contract.targets.adapters.lmcache_in_process import RULES_OUT, Victims
from kvoffload.policies.base import BlockStatus
from kvoffload.types import OffloadKey


class SaltedKey(bytes):
    """A key with the one salt that all keys of a check have."""

    cache_salt = "salt"


class MultiProcessPolicy:
    """A policy and the blocks that it has no use for."""

    subject = "policy"
    sized = False
    ruled_out = RULES_OUT

    def __init__(self, policy: Any) -> None:
        self.policy = policy
        self.blocks: dict[OffloadKey, BlockStatus] = {}
        self._created: set[OffloadKey] = set()

    @staticmethod
    def fits(made: Any) -> bool:
        """Whether it, or what is made of the class, has the calls of this family."""
        return all(callable(getattr(made, name, None)) for name in ("on_keys_created", "get_eviction_actions"))

    def get(self, key: OffloadKey) -> BlockStatus | None:
        """The block that was inserted under the key."""
        return self.blocks.get(key)

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
        """Tell the policy of those keys that are there."""
        self.policy.on_keys_touched([SaltedKey(key) for key in keys if key in self.blocks])

    def remove(self, key: OffloadKey) -> None:
        """Tell the policy that the key has left."""
        del self.blocks[key]
        self._created.discard(key)
        self.policy.on_keys_removed([SaltedKey(key)])

    def clear(self) -> None:
        """Remove every key: the policy has no other way."""
        for key in list(self.blocks):
            self.remove(key)

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
