"""A policy behind the calls of ``CachePolicy``: kvoffload's own, vLLM's from 0.20 to 0.33, and what is like one."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence, Set
from typing import Any

from kvoffload.contract.calls.style import Style
from kvoffload.contract.targets.adapters.signature import Caller, fit_of
from kvoffload.interface import CachePolicy
from kvoffload.policies.base import BlockStatus
from kvoffload.types import NO_REQUEST, OffloadKey, ReqContext

Key = OffloadKey
REQUIRED = ("insert", "evict")
WITH_REQUEST = {
    "insert": ("key", "block"),
    "touch": ("keys",),
    "on_store_miss": ("keys",),
    "on_request_access": ("keys",),
    "on_request_finished": ("key_groups", "insertion_only_keys", "reused_keys"),
}
"""The calls that may be told the request, with the arguments before it."""

WITHOUT_REQUEST = {
    "evict": ("n", "protected"),
    "get": ("key",),
    "remove": ("key",),
    "clear": (),
    "mark_evictable": ("key",),
    "mark_non_evictable": ("key",),
}


@CachePolicy.register
class FittedPolicy:
    """Calls a policy in the way that it takes: with the request or without, and no hook that it does not have.

    Attributes:
        policy: the policy.
        style: how a program writes its calls.
        ruled_out: the capabilities that policies of its family do not promise.

    Raises:
        SignatureError: if it lacks a call, or a call takes other arguments.
    """

    def __init__(self, policy: Any, family: Any = None) -> None:
        self.policy = policy
        self.ruled_out: frozenset[str] = getattr(family, "ruled_out", frozenset())
        fit = fit_of(policy, WITH_REQUEST, REQUIRED, WITHOUT_REQUEST)
        self._has = fit.has
        self._call = Caller(policy, fit)
        made = "{}" if family is None else "as_policy({})"
        self.style = Style(fit.needs_request, made, fit.has, sized=getattr(family, "sized", True))
        self.evict: Callable[[int, Set[Key]], Any] = policy.evict
        self.get: Callable[[Key], Any] = getattr(policy, "get", _nothing)
        self.remove: Callable[[Key], Any] = getattr(policy, "remove", _nothing)
        self.clear: Callable[[], Any] = getattr(policy, "clear", _nothing)
        self.mark_evictable: Callable[[Key], Any] = getattr(policy, "mark_evictable", _nothing)
        self.mark_non_evictable: Callable[[Key], Any] = getattr(policy, "mark_non_evictable", _nothing)

    @property
    def takes_request(self) -> frozenset[str]:
        """The methods that are told the request."""
        return self._call.takes_request

    def insert(self, key: Key, block: BlockStatus, req_context: ReqContext | None = None) -> Any:
        """The block is resident from now on; without a request, for the one that missed it last."""
        return self._call("insert", key, block, self._call.request if req_context is None else req_context)

    def touch(self, keys: Collection[Key], req_context: ReqContext = NO_REQUEST) -> Any:
        """The request used these keys."""
        return self._tell("touch", keys, req_context)

    def on_store_miss(self, keys: Collection[Key], req_context: ReqContext = NO_REQUEST) -> Any:
        """The request stores these keys next."""
        return self._tell("on_store_miss", keys, req_context)

    def on_request_access(self, keys: Collection[Key], req_context: ReqContext = NO_REQUEST) -> Any:
        """The request names these keys."""
        return self._tell("on_request_access", keys, req_context)

    def on_request_finished(
        self,
        key_groups: Sequence[Sequence[Key]],
        insertion_only_keys: Set[Key],
        reused_keys: Set[Key],
        req_context: ReqContext = NO_REQUEST,
    ) -> Any:
        """The request named these keys in this order; some it inserted, others it reused."""
        return self._tell("on_request_finished", key_groups, insertion_only_keys, reused_keys, req_context)

    def _tell(self, method: str, *arguments: Any) -> Any:
        if method in self._has:
            return self._call(method, *arguments)
        self._call.known(arguments[-1])
        return None

    def __getattr__(self, name: str) -> Any:
        if name == "policy" or name.startswith("__"):  # of a copy that is still being made
            raise AttributeError(name)
        return getattr(self.policy, name)


def _nothing(*_: Any) -> Any:
    """A call that the policy does not have."""
