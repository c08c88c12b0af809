"""What the constructors promise: a bad argument raises before anything changes, and says what is allowed."""

from collections.abc import Set

import pytest

from kvoffload import (
    ARCCachePolicy,
    BlockStatus,
    CPUOffloadingManager,
    LRUCachePolicy,
    OffloadKey,
    OutOfBlocksError,
    SLRUCachePolicy,
)
from kvoffload.contract import keys
from kvoffload.policies.factory import CachePolicyFactory

a, b, c, d = keys("abcd")


def test_a_manager_of_less_than_no_blocks_is_refused() -> None:
    with pytest.raises(ValueError, match="num_blocks is -1; a pool has 0 blocks or more"):
        CPUOffloadingManager(-1)


def test_an_unknown_policy_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match=r"cache_policy is 'belady', .*; known are .*lru.*Name one of them"):
        CPUOffloadingManager(1, "belady")


def test_a_policy_of_less_than_no_blocks_is_refused() -> None:
    with pytest.raises(ValueError, match="cache_capacity is -1"):
        LRUCachePolicy(-1)


@pytest.mark.parametrize("name", CachePolicyFactory.names())
def test_a_negative_eviction_is_refused_and_evicts_nothing(name: str) -> None:
    policy = CachePolicyFactory.get_cache_policy_cls(name)(1)
    policy.insert(a, BlockStatus(0, ref_cnt=0))
    with pytest.raises(ValueError, match="evict was asked for -1 blocks; ask for 0 or more"):
        policy.evict(-1, set())
    assert policy.evict(1, set()) is not None


@pytest.mark.parametrize("policy", [ARCCachePolicy(1), SLRUCachePolicy(1)], ids=["arc", "slru"])
def test_a_policy_with_several_lists_shows_them_as_one(policy: ARCCachePolicy | SLRUCachePolicy) -> None:
    policy.insert(a, BlockStatus(0, ref_cnt=0))
    assert list(policy.evictable_blocks) == [a]


def test_a_policy_is_told_the_number_of_blocks() -> None:
    assert LRUCachePolicy(7).cache_capacity == 7


def test_without_events_there_is_never_anything_to_tell() -> None:
    manager = CPUOffloadingManager(1)
    for _ in range(2):
        manager.prepare_store([a])
        manager.complete_store([a])
        manager.reset_cache()
        assert manager.take_events() == []


def test_a_negative_threshold_is_refused() -> None:
    with pytest.raises(ValueError, match="store_threshold is -1; it is 0"):
        CPUOffloadingManager(1, store_threshold=-1)


def test_a_tracker_of_no_keys_is_refused() -> None:
    with pytest.raises(ValueError, match="max_tracker_size is 0; the tracker holds 1 key or more"):
        CPUOffloadingManager(1, max_tracker_size=0)


def test_a_policy_without_the_methods_is_refused_with_their_names() -> None:
    with pytest.raises(ValueError, match="has no get, insert, remove, touch, evict, clear, on_store_miss, mark"):
        CPUOffloadingManager(1, lambda capacity: object())  # type: ignore[arg-type, return-value]


class EvictsTooFew(LRUCachePolicy):
    def evict(self, n: int, protected: Set[OffloadKey]) -> list[tuple[OffloadKey, BlockStatus]] | None:
        return super().evict(n - 1, protected)


def test_a_policy_that_evicts_too_few_is_named_and_costs_no_block() -> None:
    manager = CPUOffloadingManager(2, EvictsTooFew)
    manager.prepare_store([a, b])
    manager.complete_store([a, b])
    with pytest.raises(OutOfBlocksError, match="2 block ids are asked for and 1 are free"):
        manager.prepare_store([c, d])
    assert (manager.num_free_blocks, manager.num_evictable_cache_blocks) == (1, 1)


def test_a_policy_shows_its_order() -> None:
    policy = LRUCachePolicy(3)
    policy.insert(a, BlockStatus(0, ref_cnt=0))
    policy.insert(b, BlockStatus(1))
    assert repr(policy) == f"LRUCachePolicy(2 of 3 blocks; idle, least recent first: [{a.hex()}])"


def test_a_new_manager_has_statistics_of_nothing() -> None:
    stats = CPUOffloadingManager(3).get_stats()
    assert (stats.num_blocks, stats.free, stats.counters.lookups) == (3, 3, 0)


def test_a_completion_of_nothing_announces_nothing() -> None:
    manager = CPUOffloadingManager(1, enable_events=True)
    manager.complete_store([a])
    manager.prepare_store([])
    assert manager.take_events() == []


def test_a_tracker_of_one_key_is_allowed() -> None:
    assert CPUOffloadingManager(1, max_tracker_size=1).num_free_blocks == 1
