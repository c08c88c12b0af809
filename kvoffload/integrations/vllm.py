"""Policies of kvoffload as vLLM's offloading manager loads them, by ``cache_policy_module_path``; docs/vllm.md.

``eviction_policy`` names one of ours by its class, ``ARCCachePolicy``, or anybody's as ``my_package:MyCachePolicy``.
vLLM takes only subclasses of its own ``CachePolicy``, which it has imported before it asks for one: so it is made then.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from kvoffload.integrations.request_scoped import RequestScopedPolicy
from kvoffload.interface import CachePolicy
from kvoffload.policies.factory import OURS, CachePolicyFactory

__all__ = ["for_vllm"]

# Under no name of this module's own: what is asked for as an attribute has to be made by __getattr__.
_OURS = {class_name: name for name, (_, class_name) in OURS.items()}
_VLLM_BASE = "vllm.v1.kv_offload.cpu.policies.base"
_made: dict[tuple[str, type | None], type[RequestScopedPolicy]] = {}


def for_vllm(policy: Callable[[int], CachePolicy], name: str = "") -> type[RequestScopedPolicy]:
    """The class that vLLM loads for a policy of kvoffload's interface.

    It is a subclass of vLLM's ``CachePolicy`` if that is imported by now, as it is wherever vLLM imports the module
    that calls this. Without vLLM it is a class all the same, for tests.

    Args:
        policy: the policy's class, or what makes one from a capacity in blocks.
        name: the name of the class that is made; without it, the policy's own.
    """
    base = _vllm_cache_policy()
    bases = (RequestScopedPolicy,) if base is None else (RequestScopedPolicy, base)
    name = name or getattr(policy, "__name__", type(policy).__name__)
    members = {"make_policy": staticmethod(policy), "__doc__": policy.__doc__, "__module__": __name__}
    made: type[RequestScopedPolicy] = type(name, bases, members)
    return made


def _vllm_cache_policy() -> type | None:
    base: type | None = getattr(sys.modules.get(_VLLM_BASE), "CachePolicy", None)
    return base


def __getattr__(name: str) -> Any:
    module, colon, class_name = name.partition(":")
    if not colon and name not in _OURS:
        raise AttributeError(
            f"module {__name__!r} has no policy {name!r}; it has {', '.join(_OURS)}. "
            "Name one of them, or a class of your own as 'my_package:MyCachePolicy'."
        )
    known = (name, _vllm_cache_policy())
    if known not in _made:
        named = (class_name, module) if colon else (_OURS[name], None)
        _made[known] = for_vllm(CachePolicyFactory.get_cache_policy_cls(*named))
    return _made[known]
