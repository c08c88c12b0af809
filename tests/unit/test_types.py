"""Keys and blocks by hand, one claim each: the contract makes its keys by itself."""

import pytest

from kvoffload import BlockStatus, make_offload_key
from kvoffload.contract import keys
from kvoffload.types import get_offload_block_hash, get_offload_group_idx


@pytest.mark.parametrize(
    ("group_idx", "key"),
    [(0, b"ab\0\0\0\0"), (1, b"ab\0\0\0\1"), (258, b"ab\0\0\1\2"), (2**32 - 1, b"ab\xff\xff\xff\xff")],
)
def test_a_key_is_the_hash_and_then_the_group_in_four_bytes(group_idx: int, key: bytes) -> None:
    made = make_offload_key(b"ab", group_idx)
    assert made == key
    assert (get_offload_block_hash(made), get_offload_group_idx(made)) == (b"ab", group_idx)


@pytest.mark.parametrize("group_idx", [-1, 2**32])
def test_a_group_that_does_not_fit_is_refused(group_idx: int) -> None:
    with pytest.raises(ValueError, match="group_idx"):
        make_offload_key(b"ab", group_idx)


def test_the_keys_of_a_history_are_those_of_group_0() -> None:
    assert keys("ab") == (make_offload_key(b"a", 0), make_offload_key(b"b", 0))


@pytest.mark.parametrize(("ref_cnt", "is_ready"), [(-1, False), (0, True), (1, True), (2, True)])
def test_a_block_is_ready_once_it_is_not_pending(ref_cnt: int, is_ready: bool) -> None:
    assert BlockStatus(7, ref_cnt).is_ready is is_ready
