"""MIN on traces small enough to work out by hand."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from kvoffload.replay.belady import replay_min
from kvoffload.replay.traces import TraceFile

CONVERSATION = Path(__file__).parents[2].parent / "shared" / "traces" / "mooncake_conversation.jsonl.gz"


class Requests:
    """Requests from memory."""

    def __init__(self, *requests: Sequence[int]) -> None:
        self._requests = requests

    progress = 0.0

    def __iter__(self) -> Iterator[Sequence[int]]:
        return iter(self._requests)


def test_the_block_with_the_nearest_next_use_is_kept() -> None:
    result = replay_min(Requests([1], [2], [1], [2]), num_blocks=1)
    assert (result.num_hits, result.num_evicted) == (1, 1)


def test_with_room_for_all_every_repeat_is_a_hit() -> None:
    assert replay_min(Requests([1, 2], [1, 2, 3], [1, 2, 3]), num_blocks=3).num_hits == 5


def test_a_block_that_is_not_used_again_takes_no_room() -> None:
    result = replay_min(Requests([1], [7], [8], [1]), num_blocks=1)
    assert (result.num_hits, result.num_evicted) == (1, 0)


def test_only_a_prefix_is_a_hit() -> None:
    assert replay_min(Requests([1, 2], [9, 2]), num_blocks=2).num_hits == 0


def test_a_cache_of_no_blocks_has_no_hits() -> None:
    assert replay_min(Requests([1], [1]), num_blocks=0).num_hits == 0


@pytest.mark.skipif(not CONVERSATION.exists(), reason="the traces are not part of a clone")
@pytest.mark.parametrize(("num_blocks", "percent"), [(914, 18.30), (9_140, 36.64)])
def test_the_conversation_trace_has_its_known_optimum(num_blocks: int, percent: float) -> None:
    assert 100 * replay_min(TraceFile(CONVERSATION, None), num_blocks).hit_rate == pytest.approx(percent, abs=0.1)
