"""The contract as tests of pytest: one for each clause, all out of one search. Only a decorated test imports pytest."""

from __future__ import annotations

import functools
import inspect
import traceback
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, TypeVar, Unpack, cast

from kvoffload.contract.checks import ManagerOptions, PolicyOptions, check_manager, check_policy, declared_clauses
from kvoffload.contract.clauses import Clause
from kvoffload.contract.lockstep.violation import ContractViolation
from kvoffload.contract.reports.report import Report, Verdict, details, headline
from kvoffload.contract.search.search import BUDGET
from kvoffload.contract.targets.adapters import SignatureError
from kvoffload.contract.targets.target import TargetError

Test = TypeVar("Test", bound=Callable[..., object])
Factory = Callable[[int], Any]

Choice = tuple[str, frozenset[tuple[str, int]]]
"""Where a test function stands, for several classes may inherit it, and each parameter with its value's identity."""

CONCLUSIVE = "conclusive"
"""The test beside those of the clauses: they are green, too, where the search never came to what could break them."""


def policy_contract(**options: Unpack[PolicyOptions]) -> Callable[[Test], Test]:
    """Make a test function a test of every clause of the policy contract.

    The function takes ``check``, besides any fixture, and calls it with a factory: ``check(MyCachePolicy)``. The first
    of the tests searches, for all of them.

    Args:
        options: ``order``, ``capabilities``, ``expected_failures``, ``contract``, ``budget`` and ``seed``, as
            ``check_policy`` takes them and with its defaults. The tests of expected failures are xfailed, and fail if
            the clause is kept; those of clauses that have come since ``contract`` are xfailed where they break.

    Raises:
        TypeError: if there is no such option.
        ValueError: if the order, a capability, a clause or the contract version is unknown.
    """
    _refuse_unknown("policy_contract", options, PolicyOptions.__annotations__)
    return _one_test_per_clause(declared_clauses("policy", **options), options, partial(check_policy, **options))


def manager_contract(**options: Unpack[ManagerOptions]) -> Callable[[Test], Test]:
    """Make a test function a test of every clause of the manager contract.

    The function takes ``check``, besides any fixture, and calls it with a factory: ``check(MyManager)``. The first of
    the tests searches, for all of them.

    Args:
        options: ``order``, ``capabilities``, ``expected_failures``, ``contract``, ``budget``, ``seed``,
            ``store_threshold`` and ``max_tracker_size``, as ``check_manager`` takes them and with its defaults. The
            tests of expected failures are xfailed, and fail if the clause is kept; those of clauses that have come
            since ``contract`` are xfailed where they break.

    Raises:
        TypeError: if there is no such option.
        ValueError: if the order, a capability, a clause or the contract version is unknown.
    """
    _refuse_unknown("manager_contract", options, ManagerOptions.__annotations__)
    return _one_test_per_clause(declared_clauses("manager", **options), options, partial(check_manager, **options))


def _refuse_unknown(name: str, options: Iterable[str], known: Iterable[str]) -> None:
    """Refuse at once what would come to light in the first test only."""
    unknown = [option for option in options if option not in known]
    if unknown:
        raise TypeError(f"{name} was given {', '.join(unknown)}; it takes {', '.join(known)}.")


class Check:
    """Takes the factory of what is checked, and passes, fails, skips or xfails the test of one clause.

    Args:
        searches: the searches that the tests of one function share.
        clause: the clause; ``None`` for the test whether they came to all that there is to see.
    """

    def __init__(self, searches: _Searches, clause: Clause | None) -> None:
        self._searches = searches
        self._clause = clause
        self._choice: Choice | None = None
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
        report = self._searches.report(make, self._choice)
        if isinstance(report, Exception):
            pytest.fail(_could_not_be_checked(report), pytrace=False)
        if self._clause is None:
            _conclude(report, self._searches.budget)
        else:
            _judge(report, self._clause)

    def begin(self, choice: Choice) -> None:
        """A test begins: this choice of its other parameters."""
        self._choice, self._make = choice, None

    def was_called(self) -> bool:
        """Whether the test has called it."""
        return self._make is not None

    def __repr__(self) -> str:
        return f"check({CONCLUSIVE if self._clause is None else self._clause.id})"


class _Searches:
    """The searches of one decorated function: one for each choice of its other parameters."""

    def __init__(self, run: Callable[[Factory], Report], budget: int) -> None:
        self.budget = budget
        self._run = run
        self._found: dict[Choice | None, Report | Exception] = {}

    def report(self, make: Factory, choice: Choice | None) -> Report | Exception:
        """What the search found that the tests of this choice share, or why there is none."""
        if choice not in self._found:
            try:
                self._found[choice] = self._run(make)
            except (TargetError, SignatureError, ValueError) as error:
                self._found[choice] = error
        return self._found[choice]


def _choice_of(request: Any) -> Choice:
    """Where the running test stands, and the values of its parameters: of all but ``check``."""
    # By identity: a value need not be hashable, and all tests that pytest makes of one choice are given the same one.
    params: Mapping[str, object] = request.node.callspec.params
    return request.node.parent.nodeid, frozenset((name, id(it)) for name, it in params.items() if name != "check")


def _one_test_per_clause(
    clauses: tuple[Clause, ...], options: PolicyOptions, run: Callable[[Factory], Report]
) -> Callable[[Test], Test]:
    expected_failures = dict(options.get("expected_failures") or {})

    def decorate(test: Test) -> Test:
        import pytest

        if not inspect.isfunction(test) or inspect.iscoroutinefunction(test):
            raise TypeError(
                f"{test!r} is no plain function; put the contract on a function or a method that is written with def."
            )

        signature = inspect.signature(test)
        takes_request = "request" in signature.parameters

        @functools.wraps(test)
        def run_test(*args: Any, **kwargs: Any) -> Any:
            __tracebackhide__ = True
            request = kwargs["request"] if takes_request else kwargs.pop("request", None)
            if "check" not in kwargs:
                pytest.fail(
                    f"{test.__name__} was run without its parameter check: pytest does not parametrize the methods of "
                    "a unittest.TestCase. Put the contract on a function, or on a method of a plain class.",
                    pytrace=False,
                )
            check: Check = kwargs["check"]
            check.begin(_choice_of(request))
            returned = test(*args, **kwargs)
            if not check.was_called():
                pytest.fail(
                    f"{test.__name__} never called check, so that nothing was checked; "
                    "call check(FACTORY) in it, where FACTORY takes a number of blocks.",
                    pytrace=False,
                )
            return returned

        if not takes_request:
            run_test.__signature__ = _with_request(signature)  # type: ignore[attr-defined]
        searches = _Searches(run, options.get("budget", BUDGET))
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


def _with_request(signature: inspect.Signature) -> inspect.Signature:
    """The signature by which pytest hands over its ``request`` as well."""
    request = inspect.Parameter("request", inspect.Parameter.KEYWORD_ONLY)
    return signature.replace(parameters=[*signature.parameters.values(), request])


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
