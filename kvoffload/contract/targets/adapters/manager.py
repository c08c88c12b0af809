"""A manager behind the calls of ``OffloadingManager``: kvoffload's own, and vLLM's from 0.20 to 0.33."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import count
from typing import Any

from kvoffload.contract.calls.outcome import WrongTypeError
from kvoffload.contract.calls.style import Style
from kvoffload.contract.targets.adapters.answers import block_ids_of, events_of, lookup_of, stored_of
from kvoffload.contract.targets.adapters.signature import Caller, fit_of, takes_keyword
from kvoffload.interface import OffloadingManager
from kvoffload.types import (
    NO_REQUEST,
    EventKind,
    LoadStoreSpec,
    LookupResult,
    OffloadingEvent,
    OffloadKey,
    PrepareStoreOutput,
    ReqContext,
)

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

REQUIRED = tuple(METHODS)[:5]

COUNTERS = ("num_evictable_cache_blocks", "_num_evictable_cache_blocks", "_num_evictable_cache_chunks")
FREE = ("num_free_blocks", "_get_num_free_blocks", "_get_num_free_chunks")

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


class FittedManager(OffloadingManager):
    """Calls a manager in the way that it takes, and gives its answers in our types.

    A list that one of ours returns is the caller's own, and is emptied once it is read: vLLM's ``evicted_keys`` is, up
    to now, the very list that the event of the eviction holds.

    Attributes:
        manager: the manager.
        needs_request: the methods that cannot do without the request.
        numbers_transfers: whether a completion may name its transfer; where it may not, the ids are made up here.
        ruled_out: the capabilities that managers of its family do not promise.
        style: how a program writes its calls.

    Raises:
        SignatureError: if it lacks a call, or a call takes other arguments.
    """

    def __init__(self, manager: Any, family: Any = None) -> None:
        self.manager = manager
        fit = fit_of(manager, METHODS, REQUIRED, {})
        self._has = fit.has
        self.call = Caller(manager, fit)
        self.needs_request = fit.needs_request
        self.numbers_transfers = takes_keyword(manager, "complete_store", "transfer_id")
        by_default: frozenset[str] = frozenset() if self.numbers_transfers else WITHOUT_IDS_RULES_OUT
        self.ruled_out: frozenset[str] = getattr(family, "ruled_out", by_default)
        made = "{}" if family is None else "as_manager({})"
        self.style = Style(fit.needs_request, made, takes_request=fit.takes_request)
        self._made_up_ids = count()

    @property
    def takes_request(self) -> frozenset[str]:
        """The methods that are told the request."""
        return self.call.takes_request

    def lookup(self, key: OffloadKey, req_context: ReqContext = NO_REQUEST) -> LookupResult:
        return LookupResult[lookup_of(self.call("lookup", key, req_context))]

    def prepare_store(
        self, keys: Iterable[OffloadKey], req_context: ReqContext = NO_REQUEST
    ) -> PrepareStoreOutput | None:
        output = self.call("prepare_store", keys, req_context)
        if output is None:
            return None
        stored, block_ids, evicted = stored_of(output, self.numbers_transfers)
        return PrepareStoreOutput(stored, LoadStoreSpec(block_ids, self._transfer_id(output)), evicted)

    def complete_store(
        self,
        keys: Iterable[OffloadKey],
        req_context: ReqContext = NO_REQUEST,
        success: bool = True,
        *,
        transfer_id: int | None = None,
    ) -> None:
        flag = {} if success else {"success": False}
        self.call("complete_store", keys, req_context, **flag, **self._named(transfer_id))

    def prepare_load(self, keys: Iterable[OffloadKey], req_context: ReqContext = NO_REQUEST) -> LoadStoreSpec:
        spec = self.call("prepare_load", keys, req_context)
        return LoadStoreSpec(block_ids_of(spec, "prepare_load", self.numbers_transfers), self._transfer_id(spec))

    def complete_load(
        self, keys: Iterable[OffloadKey], req_context: ReqContext = NO_REQUEST, *, transfer_id: int | None = None
    ) -> None:
        self.call("complete_load", keys, req_context, **self._named(transfer_id))

    def touch(self, keys: Iterable[OffloadKey], req_context: ReqContext = NO_REQUEST) -> None:
        if "touch" in self._has:
            self.call("touch", keys, req_context)

    def on_request_finished(self, req_context: ReqContext) -> None:
        """The request makes no further call."""
        if "on_request_finished" in self._has:
            self.call("on_request_finished", req_context)

    def reset_cache(self) -> None:
        self.manager.reset_cache()

    def take_events(self) -> list[OffloadingEvent]:
        return [
            OffloadingEvent(EventKind[kind], keys)
            for kind, keys in events_of(self.manager.take_events(), self.numbers_transfers)
        ]

    @property
    def num_evictable_cache_blocks(self) -> int:
        return int(self._shown(COUNTERS))

    @property
    def num_free_blocks(self) -> int:
        """How many blocks hold nothing, in blocks."""
        return int(self._shown(FREE))

    @property
    def policy(self) -> Any:
        """What holds the blocks, to be looked at only; ``None`` if it is not shown."""
        return getattr(self.manager, "policy", None) or getattr(self.manager, "_policy", None)

    def get_stats(self) -> Any:
        """What was counted since the manager was made or reset; ``None`` if it counts nothing."""
        return self.manager.get_stats() if hasattr(self.manager, "get_stats") else None

    def _shown(self, names: Iterable[str]) -> Any:
        for name in names:
            if hasattr(self.manager, name):
                found = getattr(self.manager, name)
                return found() if callable(found) else found
        raise AttributeError(f"{type(self.manager).__name__} shows none of {', '.join(names)}.")

    def _named(self, transfer_id: int | None) -> dict[str, int]:
        return {} if transfer_id is None or not self.numbers_transfers else {"transfer_id": transfer_id}

    def _transfer_id(self, output: Any) -> int:
        if not self.numbers_transfers:
            return next(self._made_up_ids)
        if not hasattr(output, "transfer_id"):
            raise WrongTypeError(f"{output!r}", "an object with a transfer_id, since completions take one")
        id: int = output.transfer_id
        return id
