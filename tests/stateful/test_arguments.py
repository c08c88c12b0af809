"""What the constructors promise: a bad argument raises before anything changes, and says what is allowed."""

import pytest

from kvoffload import BlockStatus, CPUOffloadingManager, LRUCachePolicy
from kvoffload.contract import keys

a, b = keys("ab")


def test_a_manager_of_less_than_no_blocks_is_refused() -> None:
    with pytest.raises(ValueError, match="num_blocks is -1; a pool has 0 blocks or more"):
        CPUOffloadingManager(-1)


def test_an_unknown_policy_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match="cache_policy is 'fifo'; known are lru"):
        CPUOffloadingManager(1, "fifo")


def test_a_policy_of_less_than_no_blocks_is_refused() -> None:
    with pytest.raises(ValueError, match="cache_capacity is -1"):
        LRUCachePolicy(-1)


def test_a_negative_eviction_is_refused_and_evicts_nothing() -> None:
    policy = LRUCachePolicy(1)
    policy.insert(a, BlockStatus(0, ref_cnt=0))
    with pytest.raises(ValueError, match="evict was asked for -1 blocks; ask for 0 or more"):
        policy.evict(-1, set())
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
