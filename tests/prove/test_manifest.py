"""Nothing that has a contract is left unproved, and no contract is one that CrossHair overlooks."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from importlib import import_module
from pkgutil import iter_modules, resolve_name

import pytest

from kvoffload_spec import properties
from tests.prove.manifest import PROOFS

every_property = pytest.mark.parametrize("name", PROOFS)


def contract_lines(function: Callable[..., object]) -> list[str]:
    """The lines that are a contract, or look as if they were meant to be one."""
    return re.findall(r"^ *(\w*(?:pre|post|raises|inv)\w*(?:\[.*\])?) *:", function.__doc__ or "", re.MULTILINE)


def test_every_function_with_a_contract_is_in_the_manifest() -> None:
    modules = [import_module(found.name) for found in iter_modules(properties.__path__, f"{properties.__name__}.")]
    functions = [function for module in modules for _, function in inspect.getmembers(module, inspect.isfunction)]
    contracts = {function for function in functions if contract_lines(function)}
    assert {f.__name__ for f in contracts} == set(PROOFS)
    assert contracts == {proof.claim for proof in PROOFS.values()}


@every_property
def test_a_contract_has_the_stated_number_of_conditions_and_nothing_misspelt(name: str) -> None:
    lines = contract_lines(PROOFS[name].claim)
    assert lines == ["pre"] * lines.count("pre") + ["post"] * PROOFS[name].conditions


@every_property
def test_a_claim_is_a_sentence(name: str) -> None:
    claim = inspect.getdoc(PROOFS[name].claim) or ""
    assert re.fullmatch(r"[A-Z].*\.", claim.splitlines()[0])


@every_property
def test_a_planted_fault_replaces_a_function_of_the_model(name: str) -> None:
    fault = PROOFS[name].fault
    original = resolve_name(fault.target)
    assert inspect.isfunction(original)
    assert len(inspect.signature(original).parameters) >= len(inspect.signature(fault.wrong).parameters)
    assert original is not fault.wrong


def test_each_property_has_a_witness_and_a_fault_of_its_own() -> None:
    assert len({proof.witness for proof in PROOFS.values()}) == len(PROOFS)
    assert len({proof.fault.wrong for proof in PROOFS.values()}) == len(PROOFS)
