"""The contract package gives its names when they are asked for."""

import pytest

import kvoffload.contract


@pytest.mark.parametrize("name", kvoffload.contract.__all__)
def test_a_public_name_is_there(name: str) -> None:
    assert name in dir(kvoffload.contract)
    assert getattr(kvoffload.contract, name) is getattr(kvoffload.contract, name)


def test_every_public_name_has_its_module() -> None:
    assert sorted(kvoffload.contract._MODULES) == sorted(kvoffload.contract.__all__)


def test_an_unknown_name_is_refused_as_by_any_module() -> None:
    with pytest.raises(AttributeError, match=r"module 'kvoffload\.contract' has no attribute 'check_everything'"):
        _ = kvoffload.contract.check_everything
