"""SLRU by hand: which block goes next, one claim per test."""

import pytest

from kvoffload import BlockStatus, CPUOffloadingManager, OffloadKey, ReqContext, SLRUCachePolicy
from kvoffload.contract import keys

a, b, c, d, e = keys("abcde")


def holding(*idle: OffloadKey, capacity: int = 5, protected_share: float = 0.8) -> SLRUCachePolicy:
    """A policy in which these keys are idle, the first became so first."""
    policy = SLRUCachePolicy(capacity, protected_share)
    for block_id, key in enumerate(idle):
        policy.insert(key, BlockStatus(block_id, 0))
    return policy


def pin(policy: SLRUCachePolicy, key: OffloadKey) -> None:
    policy.blocks[key].ref_cnt = 1
    policy.mark_non_evictable(key)


def unpin(policy: SLRUCachePolicy, key: OffloadKey) -> None:
    policy.blocks[key].ref_cnt = 0
    policy.mark_evictable(key)


def segments(policy: SLRUCachePolicy) -> tuple[list[OffloadKey], list[OffloadKey]]:
    """The idle keys of the probationary and of the protected segment, least recent first."""
    return list(policy.evictable_probationary), list(policy.evictable_protected)


def evicted(policy: SLRUCachePolicy, n: int, *protected: OffloadKey) -> list[OffloadKey] | None:
    victims = policy.evict(n, set(protected))
    return None if victims is None else [key for key, _ in victims]


def test_an_access_moves_a_block_to_the_protected_segment() -> None:
    policy = holding(a, b)
    policy.touch([a])
    assert segments(policy) == ([b], [a])


def test_what_was_used_once_goes_before_what_was_used_again() -> None:
    policy = holding(a, b, c)
    policy.touch([a])
    assert evicted(policy, 3) == [b, c, a]


def test_one_block_too_many_sends_the_least_recent_protected_one_back_as_the_most_recent_on_probation() -> None:
    policy = holding(a, b, c, d, capacity=4, protected_share=0.5)
    policy.touch([b, a])
    policy.touch([c])
    assert segments(policy) == ([d, a], [b, c])


def test_a_protected_block_that_is_used_again_is_the_last_to_be_sent_back() -> None:
    policy = holding(a, b, c, capacity=4, protected_share=0.5)
    policy.touch([b, a])
    policy.touch([a])
    policy.touch([c])
    assert segments(policy) == ([b], [a, c])


@pytest.mark.parametrize(
    ("protected_share", "expected"), [(0, ([c, b, a], [])), (0.5, ([c], [b, a])), (1, ([], [c, b, a]))]
)
def test_the_share_says_how_many_blocks_are_protected(
    protected_share: float, expected: tuple[list[OffloadKey], list[OffloadKey]]
) -> None:
    policy = holding(a, b, c, capacity=4, protected_share=protected_share)
    policy.touch([a, b, c])
    assert segments(policy) == expected


@pytest.mark.parametrize(("capacity", "most_protected"), [(0, 0), (1, 0), (2, 1), (4, 3), (5, 4)])
def test_the_share_is_rounded_down_to_blocks(capacity: int, most_protected: int) -> None:
    assert SLRUCachePolicy(capacity).most_protected == most_protected


@pytest.mark.parametrize("protected_share", [-0.1, 1.5, float("nan")])
def test_a_share_that_is_none_is_refused(protected_share: float) -> None:
    expected = f"protected_share is {protected_share}; it is a share of the capacity, from 0 to 1."
    with pytest.raises(ValueError, match=expected):
        SLRUCachePolicy(4, protected_share)


def test_pinned_blocks_that_are_used_again_may_exceed_the_share_until_they_are_idle() -> None:
    policy = holding(a, b, c, capacity=4, protected_share=0.25)
    pin(policy, a)
    pin(policy, b)
    policy.touch([b, a])
    assert list(policy.protected_segment) == [a, b]
    unpin(policy, b)
    assert segments(policy) == ([c, b], [])
    unpin(policy, a)
    assert segments(policy) == ([c, b], [a])


def test_a_pinned_block_that_is_used_again_sends_an_idle_one_back() -> None:
    policy = holding(a, b, c, capacity=4, protected_share=0.25)
    policy.touch([a])
    pin(policy, b)
    policy.touch([b])
    assert segments(policy) == ([c, a], [])


def test_a_block_that_joins_only_pinned_ones_beyond_the_share_goes_back_at_once() -> None:
    policy = holding(a, b, c, capacity=4, protected_share=0.25)
    pin(policy, a)
    policy.touch([a])
    policy.touch([b])
    assert segments(policy) == ([c, b], [])


def test_a_request_that_touches_again_what_it_used_last_changes_nothing() -> None:
    first, second = ReqContext("first"), ReqContext("second")
    policy = SLRUCachePolicy(4)
    policy.on_store_miss([a, b], first)
    policy.insert(a, BlockStatus(0, 0))
    policy.insert(b, BlockStatus(1, 0))
    policy.touch([a], first)
    assert segments(policy) == ([a, b], [])
    policy.touch([a, b], second)
    policy.touch([b], second)
    assert segments(policy) == ([], [b, a])


def test_a_block_that_was_sent_back_is_still_the_one_that_its_request_used_last() -> None:
    request = ReqContext("request")
    policy = holding(a, b, c, capacity=4, protected_share=0.25)
    policy.touch([a], request)
    policy.touch([b])
    policy.touch([a], request)
    assert segments(policy) == ([c, a], [b])


def test_a_touch_of_a_pending_block_is_no_access() -> None:
    policy = SLRUCachePolicy(4)
    policy.insert(a, BlockStatus(0))
    policy.touch([a])
    unpin(policy, a)
    assert segments(policy) == ([a], [])


def test_a_failed_store_leaves_nothing_behind() -> None:
    manager = CPUOffloadingManager(2, SLRUCachePolicy)
    manager.prepare_store([a])
    manager.complete_store([a])
    manager.touch([a])
    manager.prepare_store([b])
    manager.complete_store([b], success=False)
    manager.prepare_store([b])
    manager.complete_store([b])
    output = manager.prepare_store([c])
    assert output is not None and output.evicted_keys == [b]


def test_a_refused_evict_changes_nothing() -> None:
    policy = holding(a, b, c)
    policy.touch([b])
    assert evicted(policy, 3, b) is None
    assert segments(policy) == ([a, c], [b])
    assert evicted(policy, 2, b) == [a, c]
