"""Our manager under each of our policies: what is interleaved, and with what it is compared.

Stores, loads, releases, touches, lookups, resets and drains of events, with several transfers in flight, on 0 to 4
blocks under 6 keys. After every call the evictable counter, the evictable list, the free blocks, every lookup, ref_cnt
and block id, and the statistics are compared with ``kvoffload_spec``; every victim with the order of the policy.
The rules and the invariants are in ``kvoffload/contract/stateful/manager.py``.
"""

import pytest
from hypothesis.stateful import run_state_machine_as_test

from kvoffload import CachePolicyFactory, CPUOffloadingManager
from kvoffload.contract.stateful import ManagerStateMachine
from kvoffload_spec.order import ORDERS
from tests.stateful.profile import machine_settings


def machine_for(policy: str) -> type[ManagerStateMachine]:
    class Machine(ManagerStateMachine):
        make = staticmethod(lambda num_blocks: CPUOffloadingManager(num_blocks, policy, enable_events=True))
        order = staticmethod(ORDERS[policy])

    return Machine


@pytest.mark.parametrize("policy", CachePolicyFactory.names())
def test_manager_does_what_the_specification_says(policy: str) -> None:
    run_state_machine_as_test(machine_for(policy), settings=machine_settings())
