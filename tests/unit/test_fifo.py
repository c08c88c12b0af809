"""FIFO by hand: which block goes next, one claim per test."""

from kvoffload import BlockStatus, CPUOffloadingManager, FIFOCachePolicy, OffloadKey
from kvoffload.contract import keys

a, b, c, d, e = keys("abcde")


def holding(*idle: OffloadKey) -> FIFOCachePolicy:
    """A policy in which these keys are idle, the first became so first."""
    policy = FIFOCachePolicy(5)
    for block_id, key in enumerate(idle):
        policy.insert(key, BlockStatus(block_id, 0))
    return policy


def pin(policy: FIFOCachePolicy, key: OffloadKey) -> None:
    policy.blocks[key].ref_cnt = 1
    policy.mark_non_evictable(key)


def unpin(policy: FIFOCachePolicy, key: OffloadKey) -> None:
    policy.blocks[key].ref_cnt = 0
    policy.mark_evictable(key)


def evicted(policy: FIFOCachePolicy, n: int, *protected: OffloadKey) -> list[OffloadKey] | None:
    victims = policy.evict(n, set(protected))
    return None if victims is None else [key for key, _ in victims]


def test_what_became_ready_first_goes_first() -> None:
    assert evicted(holding(a, b, c), 2) == [a, b]


def test_the_place_is_taken_when_the_block_becomes_ready_and_not_when_it_is_stored() -> None:
    policy = FIFOCachePolicy(5)
    for block_id, key in enumerate((a, b)):
        policy.insert(key, BlockStatus(block_id))
    unpin(policy, b)
    unpin(policy, a)
    assert evicted(policy, 2) == [b, a]


def test_a_touch_moves_nothing() -> None:
    policy = holding(a, b, c)
    policy.touch([b, a])
    assert evicted(policy, 3) == [a, b, c]


def test_a_pinned_block_has_its_place_again_when_it_is_idle() -> None:
    policy = holding(a, b, c)
    pin(policy, b)
    assert evicted(policy, 1) == [a]
    unpin(policy, b)
    assert evicted(policy, 2) == [b, c]


def test_a_pinned_block_that_was_passed_over_goes_to_the_end_when_it_is_idle() -> None:
    policy = holding(a, b, c)
    pin(policy, a)
    assert evicted(policy, 1) == [b]
    unpin(policy, a)
    assert evicted(policy, 2) == [c, a]


def test_a_protected_block_keeps_its_place() -> None:
    policy = holding(a, b, c, d)
    assert evicted(policy, 1, a, b) == [c]
    assert evicted(policy, 3) == [a, b, d]


def test_a_pinned_block_that_is_protected_as_well_is_passed_over() -> None:
    policy = holding(a, b, c)
    pin(policy, a)
    assert evicted(policy, 1, a) == [b]
    unpin(policy, a)
    assert evicted(policy, 2) == [c, a]


def test_a_refused_evict_passes_over_nothing() -> None:
    policy = holding(a, b, c)
    pin(policy, a)
    assert evicted(policy, 2, c, e) is None
    unpin(policy, a)
    assert evicted(policy, 3) == [a, b, c]


def test_a_key_that_is_stored_again_starts_at_the_end() -> None:
    policy = holding(a, b)
    policy.remove(a)
    policy.insert(a, BlockStatus(0, 0))
    assert evicted(policy, 2) == [b, a]


def test_the_tail_of_a_prefix_goes_before_its_head() -> None:
    manager = CPUOffloadingManager(3, "fifo")
    manager.prepare_store([a, b, c])
    manager.complete_store([a, b, c])
    output = manager.prepare_store([d, e])
    assert output is not None and output.evicted_keys == [c, b]
