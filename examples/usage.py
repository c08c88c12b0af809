"""The contract in your own tests: copy what you need into a test file, and put your own class in.

$ python -m pytest -q usage.py -k test_broken_policy
...
FAILED usage.py::test_broken_policy[evict-atomic] - Failed: evict-atomic: an ...
1 failed, 13 passed, 2 skipped, 60 deselected in 2.10s

All others are green. What is skipped is not claimed, or is looked at once the bug is out. A budget is a number of
histories: 100 are quick, and without one there are 300.
"""

from broken_policy import BrokenPolicy
from good_policy import GoodPolicy
from manager import SmallManager

from kvoffload.contract import Check, check_policy, manager_contract, policy_contract


@policy_contract(order="lru", capabilities=["scales"], budget=100)
def test_good_policy(check: Check) -> None:
    """Keeps every clause."""
    check(GoodPolicy)


@policy_contract(order="lru")
def test_broken_policy(check: Check) -> None:
    """Breaks one clause: one of these tests fails, and shows the shortest program."""
    check(BrokenPolicy)


@policy_contract(order="lru", expected_failures={"evict-atomic": "our issue 12"}, budget=100)
def test_policy_with_a_known_bug(check: Check) -> None:
    """Is green until the clause is kept, and red then."""
    check(BrokenPolicy)


@manager_contract(contract=1, budget=100)
def test_manager(check: Check) -> None:
    """Is held to version 1: what has come since is run, and fails nothing."""
    check(SmallManager)


def test_good_policy_in_one_go() -> None:
    """The same as a call."""
    check_policy(GoodPolicy, order="lru", budget=100, raising=True)
