"""LFU with aging by hand: which block goes next, one claim per test."""

from kvoffload import BlockStatus, CPUOffloadingManager, LFUCachePolicy, OffloadKey, ReqContext
from kvoffload.contract import keys

a, b, c, d, e = keys("abcde")


def holding(*idle: OffloadKey, capacity: int = 5) -> LFUCachePolicy:
    """A policy in which these keys are idle, the first became so first."""
    policy = LFUCachePolicy(capacity)
    for block_id, key in enumerate(idle):
        policy.insert(key, BlockStatus(block_id, 0))
    return policy


def use(policy: LFUCachePolicy, key: OffloadKey, times: int) -> None:
    for _ in range(times):
        policy.touch([key])


def evicted(policy: LFUCachePolicy, n: int, *protected: OffloadKey) -> list[OffloadKey] | None:
    victims = policy.evict(n, set(protected))
    return None if victims is None else [key for key, _ in victims]


def test_the_block_that_was_used_least_often_goes_first() -> None:
    policy = holding(a, b, c)
    use(policy, a, 2)
    use(policy, c, 1)
    assert evicted(policy, 3) == [b, c, a]


def test_of_blocks_used_equally_often_the_least_recent_goes_first() -> None:
    policy = holding(a, b, c)
    policy.touch([b])
    policy.touch([a])
    policy.touch([c])
    assert evicted(policy, 3) == [b, a, c]


def test_of_the_keys_of_one_touch_the_head_goes_last() -> None:
    policy = holding(a, b, c)
    policy.touch([a, b, c])
    assert evicted(policy, 3) == [c, b, a]


def test_a_block_that_was_pinned_is_the_most_recent_of_its_equals() -> None:
    policy = holding(a, b)
    policy.mark_non_evictable(a)
    policy.mark_evictable(a)
    assert evicted(policy, 2) == [b, a]


def test_an_old_favourite_goes_in_the_end() -> None:
    policy = holding(a, capacity=2)
    use(policy, a, 3)  # priority 4
    passing = keys("bcdefg")
    gone = []
    for key in passing:
        policy.insert(key, BlockStatus(1, 0))  # priority 1 + age
        gone += evicted(policy, 1) or []
    assert gone == [*keys("bcd"), a, *keys("ef")]


def test_the_age_is_the_highest_priority_of_any_victim() -> None:
    policy = holding(a, b, c)
    use(policy, a, 4)
    assert evicted(policy, 1, b, c) == [a]
    assert policy.age == 5
    assert evicted(policy, 1) == [b]
    assert policy.age == 5


def test_a_use_counts_from_the_age_of_the_cache_at_that_time() -> None:
    policy = holding(a, b, c)
    use(policy, a, 4)
    evicted(policy, 1, b, c)  # the age is 5 now
    policy.touch([b])  # priority 2 + 5
    policy.insert(d, BlockStatus(3, 0))  # priority 1 + 5
    assert evicted(policy, 3) == [c, d, b]


def test_a_refused_evict_changes_nothing_and_the_age_least_of_all() -> None:
    policy = holding(a, b, c)
    use(policy, a, 2)
    assert evicted(policy, 3, c) is None
    assert policy.age == 0
    assert list(policy.evictable_blocks) == [b, c, a]


def test_a_key_that_comes_back_starts_with_one_use() -> None:
    policy = holding(a, b)
    use(policy, a, 9)
    policy.remove(a)
    policy.insert(a, BlockStatus(0, 0))
    use(policy, b, 1)
    assert evicted(policy, 2) == [a, b]


def test_a_failed_store_does_not_age_the_cache() -> None:
    manager = CPUOffloadingManager(2, LFUCachePolicy)
    manager.prepare_store([a])
    manager.complete_store([a], success=False)
    policy = manager._policy
    assert isinstance(policy, LFUCachePolicy)
    assert policy.age == 0 and not policy.usage


def test_a_request_that_touches_again_what_it_used_last_changes_nothing() -> None:
    first, second = ReqContext("first"), ReqContext("second")
    policy = LFUCachePolicy(4)
    policy.on_store_miss([a, b], first)
    policy.insert(a, BlockStatus(0, 0))
    policy.insert(b, BlockStatus(1, 0))
    policy.touch([a], first)
    assert list(policy.evictable_blocks) == [a, b]
    policy.touch([b], second)
    policy.touch([a], second)
    policy.touch([b], second)
    assert list(policy.evictable_blocks) == [b, a]


def test_a_touch_of_a_pending_block_is_no_use() -> None:
    policy = holding(a)
    block = BlockStatus(1)
    policy.insert(b, block)
    use(policy, b, 3)
    block.ref_cnt = 0
    policy.mark_evictable(b)
    policy.touch([a])
    assert evicted(policy, 2) == [b, a]


def test_uses_without_evictions_do_not_pile_up_empty_buckets() -> None:
    policy = holding(a, capacity=2)
    use(policy, a, 1_000)
    assert len(policy.buckets) <= 4  # one in use, so many more before the empty ones go
