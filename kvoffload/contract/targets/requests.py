"""The request that a call is made for, as managers and policies of every family read it."""

from __future__ import annotations

from typing import Any

from kvoffload.types import ReqContext


class Request(ReqContext):
    """A request's identity, with room for what a manager or a policy keeps in it (vLLM, 0.31 and later).

    It knows where its blocks end, in tokens: a block is as far in as its key is in the alphabet. The request without an
    identity knows no positions.

    Args:
        req_id: the request's identity; empty where the caller has no request at hand.
    """

    __slots__ = ("_state",)

    _state: dict[type, Any]
    kv_hints = None
    load_tier_filter = None

    def __init__(self, req_id: str = "") -> None:
        super().__init__(req_id)
        object.__setattr__(self, "_state", {})  # the class is frozen; what it keeps is not

    def set_state(self, value: Any) -> None:
        """Keep this object; it replaces one of the same type."""
        self._state[type(value)] = value

    def get_state(self, kept: type) -> Any:
        """The kept object of that type, or ``None``."""
        return self._state.get(kept)

    def get_offload_key_position(self, key: bytes) -> int | None:
        """Where the key's block ends in the request, in tokens; ``None`` if that is not known."""
        return 16 * (key[0] + 1) if self.req_id and key else None


class Requests:
    """The requests of one history: each is one object from its first call until it has finished."""

    def __init__(self) -> None:
        self._running: dict[str, Request] = {}

    def __getitem__(self, req_id: str) -> Request:
        if req_id not in self._running:
            self._running[req_id] = Request(req_id)
        return self._running[req_id]

    def finish(self, req_id: str) -> None:
        """Whoever has this id next is another request."""
        self._running.pop(req_id, None)
