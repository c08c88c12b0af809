"""The made-up workload is repeatable and has the shape it promises."""

from itertools import pairwise

import pytest

from kvoffload.replay.synthetic import SyntheticConversations


def continues(request: list[int], earlier: list[int]) -> bool:
    return request[: len(earlier)] == earlier


def test_the_same_seed_gives_the_same_requests() -> None:
    assert list(SyntheticConversations(200, seed=5)) == list(SyntheticConversations(200, seed=5))


def test_another_seed_gives_other_requests() -> None:
    assert list(SyntheticConversations(200, seed=5)) != list(SyntheticConversations(200, seed=6))


def test_the_requests_of_a_seed_stay_what_they_are() -> None:
    lengths = [len(request) for request in SyntheticConversations(8, seed=0)]
    assert lengths == [57, 67, 81, 97, 121, 48, 78, 70]


def test_it_starts_anew_with_every_iteration() -> None:
    workload = SyntheticConversations(50)
    assert list(workload) == list(workload)


def test_there_are_as_many_requests_as_asked_for() -> None:
    assert len(list(SyntheticConversations(17))) == 17


def test_progress_counts_the_requests() -> None:
    workload = SyntheticConversations(4)
    assert [workload.progress for _ in workload] == [0.25, 0.5, 0.75, 1.0]


def test_an_id_always_has_the_same_predecessor() -> None:
    before: dict[int, int] = {}
    for request in SyntheticConversations(1000):
        for previous, block_id in pairwise([-1, *request]):
            assert before.setdefault(block_id, previous) == previous


def test_no_request_repeats_an_id() -> None:
    assert all(len(set(request)) == len(request) for request in SyntheticConversations(1000))


def test_a_request_is_the_caller_s_own_list() -> None:
    requests = []
    for request in SyntheticConversations(50, seed=1):
        requests.append(list(request))
        request.clear()
    assert requests == list(SyntheticConversations(50, seed=1))


def test_a_continued_conversation_grows_by_a_turn() -> None:
    workload = SyntheticConversations(10, continue_share=1.0, turn_blocks=(3, 3))
    assert all(continues(after, before) and len(after) == len(before) + 3 for before, after in pairwise(workload))


def test_new_conversations_share_nothing_but_their_system_prompt() -> None:
    workload = SyntheticConversations(10, continue_share=0.0, num_system_prompts=1, system_blocks=(5, 5))
    first, *others = workload
    for other in others:
        assert set(first).intersection(other) == set(first[:5])


def test_about_the_given_share_continues_a_conversation() -> None:
    seen: set[int] = set()
    num_new = 0
    for request in SyntheticConversations(5000, continue_share=0.7, system_blocks=(1, 1)):
        num_new += request[1] not in seen
        seen.add(request[1])
    assert num_new / 5000 == pytest.approx(0.3, abs=0.02)


def test_only_recent_conversations_are_continued() -> None:
    alive: list[int] = []
    for request in SyntheticConversations(2000, num_recent=3, system_blocks=(1, 1)):
        if request[1] not in alive:
            alive = [*alive, request[1]][-3:]
        assert request[1] in alive
    assert len(alive) == 3
