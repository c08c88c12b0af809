"""State machines for Hypothesis: the specification beside a manager or a policy, call by call.

They stand by themselves: nothing here imports the rest of ``kvoffload.contract``, so that they are a second opinion on
what ``check_manager`` and ``check_policy`` say. Subclass one, or copy its file and make it yours.
"""

from kvoffload.contract.stateful.manager import ManagerStateMachine
from kvoffload.contract.stateful.policy import PolicyStateMachine

__all__ = ["ManagerStateMachine", "PolicyStateMachine"]
