"""What managers of every family answer, in plain form; what is of another type is said to be."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kvoffload.contract.calls.outcome import WrongTypeError
from kvoffload.types import OffloadKey

EVENTS = ("STORED", "REMOVED", "CLEARED")
LOOKUPS = ("MISS", "HIT_PENDING", "HIT")
BLOCK_IDS = ("block_ids", "chunk_ids")


def lookup_of(answer: Any) -> str:
    """``MISS``, ``HIT_PENDING`` or ``HIT``: an enum's name, or vLLM's ``False``, ``None`` and ``True`` of 0.24."""
    if answer is None or isinstance(answer, bool):
        return {False: "MISS", None: "HIT_PENDING", True: "HIT"}[answer]
    name = getattr(answer, "name", None)
    if name not in LOOKUPS:
        raise WrongTypeError(repr(answer), f"a result named {', '.join(LOOKUPS)}, or a bool or None")
    return str(name)


def stored_of(output: Any, ours: bool) -> tuple[list[OffloadKey], list[int], list[OffloadKey]]:
    """The keys to store, their block ids, and the evicted keys.

    Args:
        output: what ``prepare_store`` returned.
        ours: whether the lists in it are the caller's own.

    Raises:
        WrongTypeError: if it lacks one of them.
    """
    missing = [name for name in ("keys_to_store", "store_spec", "evicted_keys") if not hasattr(output, name)]
    if missing:
        raise WrongTypeError(repr(output), f"None, or an object with {', '.join(missing)}")
    stored = _taken(output.keys_to_store, "keys_to_store", ours)
    evicted = _taken(output.evicted_keys, "evicted_keys", ours)
    return stored, block_ids_of(output.store_spec, "store_spec", ours), evicted


def block_ids_of(spec: Any, what: str, ours: bool) -> list[int]:
    """The block ids that a transfer's description lists."""
    for name in BLOCK_IDS:
        if hasattr(spec, name):
            return [int(id) for id in _taken(getattr(spec, name), f"{what}'s {name}", ours)]
    raise WrongTypeError(f"{what} {spec!r}", "an object with block_ids")


def events_of(events: Any, ours: bool) -> tuple[tuple[str, tuple[OffloadKey, ...]], ...]:
    """Each event's kind and keys: our own kinds, or vLLM's ``removed``; what concerns no reader is left out."""
    return tuple(
        (_kind(event), tuple(event.keys))
        for event in _taken(events, "", ours)
        if not getattr(event, "metadata_only", False)
    )


def _kind(event: Any) -> str:
    if hasattr(event, "kind"):
        kind = str(getattr(event.kind, "name", event.kind))
        if kind not in EVENTS:
            raise WrongTypeError(repr(event), f"an event whose kind is named {', '.join(EVENTS)}")
        return kind
    if not isinstance(getattr(event, "removed", None), bool):
        raise WrongTypeError(repr(event), "an event with keys and a kind, or with keys and removed")
    return "REMOVED" if event.removed else "STORED"


def _taken(returned: Any, what: str, ours: bool) -> list[Any]:
    """What a call returned; a list that is the caller's own is emptied, as this caller may do."""
    if isinstance(returned, str | bytes) or not isinstance(returned, Iterable):
        raise WrongTypeError(f"an answer whose {what} is {returned!r}" if what else repr(returned), "an iterable")
    taken = list(returned)
    if ours and isinstance(returned, list):
        returned.clear()
    return taken
