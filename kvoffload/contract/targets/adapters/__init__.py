"""Implementations of other families behind the calls that a lockstep makes: structural, importing none of them."""

from kvoffload.contract.targets.adapters.manager import FittedManager
from kvoffload.contract.targets.adapters.policy import FittedPolicy, as_policy, makes_unsized
from kvoffload.contract.targets.adapters.signature import SignatureError

__all__ = ["FittedManager", "FittedPolicy", "SignatureError", "as_policy", "makes_unsized"]
