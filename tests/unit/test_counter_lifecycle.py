"""The life of the evictable counter, as one scenario and as one claim per test."""

import pytest

from kvoffload import (
    BlockNotFoundError,
    BlockNotReadyError,
    CPUOffloadingManager,
    LookupResult,
    LRUCachePolicy,
    OffloadKey,
    UnbalancedReleaseError,
)
from kvoffload.contract import keys

a, b, c, d, e = keys("abcde")


def stored(num_blocks: int, *resident: OffloadKey) -> CPUOffloadingManager:
    """A manager in which these keys are idle."""
    manager = CPUOffloadingManager(num_blocks)
    manager.prepare_store(resident)
    manager.complete_store(resident)
    return manager


def idle(manager: CPUOffloadingManager) -> list[OffloadKey]:
    """The keys in the policy's evictable list, least recent first."""
    policy = manager._policy
    assert isinstance(policy, LRUCachePolicy)
    return list(policy.evictable_blocks)


def spy_on_evict(manager: CPUOffloadingManager, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Record the n of every policy.evict(n) from now on."""
    asked: list[int] = []
    evict = manager._policy.evict

    def spied(n: int, protected: set[OffloadKey]) -> object:
        asked.append(n)
        return evict(n, protected)

    monkeypatch.setattr(manager._policy, "evict", spied)
    return asked


def test_the_counter_follows_every_block_through_its_life(monkeypatch: pytest.MonkeyPatch) -> None:
    manager = CPUOffloadingManager(num_blocks=4)
    assert manager._num_evictable_cache_blocks == 0

    # store three: pending blocks are not evictable, ready ones are
    manager.prepare_store([a, b, c])
    assert manager._num_evictable_cache_blocks == 0
    manager.complete_store([a, b, c])
    assert manager._num_evictable_cache_blocks == 3

    # load a twice: only the first load takes it off
    first = manager.prepare_load([a])
    assert manager._num_evictable_cache_blocks == 2
    second = manager.prepare_load([a])
    assert manager._num_evictable_cache_blocks == 2

    # complete both: only the last one puts it back
    manager.complete_load([a], transfer_id=first.transfer_id)
    assert manager._num_evictable_cache_blocks == 2
    manager.complete_load([a], transfer_id=second.transfer_id)
    assert manager._num_evictable_cache_blocks == 3

    # evict one: the counter goes down by the number evicted
    output = manager.prepare_store([d, e])
    assert output is not None and output.evicted_keys == [c]
    assert manager._num_evictable_cache_blocks == 2

    # a failed store drops its blocks and leaves the counter alone
    manager.complete_store([d, e], success=False)
    assert manager._num_evictable_cache_blocks == 2
    assert manager.lookup(d) is LookupResult.MISS

    # reset: nothing is left
    manager.reset_cache()
    assert manager._num_evictable_cache_blocks == 0

    # guarded refusal: everything is pending, so the policy is not even asked
    manager.prepare_store([a, b, c, d])
    asked = spy_on_evict(manager, monkeypatch)
    assert manager.prepare_store([e]) is None
    assert asked == []


def test_a_store_that_may_succeed_asks_the_policy_for_exactly_what_it_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    manager = stored(3, a, b)
    asked = spy_on_evict(manager, monkeypatch)
    manager.prepare_store([c, d])
    assert asked == [1]


def test_the_guard_is_necessary_and_not_sufficient(monkeypatch: pytest.MonkeyPatch) -> None:
    manager = stored(1, a)
    asked = spy_on_evict(manager, monkeypatch)
    assert manager.prepare_store([a, b]) is None  # a is idle, but named in the call
    assert asked == [1]


def test_a_completion_puts_the_head_of_the_prefix_at_the_most_recent_end() -> None:
    assert idle(stored(3, a, b, c)) == [c, b, a]


def test_a_completed_load_puts_the_head_of_the_prefix_at_the_most_recent_end() -> None:
    manager = stored(3, a, b, c)
    manager.prepare_load([a, b])
    manager.complete_load([a, b])
    assert idle(manager) == [c, b, a]


def test_a_pinned_block_is_not_on_the_evictable_list() -> None:
    manager = stored(2, a, b)
    manager.prepare_load([a])
    assert idle(manager) == [b]


def test_a_touch_of_a_pinned_block_leaves_it_off_the_evictable_list() -> None:
    manager = stored(2, a, b)
    manager.prepare_load([a])
    manager.touch([a])
    assert idle(manager) == [b]


def test_eviction_skips_what_is_pinned_and_takes_the_least_recent_of_the_rest() -> None:
    manager = stored(3, a, b, c)
    manager.prepare_load([c])
    output = manager.prepare_store([d])
    assert output is not None and output.evicted_keys == [b]


def test_a_load_that_names_a_key_twice_pins_it_once() -> None:
    manager = stored(1, a)
    load = manager.prepare_load([a, a])
    assert load.block_ids == [0, 0]
    manager.complete_load({a}, transfer_id=load.transfer_id)
    assert manager._num_evictable_cache_blocks == 1


def test_a_store_that_names_a_key_twice_reserves_one_block() -> None:
    manager = CPUOffloadingManager(2)
    output = manager.prepare_store([a, a])
    assert output is not None and output.keys_to_store == [a] and output.store_spec.block_ids == [0]
    assert manager.num_free_blocks == 1


def test_a_load_of_a_missing_key_pins_nothing() -> None:
    manager = stored(1, a)
    with pytest.raises(BlockNotFoundError, match="is not resident"):
        manager.prepare_load([a, b])
    assert manager._num_evictable_cache_blocks == 1


def test_a_load_of_a_pending_key_pins_nothing() -> None:
    manager = stored(2, a)
    manager.prepare_store([b])
    with pytest.raises(BlockNotReadyError, match="whose store has not completed"):
        manager.prepare_load([a, b])
    assert manager._num_evictable_cache_blocks == 1


def test_a_release_without_a_load_changes_nothing() -> None:
    manager = stored(2, a, b)
    manager.prepare_load([a])
    with pytest.raises(UnbalancedReleaseError, match="no load of it is in progress"):
        manager.complete_load([a, b])
    assert manager._num_evictable_cache_blocks == 1


def test_a_completion_from_before_a_reset_does_not_complete_the_store_after_it() -> None:
    manager = CPUOffloadingManager(1)
    before = manager.prepare_store([a])
    manager.reset_cache()
    manager.prepare_store([a])
    assert before is not None
    manager.complete_store([a], transfer_id=before.transfer_id)
    assert manager.lookup(a) is LookupResult.HIT_PENDING


def test_a_manager_of_no_blocks_refuses_every_store_of_something() -> None:
    manager = CPUOffloadingManager(0)
    assert manager.prepare_store([a]) is None


def test_an_empty_store_is_accepted_and_reserves_nothing() -> None:
    output = CPUOffloadingManager(0).prepare_store([])
    assert output is not None and output.keys_to_store == [] and output.evicted_keys == []
