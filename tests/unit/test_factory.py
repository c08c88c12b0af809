"""Policies by name: ours, registered ones, entry points, and classes in a module."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kvoffload import ARCCachePolicy, CPUOffloadingManager, LRUCachePolicy
from kvoffload.policies.factory import OURS, CachePolicyFactory
from kvoffload_spec.order import ORDERS

MODULE = """
from kvoffload import LRUCachePolicy

class TheirPolicy(LRUCachePolicy):
    pass

class NoPolicy:
    def __init__(self, capacity):
        pass
"""
ENTRY_POINTS = """[kvoffload.policies]
theirs = their_package.their_module:TheirPolicy
"""


@pytest.fixture(autouse=True)
def registry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever a test registers is gone afterwards."""
    monkeypatch.setattr(CachePolicyFactory, "_registry", dict(CachePolicyFactory._registry))


@pytest.fixture
def their_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An importable package of somebody else's, installed with an entry point."""
    (tmp_path / "their_package").mkdir()
    (tmp_path / "their_package" / "__init__.py").touch()
    (tmp_path / "their_package" / "their_module.py").write_text(MODULE)
    installed = tmp_path / "their_package-1.0.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: their-package\nVersion: 1.0\n")
    (installed / "entry_points.txt").write_text(ENTRY_POINTS)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path
    for name in [name for name in sys.modules if name.partition(".")[0] == "their_package"]:
        del sys.modules[name]


def policy_of(manager: CPUOffloadingManager) -> str:
    return type(manager._policy).__name__


def test_a_name_of_ours_finds_our_policy() -> None:
    assert CachePolicyFactory.get_cache_policy_cls("arc") is ARCCachePolicy


@pytest.mark.parametrize("name", OURS)
def test_each_of_ours_has_its_order(name: str) -> None:
    assert isinstance(CachePolicyFactory.get_cache_policy_cls(name), type)
    assert name in ORDERS


def test_a_registered_name_finds_its_class(their_package: Path) -> None:
    CachePolicyFactory.register_cache_policy("mine", "their_package.their_module", "TheirPolicy")
    assert policy_of(CPUOffloadingManager(1, "mine")) == "TheirPolicy"


def test_a_registered_module_is_not_imported_before_it_is_asked_for(their_package: Path) -> None:
    CachePolicyFactory.register_cache_policy("mine", "their_package.their_module", "TheirPolicy")
    assert "their_package.their_module" not in sys.modules


def test_registering_the_same_class_again_is_allowed() -> None:
    CachePolicyFactory.register_cache_policy("lru", "kvoffload.policies.lru", "LRUCachePolicy")
    assert CachePolicyFactory.get_cache_policy_cls("lru") is LRUCachePolicy


def test_a_name_cannot_be_taken_over() -> None:
    with pytest.raises(ValueError, match=r"'lru' is registered as kvoffload.policies.lru:LRUCachePolicy already"):
        CachePolicyFactory.register_cache_policy("lru", "their_package.their_module", "TheirPolicy")


def test_an_entry_point_is_found_by_its_name(their_package: Path) -> None:
    assert policy_of(CPUOffloadingManager(1, "theirs")) == "TheirPolicy"
    assert "theirs" in CachePolicyFactory.names()


def test_a_module_path_makes_the_name_a_class_in_it(their_package: Path) -> None:
    manager = CPUOffloadingManager(1, "TheirPolicy", cache_policy_module_path="their_package.their_module")
    assert policy_of(manager) == "TheirPolicy"


def test_a_registered_name_comes_before_the_module_path(their_package: Path) -> None:
    manager = CPUOffloadingManager(1, "lru", cache_policy_module_path="their_package.their_module")
    assert policy_of(manager) == "LRUCachePolicy"


def test_an_unknown_name_says_what_is_known_and_where_it_looked(their_package: Path) -> None:
    with pytest.raises(ValueError) as raised:
        CPUOffloadingManager(1, "no_such")
    assert str(raised.value) == (
        "cache_policy is 'no_such', which is neither registered nor an entry point of group 'kvoffload.policies'; "
        f"known are {', '.join(sorted([*OURS, 'theirs']))}. "
        "Name one of them, or pass cache_policy_module_path as well."
    )


def test_a_class_that_its_module_lacks_is_an_error_that_lists_what_it_has(their_package: Path) -> None:
    with pytest.raises(
        ValueError, match=r"'Missing' was looked for in module 'their_package.their_module'.*TheirPolicy"
    ):
        CPUOffloadingManager(1, "Missing", cache_policy_module_path="their_package.their_module")


def test_a_module_that_cannot_be_imported_is_an_error_that_says_so() -> None:
    with pytest.raises(ValueError, match="in module 'no_such_module', which cannot be imported"):
        CPUOffloadingManager(1, "TheirPolicy", cache_policy_module_path="no_such_module")


def test_a_class_that_is_no_policy_is_refused_with_what_it_lacks(their_package: Path) -> None:
    with pytest.raises(
        ValueError, match=r"made a NoPolicy, which has no get, insert, .* subclasses kvoffload.CachePolicy"
    ):
        CPUOffloadingManager(1, "NoPolicy", cache_policy_module_path="their_package.their_module")
