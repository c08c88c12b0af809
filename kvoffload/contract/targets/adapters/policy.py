"""A policy behind one set of calls: kvoffload's own, vLLM's from 0.20 to 0.33, LMCache's two families."""

from __future__ import annotations

from collections.abc import Callable, Collection, Set
from typing import Any

from kvoffload.contract.calls.style import Style
from kvoffload.contract.targets.adapters.lmcache import (
    IN_PROCESS,
    MULTI_PROCESS,
    InProcessPolicy,
    MultiProcessPolicy,
    has_calls,
)
from kvoffload.contract.targets.adapters.signature import REQUEST, SignatureError, fit, has_own_calls, takes
from kvoffload.contract.targets.requests import Request
from kvoffload.policies.base import BlockStatus
from kvoffload.types import OffloadKey

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


def as_policy(made: Any) -> Any:
    """The policy itself, or what makes one out of it if it is of a family with other calls (LMCache)."""
    for family in (InProcessPolicy, MultiProcessPolicy):
        if family.fits(made):
            return family(made)
    return made


def makes_unsized(make: Any) -> bool:
    """Whether it is a class whose objects have no capacity, so that it is called without one."""
    return isinstance(make, type) and (has_calls(make, IN_PROCESS) or has_calls(make, MULTI_PROCESS))


class FittedPolicy:
    """Calls a policy in the way that it takes: with the request or without, and no hook that it does not have.

    Attributes:
        policy: the policy.
        takes_request: the methods that are told the request.
        style: how a program writes its calls.
        ruled_out: the capabilities that policies of its family do not promise.
    """

    def __init__(self, made: Any) -> None:
        policy = as_policy(made)
        self.policy = policy
        self.ruled_out: frozenset[str] = getattr(policy, "ruled_out", frozenset())
        shapes, self.style = _shapes_of(policy)
        self.takes_request = frozenset(method for method, shape in shapes.items() if REQUEST in shape)
        self._told: dict[str, Callable[..., Any]] = {name: self._teller(name, shape) for name, shape in shapes.items()}
        self.insert: Callable[[Key, BlockStatus, Request], Any] = self._told["insert"]
        self.touch: Callable[[Collection[Key], Request], Any] = self._told.get("touch", _nothing)
        self.on_store_miss: Callable[[Collection[Key], Request], Any] = self._told.get("on_store_miss", _nothing)
        self.on_request_access: Callable[[Collection[Key], Request], Any] = self._told.get(
            "on_request_access", _nothing
        )
        self.evict: Callable[[int, Set[Key]], Any] = policy.evict
        self.get: Callable[[Key], Any] = getattr(policy, "get", _nothing)
        self.remove: Callable[[Key], Any] = getattr(policy, "remove", _nothing)
        self.clear: Callable[[], Any] = getattr(policy, "clear", _nothing)
        self.mark_evictable: Callable[[Key], Any] = getattr(policy, "mark_evictable", _nothing)
        self.mark_non_evictable: Callable[[Key], Any] = getattr(policy, "mark_non_evictable", _nothing)

    def on_request_finished(self, keys: Collection[Key], inserted: set[Key], reused: set[Key], request: Request) -> Any:
        """The request named these keys in this order; some it inserted, others it reused."""
        tell: Callable[..., Any] = self._told.get("on_request_finished", _nothing)
        return tell([tuple(keys)], inserted - reused, reused, request)

    def _teller(self, method: str, shape: tuple[str, ...]) -> Callable[..., Any]:
        call: Callable[..., Any] = getattr(self.policy, method)
        if REQUEST in shape:
            return call

        def without_request(*arguments: Any) -> Any:
            return call(*arguments[:-1])

        return without_request


def _nothing(*_: Any) -> Any:
    """A hook that the policy does not have."""


_SHAPES: dict[type, tuple[dict[str, tuple[str, ...]], Style]] = {}


def _shapes_of(policy: Any) -> tuple[dict[str, tuple[str, ...]], Style]:
    """How each method is called that may be told the request, and how a program writes the calls."""
    kind = type(policy)
    if kind not in _SHAPES or has_own_calls(policy, (*WITH_REQUEST, *REQUIRED)):
        for method in REQUIRED:
            if not callable(getattr(policy, method, None)):
                raise SignatureError(f"{kind.__name__} has no {method}(), which every policy has.")
        shapes = {
            method: fit(policy, method, (*arguments, REQUEST), arguments)
            for method, arguments in WITH_REQUEST.items()
            if callable(getattr(policy, method, None))
        }
        for method, arguments in {
            "evict": ("n", "protected"),
            "get": ("key",),
            "remove": ("key",),
            "clear": (),
            "mark_evictable": ("key",),
            "mark_non_evictable": ("key",),
        }.items():
            if callable(getattr(policy, method, None)):
                fit(policy, method, arguments)
        needing = frozenset(name for name in shapes if not takes(policy, name, WITH_REQUEST[name]))
        is_made = kind in (InProcessPolicy, MultiProcessPolicy)
        _SHAPES[kind] = shapes, Style(needing, "as_policy({})" if is_made else "{}", frozenset(shapes))
    return _SHAPES[kind]
