"""The statistics, one claim each."""

from kvoffload import CPUOffloadingManager, ReqContext
from kvoffload.contract import keys

a, b, c, d, e = keys("abcde")


def full() -> CPUOffloadingManager:
    """Four blocks, all idle."""
    manager = CPUOffloadingManager(4)
    manager.prepare_store([a, b, c, d])
    manager.complete_store([a, b, c, d])
    return manager


def test_idle_blocks_do_not_count_as_used() -> None:
    assert full().get_stats().used == 0.0


def test_used_is_the_share_that_is_written_and_the_share_that_is_read() -> None:
    manager = full()
    manager.prepare_load([a])
    manager.prepare_store([e])
    stats = manager.get_stats()
    assert (stats.used, stats.used_write, stats.used_read) == (0.5, 0.25, 0.25)


def test_every_block_is_pending_or_pinned_or_idle_or_free() -> None:
    manager = CPUOffloadingManager(4)
    manager.prepare_store([a, b, c])
    manager.complete_store([a, b])
    manager.prepare_load([a])
    stats = manager.get_stats()
    assert (stats.pending, stats.pinned, stats.idle, stats.free) == (1, 1, 1, 1)


def test_evictions_are_counted_in_blocks() -> None:
    manager = full()
    manager.prepare_store([e])
    assert manager.get_stats().counters.blocks_evicted == 1


def test_a_refused_store_counts_once_and_its_blocks_as_offered() -> None:
    manager = full()
    manager.prepare_store([a, b, c, d, e])
    counters = manager.get_stats().counters
    assert (counters.stores_refused, counters.blocks_offered) == (1, 5)


def test_a_load_that_names_a_key_twice_loads_one_block() -> None:
    manager = full()
    manager.prepare_load([a, a])
    assert manager.get_stats().counters.blocks_loaded == 1


def test_a_completion_from_before_a_reset_is_stale() -> None:
    manager = full()
    load = manager.prepare_load([a])
    manager.reset_cache()
    manager.complete_load([a], transfer_id=load.transfer_id)
    assert manager.get_stats().counters.stale_completions == 1


def test_a_key_that_admission_skips_is_counted() -> None:
    manager = CPUOffloadingManager(4, store_threshold=2)
    manager.prepare_store([a, b], ReqContext("r1"))
    assert manager.get_stats().counters.blocks_skipped == 2


def test_a_snapshot_does_not_change_afterwards() -> None:
    manager = full()
    stats = manager.get_stats()
    manager.lookup(a)
    assert stats.counters.hits == 0


def test_a_manager_of_no_blocks_uses_none() -> None:
    assert CPUOffloadingManager(0).get_stats().used == 0.0


def test_a_reset_counts_from_zero() -> None:
    manager = full()
    manager.reset_cache()
    assert manager.get_stats() == CPUOffloadingManager(4).get_stats()
