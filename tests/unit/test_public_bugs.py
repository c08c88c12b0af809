"""The sequences of bugs that were reported in public, on our manager: one claim each, the report beside it."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pytest

from kvoffload import (
    BlockNotFoundError,
    BlockNotReadyError,
    CPUOffloadingManager,
    EventKind,
    LookupResult,
    OffloadingEvent,
    OffloadKey,
    PrepareStoreOutput,
    UnbalancedReleaseError,
)
from kvoffload.contract import keys

a, b, c, d, e, p, q, r, x, y, z = keys("abcdepqrxyz")

MISS, HIT_PENDING, HIT = LookupResult.MISS, LookupResult.HIT_PENDING, LookupResult.HIT
STORED, REMOVED, CLEARED = EventKind.STORED, EventKind.REMOVED, EventKind.CLEARED


def store(manager: CPUOffloadingManager, named: Iterable[OffloadKey]) -> PrepareStoreOutput:
    """A store that is accepted and completes at once."""
    named = list(named)
    output = manager.prepare_store(named)
    assert output is not None
    manager.complete_store(named, transfer_id=output.transfer_id)
    return output


def stored(num_blocks: int, *batches: Iterable[OffloadKey], policy: str = "lru") -> CPUOffloadingManager:
    """A manager in which these batches were stored, with its events drained."""
    manager = CPUOffloadingManager(num_blocks, cache_policy=policy, enable_events=True)
    for batch in batches:
        store(manager, batch)
    manager.take_events()
    return manager


def evicted(output: PrepareStoreOutput | None) -> list[OffloadKey]:
    assert output is not None
    return output.evicted_keys


def looked_up(manager: CPUOffloadingManager, named: Iterable[OffloadKey]) -> list[LookupResult]:
    return [manager.lookup(key) for key in named]


# --- making room ---


def test_a_store_is_refused_rather_than_evict_its_own_resident_key() -> None:
    manager = stored(1, [a])  # vllm-project/vllm#35846
    assert manager.prepare_store([a, b]) is None
    assert manager.lookup(a) is HIT


def test_a_store_that_needs_its_own_resident_key_gone_is_refused_at_any_size() -> None:
    manager = stored(4, [a])  # vllm-project/vllm#35846, the larger sequence
    manager.touch([a])
    store(manager, [x, y])
    store(manager, [z])
    assert evicted(manager.prepare_store([a, b, c, d])) == [y, x, z]
    assert manager.lookup(a) is HIT


@pytest.mark.parametrize("policy", ["lru", "arc", "slru", "s3fifo", "lfu", "fifo"])
def test_a_refused_store_evicts_nothing_and_tells_nothing(policy: str) -> None:
    manager = stored(2, [a, b], policy=policy)  # vllm-project/vllm#37874
    manager.prepare_load([b])
    assert manager.prepare_store([c, d]) is None
    assert looked_up(manager, [a, b, c, d]) == [HIT, HIT, MISS, MISS]
    assert manager.take_events() == []


def test_a_store_is_refused_while_every_block_is_pending() -> None:
    manager = CPUOffloadingManager(2)  # vllm-project/vllm#45757
    manager.prepare_store([a, b])
    assert [manager.prepare_store([x]) for _ in range(3)] == [None] * 3
    assert manager.num_evictable_cache_blocks == 0


def test_a_store_that_was_refused_for_pins_is_accepted_once_they_are_released() -> None:
    manager = stored(1, [a])  # LMCache/LMCache#3187, #3189
    load = manager.prepare_load([a])
    assert manager.prepare_store([b]) is None
    manager.complete_load([a], transfer_id=load.transfer_id)
    assert evicted(manager.prepare_store([b])) == [a]


def test_a_block_that_is_being_read_is_not_evicted() -> None:
    manager = stored(2, [a, b])  # LMCache/LMCache#222
    manager.prepare_load([b])
    assert evicted(manager.prepare_store([c])) == [a]


def test_an_idle_block_of_t1_makes_room_below_its_target_when_t2_is_pinned() -> None:
    manager = stored(2, [a], policy="arc")  # vllm-project/vllm#55461
    manager.touch([a])
    for key in (b, c, b, c, d):  # b and c come back as ghosts of t1: the target is 2, t1 holds d, t2 holds c
        store(manager, [key])
    manager.prepare_load([c])
    assert evicted(manager.prepare_store([e])) == [d]


# --- order ---


def test_a_loaded_block_is_recent_from_when_it_is_released() -> None:
    manager = stored(2, [a, b])  # vllm-project/vllm#46216
    load = manager.prepare_load([a])
    manager.complete_load([a], transfer_id=load.transfer_id)
    assert evicted(manager.prepare_store([c])) == [b]


def test_the_head_of_a_stored_prefix_is_evicted_after_its_tail() -> None:
    manager = stored(3, [p, q, r])  # vllm-project/vllm#51787
    assert evicted(manager.prepare_store([x, y])) == [r, q]


def test_the_head_of_a_prefix_touched_while_pending_is_evicted_after_its_tail() -> None:
    manager = CPUOffloadingManager(3)  # vllm-project/vllm#51787: the touch of pending keys is dropped
    manager.prepare_store([p, q, r])
    manager.touch([p, q, r])
    manager.complete_store([p, q, r])
    assert evicted(manager.prepare_store([x])) == [r]


def test_the_head_of_a_released_prefix_is_evicted_after_its_tail() -> None:
    manager = stored(3, [p, q, r])  # vllm-project/vllm#51787
    load = manager.prepare_load([p, q, r])
    manager.complete_load([p, q, r], transfer_id=load.transfer_id)
    assert evicted(manager.prepare_store([x])) == [r]


def test_the_head_of_a_touched_prefix_is_evicted_after_its_tail() -> None:
    manager = stored(3, [r], [q], [p])  # vllm-project/vllm#39021
    manager.touch([p, q, r])
    assert evicted(manager.prepare_store([x])) == [r]


# --- keys named twice ---


def test_a_new_key_named_twice_takes_one_block() -> None:
    manager = CPUOffloadingManager(2)  # hazard: duplicate new keys in one prepare_store
    output = store(manager, [a, a])
    assert (output.keys_to_store, len(output.store_spec.block_ids)) == ([a], 1)
    assert (manager.num_free_blocks, manager.num_evictable_cache_blocks) == (1, 1)


def test_a_key_named_twice_in_a_load_is_released_by_one_completion() -> None:
    manager = stored(1, [a])  # hazard: duplicate keys in one prepare_load; vllm-project/vllm#42761
    load = manager.prepare_load([a, a])
    assert load.block_ids == [0, 0]
    manager.complete_load({a}, transfer_id=load.transfer_id)
    assert evicted(manager.prepare_store([b])) == [a]


def test_a_key_named_twice_in_a_completion_is_released_once() -> None:
    manager = stored(1, [a])  # vllm-project/vllm#1556, #42571
    first, _ = manager.prepare_load([a]), manager.prepare_load([a])
    manager.complete_load([a, a], transfer_id=first.transfer_id)
    assert manager.prepare_store([b]) is None


def test_a_failed_store_that_names_a_key_twice_frees_its_block_once() -> None:
    manager = CPUOffloadingManager(2)  # vllm-project/vllm#42085
    manager.prepare_store([a])
    manager.complete_store([a, a], success=False)
    assert manager.num_free_blocks == 2


def test_two_releases_of_one_load_do_not_free_a_block_twice() -> None:
    manager = stored(1, [a])  # LMCache/LMCache#5005
    manager.prepare_load([a])
    manager.complete_load([a])
    with pytest.raises(UnbalancedReleaseError):
        manager.complete_load([a])
    assert (manager.num_free_blocks, manager.num_evictable_cache_blocks) == (0, 1)


# --- loads ---


def test_a_load_of_a_key_that_was_evicted_after_its_lookup_raises() -> None:
    manager = stored(2, [a], [b])  # vllm-project/vllm#39702
    assert manager.lookup(a) is HIT
    store(manager, [c])
    with pytest.raises(BlockNotFoundError):
        manager.prepare_load([a])


def test_a_load_that_raises_pins_nothing() -> None:
    manager = stored(1, [a])  # hazard: prepare_load is not atomic
    with pytest.raises(BlockNotFoundError):
        manager.prepare_load([a, z])
    assert evicted(manager.prepare_store([b])) == [a]


def test_a_release_that_raises_releases_nothing() -> None:
    manager = stored(2, [a, b])  # sgl-project/sglang#9927
    manager.prepare_load([a])
    with pytest.raises(UnbalancedReleaseError):
        manager.complete_load([a, b])
    assert manager.num_evictable_cache_blocks == 1


def test_a_pending_key_is_not_loaded() -> None:
    manager = CPUOffloadingManager(1)  # LMCache/LMCache#5032
    manager.prepare_store([a])
    with pytest.raises(BlockNotReadyError):
        manager.prepare_load([a])


def test_a_lookup_pins_nothing() -> None:
    manager = stored(2, [a, b])  # vllm-project/vllm#35931
    looked_up(manager, [a, b])
    assert evicted(manager.prepare_store([c, d])) == [b, a]


def test_a_block_with_two_loads_stays_until_both_are_complete() -> None:
    manager = stored(1, [a])  # LMCache/LMCache#2738
    first, second = manager.prepare_load([a]), manager.prepare_load([a])
    manager.complete_load([a], transfer_id=first.transfer_id)
    assert manager.prepare_store([b]) is None
    manager.complete_load([a], transfer_id=second.transfer_id)
    assert evicted(manager.prepare_store([b])) == [a]


# --- completions ---


@pytest.mark.parametrize("policy", ["lru", "arc", "slru", "s3fifo", "lfu", "fifo"])
def test_a_touch_of_a_pending_key_neither_raises_nor_loses_it(policy: str) -> None:
    manager = CPUOffloadingManager(1, cache_policy=policy)  # vllm-project/vllm#34576
    manager.prepare_store([a])
    manager.touch([a])
    manager.complete_store([a])
    assert (manager.lookup(a), manager.num_free_blocks) == (HIT, 0)


def test_a_stored_key_is_found() -> None:
    assert stored(1, [a]).lookup(a) is HIT  # vllm-project/vllm#53498


def test_a_failed_completion_leaves_a_ready_key_alone() -> None:
    manager = stored(1, [a])  # vllm-project/vllm#37874, the code before it
    manager.complete_store([a], success=False)
    assert (manager.lookup(a), manager.num_free_blocks) == (HIT, 0)


def test_a_failed_store_is_never_published() -> None:
    manager = CPUOffloadingManager(1, enable_events=True)  # LMCache/LMCache#5032; vllm-project/vllm#47923, #46544
    manager.prepare_store([a])
    manager.complete_store([a], success=False)
    assert (manager.lookup(a), manager.take_events()) == (MISS, [])


def test_a_failed_store_can_be_repeated() -> None:
    manager = CPUOffloadingManager(1)  # kvcache-ai/Mooncake#974, #849
    manager.prepare_store([a])
    manager.complete_store([a], success=False)
    assert store(manager, [a]).keys_to_store == [a]


def test_a_report_on_a_part_of_a_store_completes_that_part() -> None:
    manager = CPUOffloadingManager(2)  # vllm-project/tpu-inference#3152
    output = manager.prepare_store([a, b])
    assert output is not None
    manager.complete_store([a], transfer_id=output.transfer_id)
    assert looked_up(manager, [a, b]) == [HIT, HIT_PENDING]


# --- resets ---


def test_a_store_from_before_a_reset_does_not_complete_one_from_after_it() -> None:
    manager = CPUOffloadingManager(1)  # vllm-project/vllm#41956; hazard: late completion after a reset
    before = manager.prepare_store([a])
    manager.reset_cache()
    after = manager.prepare_store([a])
    assert before is not None and after is not None
    manager.complete_store([a], transfer_id=before.transfer_id)
    assert manager.lookup(a) is HIT_PENDING
    manager.complete_store([a], transfer_id=after.transfer_id)
    assert manager.lookup(a) is HIT


def test_a_load_from_before_a_reset_releases_nothing_after_it() -> None:
    manager = stored(1, [a])  # vllm-project/vllm#41956
    before = manager.prepare_load([a])
    manager.reset_cache()
    store(manager, [a])
    manager.prepare_load([a])
    manager.complete_load([a], transfer_id=before.transfer_id)
    assert manager.prepare_store([b]) is None


def test_nothing_is_served_after_a_reset() -> None:
    manager = stored(1, [a])  # vllm-project/vllm#57727; LMCache/LMCache#4993
    manager.reset_cache()
    assert manager.lookup(a) is MISS


def test_a_reset_with_pins_frees_each_block_once() -> None:
    manager = stored(2, [a, b])  # LMCache/LMCache#987
    manager.prepare_load([a])
    manager.reset_cache()
    output = manager.prepare_store([c, d])
    assert output is not None
    assert (sorted(output.store_spec.block_ids), manager.num_free_blocks) == ([0, 1], 0)


# --- events ---


def test_a_completed_store_is_announced_once() -> None:
    manager = CPUOffloadingManager(1, enable_events=True)  # LMCache/LMCache#3532
    store(manager, [a])
    assert manager.take_events() == [OffloadingEvent(STORED, (a,))]
    assert manager.take_events() == []


def test_an_eviction_is_announced() -> None:
    manager = stored(1, [a])  # vllm-project/vllm#37874
    manager.prepare_store([b])
    assert manager.take_events() == [OffloadingEvent(REMOVED, (a,))]


def test_a_reset_is_announced_as_one_clear() -> None:
    manager = stored(2, [a, b])  # vllm-project/vllm#41956
    manager.reset_cache()
    assert manager.take_events() == [OffloadingEvent(CLEARED)]


@pytest.mark.parametrize(
    "call",
    [lambda manager: manager.lookup(a), lambda manager: manager.touch([a]), lambda manager: manager.prepare_load([a])],
    ids=["lookup", "touch", "load"],
)
def test_reading_tells_nothing(call: Callable[[CPUOffloadingManager], object]) -> None:
    manager = stored(1, [a])  # lightseekorg/tokenspeed#166
    call(manager)
    assert manager.take_events() == []


# --- statistics and admission ---


def test_idle_blocks_do_not_count_as_used() -> None:
    stats = stored(4, [a, b, c, d]).get_stats()  # vllm-project/vllm#45737, #47666
    assert (stats.used, stats.used_read, stats.used_write, stats.idle) == (0.0, 0.0, 0.0, 4)


def test_evictions_are_counted_in_blocks() -> None:
    manager = stored(2, [a, b], [c])  # vllm-project/vllm#53893
    assert manager.get_stats().counters.blocks_evicted == 1
    store(manager, [d, e])
    assert manager.get_stats().counters.blocks_evicted == 3


def test_a_whole_prefix_is_admitted_with_its_second_offer() -> None:
    manager = CPUOffloadingManager(4, store_threshold=2)  # vllm-project/vllm#52227, #52022
    assert store(manager, [a, b, c, d]).keys_to_store == []
    assert store(manager, [a, b, c, d]).keys_to_store == [a, b, c, d]


def test_an_offer_larger_than_the_tracker_makes_progress() -> None:
    manager = CPUOffloadingManager(4, store_threshold=2, max_tracker_size=3)  # vllm-project/vllm#54759
    store(manager, [a, b, c, d])
    assert store(manager, [a, b, c, d]).keys_to_store == [a, b, c]
