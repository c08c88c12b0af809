"""The contract in a user's own test file: three lines each, no base class, no conftest, no plugin."""

from importlib.metadata import distribution
from pathlib import Path

import pytest

from kvoffload import CPUOffloadingManager, LRUCachePolicy
from kvoffload.contract import Check, manager_contract, policy_contract

QUICK = 40


class KeepsNewest(LRUCachePolicy):
    """Touches the wrong way round."""

    def touch(self, keys, req_context=None):  # type: ignore[no-untyped-def]  # users need not annotate
        super().touch(keys[::-1], req_context)


class LoggingManager(CPUOffloadingManager):
    """Writes down how often it was reset."""

    def __init__(self, folder: Path, num_blocks: int) -> None:
        super().__init__(num_blocks, enable_events=True)
        self.log = folder / "resets"

    def reset_cache(self) -> None:
        super().reset_cache()
        self.log.write_text("reset")


@policy_contract(order="lru", budget=QUICK)
def test_a_policy(check: Check) -> None:
    check(LRUCachePolicy)


@manager_contract(order="lru", budget=QUICK)
def test_a_manager_that_needs_a_fixture(check: Check, tmp_path: Path) -> None:
    check(lambda num_blocks: LoggingManager(tmp_path, num_blocks=num_blocks))


@policy_contract(order="lru", expected_failures={"order-lru": "touches the wrong way round"}, budget=QUICK)
def test_a_policy_with_a_known_bug(check: Check) -> None:
    check(KeepsNewest)


class TestPolicies:
    @policy_contract(budget=QUICK)
    @pytest.mark.parametrize("make", [LRUCachePolicy, KeepsNewest])
    def test_several(self, check: Check, make: type[LRUCachePolicy]) -> None:
        check(make)


def test_no_plugin_is_installed_into_pytest() -> None:
    assert {entry.group for entry in distribution("kvoffload").entry_points} == {"console_scripts"}
