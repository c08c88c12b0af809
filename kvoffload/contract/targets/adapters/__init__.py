"""Managers and policies of other libraries behind kvoffload's own interface: structural, importing none of them.

Each family has one file, and says of an object whether it is of the family. The last one fits signatures: it takes what
is called as vLLM's or ours is, whatever release it is of. A family of your own is a class of this shape, which an
installed package names in the entry-point group ``kvoffload.adapters``::

    class Mine:
        subject = "policy"          # or "manager"
        sized = True                # whether yours is made for a capacity in blocks
        ruled_out = frozenset()     # the capabilities that no policy of the family promises

        @staticmethod
        def fits(made): ...         # of an object, or of the class that makes it

        def __init__(self, made): ...

It has the calls of ``kvoffload.CachePolicy``, or of ``kvoffload.OffloadingManager``; what yours knows nothing of may be
left out, requests and hooks above all. Ours are asked first.
"""

from __future__ import annotations

from functools import cache
from importlib.metadata import entry_points
from typing import Any

from kvoffload.contract.targets.adapters.lmcache_in_process import InProcessPolicy
from kvoffload.contract.targets.adapters.lmcache_multi_process import MultiProcessPolicy
from kvoffload.contract.targets.adapters.manager import FittedManager
from kvoffload.contract.targets.adapters.policy import FittedPolicy
from kvoffload.contract.targets.adapters.signature import SignatureError

__all__ = ["FittedManager", "FittedPolicy", "SignatureError", "as_manager", "as_policy", "family_of", "is_sized"]

ENTRY_POINT_GROUP = "kvoffload.adapters"
"""The entry-point group in which an installed package names its families."""


@cache
def _families() -> tuple[Any, ...]:
    return InProcessPolicy, MultiProcessPolicy, *(point.load() for point in entry_points(group=ENTRY_POINT_GROUP))


def family_of(made: Any) -> Any:
    """The family that an object or a class is of, or ``None`` if nothing but the request tells its calls from ours."""
    return next((family for family in _families() if family.fits(made)), None)


def is_sized(make: Any) -> bool:
    """Whether it is made for a capacity in blocks: everything is but for classes of some families."""
    family = family_of(make) if isinstance(make, type) else None
    return family is None or getattr(family, "sized", True)


def as_policy(made: Any) -> FittedPolicy:
    """The policy behind the calls of ``CachePolicy``, of whatever family it is.

    Raises:
        SignatureError: if it is of none: it lacks a call, or a call takes other arguments.
    """
    if isinstance(made, FittedPolicy):
        return made
    family = family_of(made)
    return FittedPolicy(made if family is None else family(made), family)


def as_manager(made: Any) -> FittedManager:
    """The manager behind the calls of ``OffloadingManager``, of whatever family it is.

    Raises:
        SignatureError: if it is of none: it lacks a call, or a call takes other arguments.
    """
    if isinstance(made, FittedManager):
        return made
    family = family_of(made)
    return FittedManager(made if family is None else family(made), family)
