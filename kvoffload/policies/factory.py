"""A policy by its name."""

from __future__ import annotations

from collections.abc import Callable

from kvoffload.interface import CachePolicy
from kvoffload.policies.arc import ARCCachePolicy
from kvoffload.policies.lru import LRUCachePolicy

POLICIES: dict[str, Callable[[int], CachePolicy]] = {"arc": ARCCachePolicy, "lru": LRUCachePolicy}
"""The policies that can be had by name."""


def make_cache_policy(policy: str | Callable[[int], CachePolicy], num_blocks: int) -> CachePolicy:
    """The policy of that name, or made by that factory, for ``num_blocks`` blocks.

    Raises:
        ValueError: if no policy has that name.
    """
    if callable(policy):
        return policy(num_blocks)
    if policy not in POLICIES:
        raise ValueError(
            f"cache_policy is {policy!r}; known are {', '.join(sorted(POLICIES))}. Name one of them, or pass a class."
        )
    return POLICIES[policy](num_blocks)
