"""A manager behind one set of calls: kvoffload's own, and vLLM's from 0.20 to 0.33."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kvoffload.contract.calls.outcome import Stored, WrongTypeError
from kvoffload.contract.targets.adapters.answers import block_ids_of, events_of, lookup_of, stored_of
from kvoffload.contract.targets.adapters.signature import (
    REQUEST,
    SignatureError,
    fit,
    has_own_calls,
    takes,
    takes_keyword,
)
from kvoffload.contract.targets.requests import Request
from kvoffload.types import OffloadKey

METHODS = {
    "lookup": ("key",),
    "prepare_store": ("keys",),
    "complete_store": ("keys",),
    "prepare_load": ("keys",),
    "complete_load": ("keys",),
    "touch": ("keys",),
    "on_request_finished": (),
}
"""The calls that may be told the request, with the arguments before it."""

OPTIONAL = ("touch", "on_request_finished", "reset_cache", "take_events")

WITHOUT_IDS_RULES_OUT = frozenset(
    {
        "repeated-keys",
        "one-shot",
        "unready-loads",
        "unbalanced-releases",
        "late-completions",
        "order-on-refusal",
        "reset-events",
        "faults",
    }
)
"""What a manager without transfer ids does not promise: vLLM's protocol, which it is of, is silent on it."""


class FittedManager:
    """Calls a manager in the way that it takes, and gives its answers in plain form.

    Attributes:
        manager: the manager.
        takes_request: the methods that are told the request.
        needs_request: those that cannot do without it.
        numbers_transfers: whether a completion may name its transfer.
        ruled_out: the capabilities that managers of its family do not promise.
        hands_over: whether a list that it returns is the caller's own: vLLM's ``evicted_keys`` is, up to now, the very
            list that the event of the eviction holds.
    """

    def __init__(self, manager: Any) -> None:
        self.manager = manager
        shapes, self.needs_request, self.numbers_transfers = _shapes_of(manager)
        self.takes_request = frozenset(method for method, shape in shapes.items() if REQUEST in shape)
        self.ruled_out: frozenset[str] = frozenset() if self.numbers_transfers else WITHOUT_IDS_RULES_OUT
        self.hands_over = self.numbers_transfers

    def call(self, method: str, *arguments: Any, **keywords: Any) -> Any:
        """Make the call; the last argument is the request, which is left out where it is not taken."""
        told = arguments if method in self.takes_request else arguments[:-1]
        return getattr(self.manager, method)(*told, **keywords)

    def lookup(self, key: OffloadKey, request: Request) -> str:
        """``MISS``, ``HIT_PENDING`` or ``HIT``."""
        return lookup_of(self.call("lookup", key, request))

    def prepare_store(self, keys: Iterable[OffloadKey], request: Request) -> tuple[Stored | None, int | None]:
        """What was stored, and the transfer's id."""
        output = self.call("prepare_store", keys, request)
        if output is None:
            return None, None
        stored = Stored(*stored_of(output, self.hands_over))
        return stored, self._transfer_id(output)

    def complete_store(
        self, keys: Iterable[OffloadKey], request: Request, success: bool, transfer_id: int | None
    ) -> None:
        """The store of these keys has ended."""
        flag = {} if success else {"success": False}
        self.call("complete_store", keys, request, **flag, **_named(transfer_id))

    def prepare_load(self, keys: Iterable[OffloadKey], request: Request) -> tuple[tuple[int, ...], int | None]:
        """Where the keys lie, and the transfer's id."""
        spec = self.call("prepare_load", keys, request)
        return block_ids_of(spec, "prepare_load", self.hands_over), self._transfer_id(spec)

    def complete_load(self, keys: Iterable[OffloadKey], request: Request, transfer_id: int | None) -> None:
        """The load of these keys has ended."""
        self.call("complete_load", keys, request, **_named(transfer_id))

    def touch(self, keys: Iterable[OffloadKey], request: Request) -> None:
        """These keys were used."""
        self.call("touch", keys, request)

    def on_request_finished(self, request: Request) -> None:
        """The request makes no further call."""
        self.call("on_request_finished", request)

    def reset_cache(self) -> None:
        """Afterwards the manager is as a new one."""
        self.manager.reset_cache()

    def take_events(self) -> tuple[tuple[str, tuple[OffloadKey, ...]], ...]:
        """The events since the last call, each as its kind and its keys."""
        return events_of(self.manager.take_events(), self.hands_over)

    def _transfer_id(self, output: Any) -> int | None:
        if not self.numbers_transfers:
            return None
        if not hasattr(output, "transfer_id"):
            raise WrongTypeError(f"{output!r}", "an object with a transfer_id, since completions take one")
        id: int = output.transfer_id
        return id


def _named(transfer_id: int | None) -> dict[str, int]:
    return {} if transfer_id is None else {"transfer_id": transfer_id}


_SHAPES: dict[type, tuple[dict[str, tuple[str, ...]], frozenset[str], bool]] = {}


def _shapes_of(manager: Any) -> tuple[dict[str, tuple[str, ...]], frozenset[str], bool]:
    """How each method is called, which of them need the request, and whether completions take a transfer's id."""
    kind = type(manager)
    if kind not in _SHAPES or has_own_calls(manager, METHODS):
        shapes = {}
        for method, arguments in METHODS.items():
            if not callable(getattr(manager, method, None)):
                if method in OPTIONAL:
                    continue
                raise SignatureError(f"{kind.__name__} has no {method}(), which every manager has.")
            shapes[method] = fit(manager, method, (*arguments, REQUEST), arguments)
        needing = frozenset(method for method in shapes if not takes(manager, method, METHODS[method]))
        _SHAPES[kind] = shapes, needing, takes_keyword(manager.complete_store, "transfer_id")
    return _SHAPES[kind]
