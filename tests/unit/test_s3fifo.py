"""S3-FIFO by hand: which block goes next, one claim per test."""

import pytest

from kvoffload import BlockStatus, OffloadKey, ReqContext, S3FIFOCachePolicy
from kvoffload.contract import keys

a, b, c, d, e = keys("abcde")


def holding(small: str = "", main: str = "", capacity: int = 5, small_share: float = 0.1) -> S3FIFOCachePolicy:
    """A policy with these idle blocks, unused, in small and in main; the first became idle first."""
    policy = S3FIFOCachePolicy(capacity, small_share)
    for key in keys(main):
        store(policy, key)
        policy.evict(1, set())
    for key in keys(main + small):
        store(policy, key)
    return policy


def store(policy: S3FIFOCachePolicy, key: OffloadKey) -> None:
    policy.insert(key, BlockStatus(len(policy.blocks), 0))


def use(policy: S3FIFOCachePolicy, key: OffloadKey, times: int) -> None:
    for _ in range(times):
        policy.touch([key])


def pin(policy: S3FIFOCachePolicy, key: OffloadKey) -> None:
    policy.blocks[key].ref_cnt = 1
    policy.mark_non_evictable(key)


def unpin(policy: S3FIFOCachePolicy, key: OffloadKey) -> None:
    policy.blocks[key].ref_cnt = 0
    policy.mark_evictable(key)


def queues(policy: S3FIFOCachePolicy) -> tuple[list[OffloadKey], list[OffloadKey]]:
    """The small queue and the main queue, next turn first."""
    return list(policy.small_queue), list(policy.main_queue)


def evicted(policy: S3FIFOCachePolicy, n: int, *protected: OffloadKey) -> list[OffloadKey] | None:
    victims = policy.evict(n, set(protected))
    return None if victims is None else [key for key, _ in victims]


def test_small_goes_first_down_to_its_share_and_then_main() -> None:
    assert evicted(holding(small="abc", main="de"), 5) == [a, b, d, e, c]


def test_the_share_counts_blocks_that_cannot_be_evicted() -> None:
    policy = holding(small="a", main="de")
    policy.insert(b, BlockStatus(9))
    assert evicted(policy, 1) == [a]


@pytest.mark.parametrize(("small_share", "most_small"), [(0, 1), (0.1, 1), (0.29, 2), (0.5, 5), (1, 10)])
def test_the_share_is_rounded_down_to_blocks_and_at_least_one(small_share: float, most_small: int) -> None:
    assert S3FIFOCachePolicy(10, small_share).most_small == most_small


@pytest.mark.parametrize("small_share", [-0.1, 1.5, float("nan")])
def test_a_share_that_is_none_is_refused(small_share: float) -> None:
    expected = f"small_share is {small_share}; it is a share of the capacity, from 0 to 1."
    with pytest.raises(ValueError, match=expected):
        S3FIFOCachePolicy(4, small_share)


def test_a_block_that_was_used_once_leaves_from_small_and_one_that_was_used_twice_goes_to_main() -> None:
    policy = holding(small="abc")
    use(policy, a, 2)
    use(policy, b, 1)
    assert evicted(policy, 1) == [b]
    assert queues(policy) == ([c], [a])


def test_a_block_that_comes_to_main_has_to_be_used_again_to_stay() -> None:
    policy = holding(small="ab", main="d")
    use(policy, a, 3)
    assert evicted(policy, 2) == [d, a]


def test_each_use_gives_a_block_of_main_another_turn_up_to_three() -> None:
    policy = holding(main="abc")
    use(policy, a, 5)
    use(policy, b, 1)
    assert evicted(policy, 2) == [c, b]
    assert policy.uses == {a: 1}


def test_it_ends_with_a_victim_when_every_block_is_in_use() -> None:
    policy = holding(main="abc")
    for key in (a, b, c):
        use(policy, key, 3)
    assert evicted(policy, 1) == [a]
    assert policy.uses == {b: 0, c: 0}


def test_a_ghost_that_is_stored_again_belongs_to_main() -> None:
    policy = holding(small="ab")
    assert evicted(policy, 1) == [a]
    store(policy, a)
    assert queues(policy) == ([b], [a])


def test_what_leaves_from_main_is_no_ghost() -> None:
    policy = holding(main="a")
    assert evicted(policy, 1) == [a]
    store(policy, a)
    assert queues(policy) == ([a], [])


def test_the_oldest_ghost_is_forgotten_when_there_are_more_than_the_capacity() -> None:
    policy = S3FIFOCachePolicy(2)
    for key in (a, b, c):
        store(policy, key)
        policy.evict(1, set())
    assert list(policy.ghosts) == [b, c]


def test_a_pinned_block_is_in_no_queue() -> None:
    policy = holding(small="a", main="bc")
    pin(policy, a)
    pin(policy, b)
    assert queues(policy) == ([], [c])


def test_a_block_that_is_idle_again_enters_its_queue_at_the_end() -> None:
    policy = holding(main="abc")
    pin(policy, a)
    unpin(policy, a)
    assert queues(policy) == ([], [b, c, a])


def test_a_pinned_block_of_small_still_belongs_to_it() -> None:
    policy = holding(small="ab", main="c")
    pin(policy, a)
    assert evicted(policy, 1) == [b]


def test_a_protected_block_keeps_its_place_and_its_uses() -> None:
    policy = holding(main="abc")
    use(policy, a, 1)
    assert evicted(policy, 1, a) == [b]
    assert queues(policy) == ([], [a, c])
    assert policy.uses[a] == 1


def test_a_request_that_touches_again_what_it_stored_or_used_last_is_no_use() -> None:
    first, second = ReqContext("first"), ReqContext("second")
    policy = S3FIFOCachePolicy(5)
    policy.on_store_miss([a], first)
    store(policy, a)
    policy.touch([a], first)
    assert policy.uses == {a: 0}
    policy.touch([a, a], second)
    policy.touch([a], second)
    assert policy.uses == {a: 1}


def test_a_touch_of_a_pending_block_is_no_use() -> None:
    policy = S3FIFOCachePolicy(5)
    policy.insert(a, BlockStatus(0))
    policy.touch([a])
    assert policy.uses == {a: 0}


def test_a_refused_evict_changes_nothing() -> None:
    policy = holding(small="ab", main="cd")
    use(policy, a, 2)
    use(policy, c, 1)
    pin(policy, b)
    assert evicted(policy, 3, d) is None
    assert queues(policy) == ([a], [c, d])
    assert policy.uses == {a: 2, b: 0, c: 1, d: 0}
