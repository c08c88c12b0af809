"""What a call came to: what it returned, in plain form, or what it raised."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from kvoffload.contract.calls.operations import Operation
from kvoffload.types import OffloadKey


class Stored(NamedTuple):
    """What an accepted ``prepare_store`` returned."""

    keys_to_store: tuple[OffloadKey, ...]
    block_ids: tuple[int, ...]
    evicted_keys: tuple[OffloadKey, ...]


class MisbehaviourError(Exception):
    """A call did what none may: where raising is right, this is not."""


class HangsError(MisbehaviourError):
    """A call was interrupted because it took too long."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"does not return within {seconds:.0f} s")


class ExitsError(MisbehaviourError):
    """A call tried to end the process."""

    def __init__(self, code: object) -> None:
        super().__init__(f"ends the process (SystemExit: {code})")


class WrongTypeError(MisbehaviourError):
    """A call returned something else than its interface says.

    Attributes:
        came: what it returned.
        expected: what its interface says.
    """

    def __init__(self, came: str, expected: str) -> None:
        super().__init__(f"returns {came}, which is not {expected}")
        self.came, self.expected = came, expected


@dataclass(frozen=True)
class Outcome:
    """What a call returned, in plain form, or what it raised.

    Attributes:
        value: what it returned.
        raised: what it raised.
        changed: what it changed that it was only given to read; empty if nothing.
    """

    value: Any = None
    raised: Exception | None = None
    changed: str = ""

    def same_as(self, other: Outcome) -> bool:
        """Both returned the same, or raised exceptions of one type."""
        return self.value == other.value and type(self.raised) is type(other.raised)


@dataclass
class Step:
    """One call of a history, and what it returned if it has returned."""

    op: Operation
    outcome: Outcome | None = None
