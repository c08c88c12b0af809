"""What a user's test file looks like. CI runs it from an empty folder, against the built wheel."""

from importlib.resources import files

import pytest

from kvoffload import CPUOffloadingManager, LRUCachePolicy
from kvoffload.contract import Verdict, check_manager, check_policy


class KeepsNewest(LRUCachePolicy):
    """Touches the wrong way round."""

    def touch(self, keys, req_context=None):  # type: ignore[no-untyped-def]  # users need not annotate
        super().touch(keys[::-1], req_context)


def test_a_kept_policy_is_green() -> None:
    report = check_policy(LRUCachePolicy, order="lru")
    assert report.verdict is Verdict.KEPT, report


def test_a_kept_manager_is_green() -> None:
    report = check_manager(lambda num_blocks: CPUOffloadingManager(num_blocks, KeepsNewest, enable_events=True))
    assert report.verdict is Verdict.KEPT, report


def test_a_broken_policy_is_red_with_the_clause_that_it_breaks() -> None:
    report = check_policy(KeepsNewest, order="lru")
    assert list(report.broken) == ["order-lru"], report


@pytest.mark.parametrize("package", ["kvoffload", "kvoffload_spec"])
def test_the_types_are_shipped(package: str) -> None:
    assert files(package).joinpath("py.typed").is_file()
