"""The manager's own errors: the contract asks for an exception, and ours are these."""

import pytest

from kvoffload import BlockNotFoundError, BlockNotReadyError, CPUOffloadingManager, UnbalancedReleaseError
from kvoffload.contract import keys

a, b = keys("ab")


def test_a_load_of_a_missing_key_says_so() -> None:
    with pytest.raises(BlockNotFoundError, match=f"key {a.hex()}, which is not resident.*Look the key up again"):
        CPUOffloadingManager(1).prepare_load([a])


def test_a_load_of_a_pending_key_says_so() -> None:
    manager = CPUOffloadingManager(1)
    manager.prepare_store([a])
    with pytest.raises(BlockNotReadyError, match=f"key {a.hex()}, whose store has not completed.*Wait for"):
        manager.prepare_load([a])


def test_a_release_of_a_missing_key_says_so() -> None:
    with pytest.raises(UnbalancedReleaseError, match=f"key {a.hex()}, but no load of it is in progress"):
        CPUOffloadingManager(1).complete_load([a])


def test_a_release_of_a_pending_key_says_so() -> None:
    manager = CPUOffloadingManager(1)
    manager.prepare_store([a])
    with pytest.raises(UnbalancedReleaseError, match="no load of it is in progress"):
        manager.complete_load([a])


def test_a_release_of_what_another_load_holds_names_the_transfer() -> None:
    manager = CPUOffloadingManager(2)
    manager.prepare_store([a, b])
    manager.complete_store([a, b])
    manager.prepare_load([a])
    of_b = manager.prepare_load([b])
    with pytest.raises(UnbalancedReleaseError, match=f"transfer {of_b.transfer_id} does not hold it"):
        manager.complete_load([a], transfer_id=of_b.transfer_id)


def test_a_policy_that_raises_leaves_a_key_that_moved_to_another_block_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    manager = CPUOffloadingManager(3)
    manager.prepare_store([a, b])
    manager.complete_store([a, b], success=False)
    manager.prepare_store([a])  # in the block that b had
    manager.complete_store([a])

    def refuse() -> None:
        raise RuntimeError("no")

    monkeypatch.setattr(manager._policy, "clear", refuse)
    with pytest.raises(RuntimeError, match="no"):
        manager.reset_cache()
    assert (manager.num_free_blocks, manager.num_evictable_cache_blocks) == (2, 1)
