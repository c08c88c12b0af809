"""Each of our policies by itself: what is interleaved, and with what it is compared.

Insertions, completed stores, pins and unpins, removals, touches, evictions and clears, on 0 to 4 blocks under 6 keys.
The machine stands where the manager stands otherwise, and writes the ref_cnt. After every call ``get`` of every key and
the evictable list are compared with ``kvoffload_spec``, and every victim with the order of the policy.
The rules and the invariants are in ``kvoffload/contract/stateful/policy.py``.
"""

import pytest
from hypothesis.stateful import run_state_machine_as_test

from kvoffload import CachePolicyFactory
from kvoffload.contract.stateful import PolicyStateMachine
from kvoffload_spec.order import ORDERS
from tests.stateful.profile import machine_settings


def machine_for(policy: str) -> type[PolicyStateMachine]:
    class Machine(PolicyStateMachine):
        make = staticmethod(CachePolicyFactory.get_cache_policy_cls(policy))
        order = staticmethod(ORDERS[policy])

    return Machine


@pytest.mark.parametrize("policy", CachePolicyFactory.names())
def test_policy_does_what_the_specification_says(policy: str) -> None:
    run_state_machine_as_test(machine_for(policy), settings=machine_settings())
