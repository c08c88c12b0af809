"""The contract as tests of pytest: one for each clause, all out of one search. Only a decorated test imports pytest."""

from __future__ import annotations

import functools
import inspect
import os
import traceback
from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import Any, TypeVar, cast

from kvoffload.contract.checks import check_manager, check_policy, declared_clauses
from kvoffload.contract.clauses import CONTRACT_VERSION, Clause
from kvoffload.contract.lockstep.violation import ContractViolation
from kvoffload.contract.reports.report import Report, Verdict, details, headline
from kvoffload.contract.search.search import BUDGET
from kvoffload.contract.targets.adapters import SignatureError
from kvoffload.contract.targets.target import TargetError

Test = TypeVar("Test", bound=Callable[..., object])
Factory = Callable[[int], Any]

CONCLUSIVE = "conclusive"
"""The test beside those of the clauses: they are green, too, where the search never came to what could break them."""


def policy_contract(
    *,
    order: str | None = None,
    capabilities: Collection[str] = (),
    expected_failures: Mapping[str, str] | None = None,
    contract: int = CONTRACT_VERSION,
    budget: int = BUDGET,
    seed: int = 0,
) -> Callable[[Test], Test]:
    """Make a test function a test of every clause of the policy contract.

    The function takes ``check``, besides any fixture, and calls it with a factory: ``check(MyCachePolicy)``. The first
    of the tests searches, for all of them.

    Args:
        order: the order that the policy declares, ``lru`` say, or ``slru:0.5`` with its share; without it nothing about
            order is checked.
        capabilities: what it promises besides, ``scales``, or does not promise, ``no-repeated-keys``.
        expected_failures: ids of clauses that it is known to break, each with the reason: those tests are xfailed, and
            fail if the clause is kept.
        contract: the contract version that it is held to; clauses that have come since are xfailed where they break.
        budget: how many histories to try.
        seed: another choice of histories; the same seed gives the same results.

    Raises:
        ValueError: if the order, a capability, a clause or the contract version is unknown.
    """
    expected = dict(expected_failures or {})
    clauses = declared_clauses("policy", order, False, capabilities, expected, contract)
    run = partial(
        check_policy,
        order=order,
        capabilities=capabilities,
        expected_failures=expected,
        contract=contract,
        budget=budget,
        seed=seed,
    )
    return _one_test_per_clause(clauses, expected, run)


def manager_contract(
    *,
    order: str | None = None,
    capabilities: Collection[str] = (),
    expected_failures: Mapping[str, str] | None = None,
    contract: int = CONTRACT_VERSION,
    budget: int = BUDGET,
    seed: int = 0,
    store_threshold: int = 0,
    max_tracker_size: int = 64_000,
) -> Callable[[Test], Test]:
    """Make a test function a test of every clause of the manager contract.

    The function takes ``check``, besides any fixture, and calls it with a factory: ``check(MyManager)``. The first of
    the tests searches, for all of them.

    Args:
        order: the order that its policy declares; without it nothing about order is checked.
        capabilities: what it does not promise, ``no-repeated-keys``, or does, although others of its family do not.
        expected_failures: ids of clauses that it is known to break, each with the reason: those tests are xfailed, and
            fail if the clause is kept.
        contract: the contract version that it is held to; clauses that have come since are xfailed where they break.
        budget: how many histories to try.
        seed: another choice of histories; the same seed gives the same results.
        store_threshold: the one that the factory gives it, in requests.
        max_tracker_size: the one that the factory gives it, in keys.

    Raises:
        ValueError: if the order, a capability, a clause or the contract version is unknown.
    """
    expected = dict(expected_failures or {})
    clauses = declared_clauses("manager", order, store_threshold > 1, capabilities, expected, contract)
    run = partial(
        check_manager,
        order=order,
        capabilities=capabilities,
        expected_failures=expected,
        contract=contract,
        budget=budget,
        seed=seed,
        store_threshold=store_threshold,
        max_tracker_size=max_tracker_size,
    )
    return _one_test_per_clause(clauses, expected, run)


class Check:
    """Takes the factory of what is checked, and passes, fails, skips or xfails the test of one clause.

    Args:
        searches: the searches that the tests of one function share.
        clause: the clause; ``None`` for the test whether they came to all that there is to see.
    """

    def __init__(self, searches: _Searches, clause: Clause | None) -> None:
        self.id = CONCLUSIVE if clause is None else clause.id
        self._searches = searches
        self._clause = clause
        self._make: Factory | None = None

    def __call__(self, make: Factory) -> None:
        """Check what this factory makes.

        Args:
            make: takes a capacity in blocks and makes a new policy or manager; it is called anew for every history.
        """
        __tracebackhide__ = True
        import pytest

        if self._make is not None and self._make is not make:
            pytest.fail(
                f"check was called with {_shown(self._make)} and then with {_shown(make)}; a test checks one factory. "
                'Write one test for each, or put @pytest.mark.parametrize("make", [...]) on this one.',
                pytrace=False,
            )
        self._make = make
        report = self._searches.report(make, self.id)
        if isinstance(report, Exception):
            pytest.fail(_could_not_be_checked(report), pytrace=False)
        if self._clause is None:
            _conclude(report, self._searches.run.keywords["budget"])
        else:
            _judge(report, self._clause)

    def was_called(self) -> bool:
        """Whether the test that ends here has called it; the next test begins anew."""
        called, self._make = self._make is not None, None
        return called

    def __repr__(self) -> str:
        return f"check({self.id})"


class _Searches:
    """The searches of one decorated function: one for each choice of its other parameters."""

    def __init__(self, run: partial[Report]) -> None:
        self.run = run
        self._found: dict[str, Report | Exception] = {}

    def report(self, make: Factory, id: str) -> Report | Exception:
        """What the search found that the running test shares with those of the other clauses, or why there is none."""
        test = _running_test_without(id)
        if test not in self._found:
            try:
                self._found[test] = self.run(make)
            except (TargetError, SignatureError, ValueError) as error:
                self._found[test] = error
        return self._found[test] if test else self._found.pop(test)


def _running_test_without(id: str) -> str:
    """What pytest calls the running test, without the clause in its brackets; empty outside pytest."""
    name, _, when = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" ")
    before, bracket, parameters = name.partition("[")
    # The last one: what stands before it may be a parameter of the user's that is called as a clause is.
    head, found, tail = parameters.rpartition(id)
    return f"{before}{bracket}{head}*{tail} {when}" if found else ""


def _one_test_per_clause(
    clauses: tuple[Clause, ...], expected_failures: Mapping[str, str], run: partial[Report]
) -> Callable[[Test], Test]:
    def decorate(test: Test) -> Test:
        import pytest

        if not inspect.isfunction(test) or inspect.iscoroutinefunction(test):
            raise TypeError(
                f"{test!r} is no plain function; put the contract on a function or a method that is written with def."
            )

        @functools.wraps(test)
        def run_test(*args: Any, **kwargs: Any) -> Any:
            __tracebackhide__ = True
            if "check" not in kwargs:
                pytest.fail(
                    f"{test.__name__} was run without its parameter check: pytest does not parametrize the methods of "
                    "a unittest.TestCase. Put the contract on a function, or on a method of a plain class.",
                    pytrace=False,
                )
            check: Check = kwargs["check"]
            try:
                returned = test(*args, **kwargs)
            finally:
                was_called = check.was_called()
            if not was_called:
                pytest.fail(
                    f"{test.__name__} never called check, so that nothing was checked; "
                    "call check(FACTORY) in it, where FACTORY takes a number of blocks.",
                    pytrace=False,
                )
            return returned

        searches = _Searches(run)
        checks = [
            pytest.param(
                Check(searches, clause),
                id=clause.id,
                # Only the clause itself is expected to fail: not the fixtures, and not the making of a subject.
                marks=[pytest.mark.xfail(raises=ContractViolation, strict=True, reason=expected_failures[clause.id])]
                if clause.id in expected_failures
                else [],
            )
            for clause in clauses
        ]
        checks.append(pytest.param(Check(searches, None), id=CONCLUSIVE))
        return cast(Test, pytest.mark.parametrize("check", checks)(run_test))

    return decorate


def _judge(report: Report, clause: Clause) -> None:
    """Pass, fail, skip or xfail the running test, as the report says of the clause."""
    __tracebackhide__ = True
    import pytest

    match report.status(clause):
        case "broken":
            pytest.fail(str(report.broken[clause.id]), pytrace=False)
        case "expected failure":
            raise report.broken[clause.id].with_traceback(None)
        case "kept, though expected to fail":
            reason = report.expected_failures[clause.id]
            pytest.fail(
                f"{clause.id} is kept, though expected to fail ({reason}). Take it out of expected_failures.",
                pytrace=False,
            )
        case "new":
            pytest.xfail(
                f"new in contract {clause.since}: {clause.sentence}; not failed, since contract={report.contract}"
            )
        case "not claimed":
            lacking = "; ".join(f"{it.id} ({it.sentence})" for it in report.lacking(clause))
            pytest.skip(f"not claimed: {lacking}")
        case "not judged":
            pytest.skip(f"not judged: {report.not_judged[clause.id]}; broken so far: {', '.join(report.broken)}")


def _conclude(report: Report, budget: int) -> None:
    """Fail the running test if the search shows too little; its output says what the search saw."""
    __tracebackhide__ = True
    import pytest

    print(headline(report), *details(report), sep="\n")
    if report.verdict is not Verdict.INCONCLUSIVE:
        return
    if report.not_judged:
        reasons = ", ".join(dict.fromkeys(report.not_judged.values()))
        pytest.fail(f"inconclusive: {reasons}; not judged: {', '.join(report.not_judged)}", pytrace=False)
    pytest.fail(
        f"inconclusive: never came up: {', '.join(report.never)}. What is green says nothing about that; "
        f"try more histories, with a budget of more than {budget}, or disclaim what cannot come up.",
        pytrace=False,
    )


def _could_not_be_checked(error: Exception) -> str:
    """The error's sentence, and where the user's own code raised it."""
    frames = traceback.extract_tb(error.__cause__.__traceback__) if error.__cause__ is not None else []
    raised = f"\n  raised in {frames[-1].name}(), {frames[-1].filename}:{frames[-1].lineno}" if frames else ""
    return f"could not be checked: {error}{raised}"


def _shown(make: object) -> str:
    return getattr(make, "__qualname__", None) or repr(make)
