"""Keys, counts and answers in the words of a report."""

from __future__ import annotations

from collections.abc import Iterable

from kvoffload.contract.calls.outcome import MisbehaviourError, Outcome, Stored
from kvoffload.errors import OffloadingError
from kvoffload.policies.base import BlockStatus
from kvoffload.types import OffloadKey

LONGEST_MESSAGE = 80
"""How much of an exception's message a report shows."""


def counted(number: int, noun: str) -> str:
    """A number of things: ``no block``, ``1 block``, ``2 blocks``."""
    return f"{number or 'no'} {noun}{'' if number in (0, 1) else 's'}"


def listed(keys: Iterable[OffloadKey]) -> str:
    """Keys as they stand in ``expected``, ``actual`` and ``why``; the report puts their names in."""
    return f"[{', '.join(map(repr, keys))}]"


def why_in_order(order: str | None, in_order: Iterable[OffloadKey]) -> str:
    """Why a declared order has other victims than came."""
    return f"idle and not named by the call, in the order {order}, the next first: {listed(in_order)}"


def _short(message: str) -> str:
    line = message.partition("\n")[0]
    return line if len(line) <= LONGEST_MESSAGE else f"{line[:LONGEST_MESSAGE]}..."


def shown(outcome: Outcome) -> str:
    """What a call returned or raised, for a report."""
    if isinstance(outcome.raised, MisbehaviourError):
        return str(outcome.raised)
    match outcome.value:
        case _ if isinstance(outcome.raised, OffloadingError) and hasattr(outcome.raised, "key"):
            return f"raises {type(outcome.raised).__name__} for {outcome.raised.key!r}"
        case _ if outcome.raised is not None:
            return f"raises {type(outcome.raised).__name__}: {_short(str(outcome.raised))}"
        case Stored(stored, block_ids, evicted):
            where = f" in blocks {list(block_ids)}" if block_ids else ""
            return f"store {listed(stored)}{where}, evict {listed(evicted)}"
        case tuple(block_ids):
            return f"blocks {list(block_ids)}"
    return str(outcome.value)


def victims_of(outcome: Outcome) -> tuple[OffloadKey, ...] | None:
    """The keys that an eviction returned; ``None`` if it refused."""
    if not isinstance(outcome.value, tuple):
        return None
    return tuple(key for key, _ in outcome.value)


def shown_victims(outcome: Outcome) -> str:
    """What an eviction returned or raised, for a report."""
    victims = victims_of(outcome)
    if outcome.raised is not None:
        return shown(outcome)
    return "None" if victims is None else f"evict {listed(victims)}"


def block_of(key: OffloadKey, block: BlockStatus | None) -> str:
    """The block by the name that it has in a program."""
    return "None" if block is None else f"{key!r}_block"
