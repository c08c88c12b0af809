"""A call as data. A history is a list of these, whoever chose them.

A transfer is named by a number of the history's own, given by the operation that prepares it, so that a history stays
meaningful when calls are dropped from it: completing a transfer that was never prepared is no call at all.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from kvoffload.types import OffloadKey

Keys: TypeAlias = tuple[OffloadKey, ...]


def keys(names: str) -> Keys:
    """One key for each letter, ready to be unpacked into variables of these names."""
    return tuple(map(key_named, names))


def key_named(name: str) -> OffloadKey:
    """The key of that name in group 0, made here: what is checked may be wrong about how keys are made."""
    return OffloadKey(name.encode() + bytes(4))


@dataclass(frozen=True)
class Operation:
    """One call on a manager or a policy."""

    @property
    def named(self) -> Keys:
        """The keys that the call names."""
        if hasattr(self, "keys"):
            named: Keys = self.keys
            return named
        return (self.key,) if hasattr(self, "key") else ()

    def simpler(self) -> Iterator[Operation]:
        """The same call with one thing less: without one of its keys, say."""
        if hasattr(self, "keys"):
            for i in range(len(self.named)):
                fewer: Any = {"keys": self.named[:i] + self.named[i + 1 :]}
                yield replace(self, **fewer)
        for name, plain in (("one_shot", False), ("success", True), ("request", "")):
            if getattr(self, name, plain) != plain:
                yield replace(self, **{name: plain})


# --- calls on a manager ---


@dataclass(frozen=True)
class Completion(Operation):
    """The end of a transfer, which its ``transfer`` names unless that is ``None``."""

    def simpler(self) -> Iterator[Operation]:
        """One thing less, or the same keys without the transfer's id."""
        yield from super().simpler()
        if getattr(self, "transfer", None) is not None:
            unnamed: Any = {"transfer": None}
            yield replace(self, **unnamed)


@dataclass(frozen=True)
class Lookup(Operation):
    """``lookup(key)``."""

    key: OffloadKey


@dataclass(frozen=True)
class PrepareStore(Operation):
    """``prepare_store(keys)``; ``transfer`` names it in this history; ``one_shot`` passes the keys as an iterator."""

    keys: Keys
    transfer: int
    one_shot: bool = False
    request: str = ""


@dataclass(frozen=True)
class CompleteStore(Completion):
    """``complete_store(keys, success)``, with the id of the named transfer unless ``transfer`` is ``None``."""

    keys: Keys
    success: bool = True
    transfer: int | None = None
    one_shot: bool = False


@dataclass(frozen=True)
class PrepareLoad(Operation):
    """``prepare_load(keys)``."""

    keys: Keys
    transfer: int
    one_shot: bool = False


@dataclass(frozen=True)
class CompleteLoad(Completion):
    """``complete_load(keys)``, with the id of the named transfer unless ``transfer`` is ``None``."""

    keys: Keys
    transfer: int | None = None
    one_shot: bool = False


@dataclass(frozen=True)
class TouchKeys(Operation):
    """``touch(keys)``."""

    keys: Keys
    one_shot: bool = False
    request: str = ""


@dataclass(frozen=True)
class ResetCache(Operation):
    """``reset_cache()``."""


@dataclass(frozen=True)
class TakeEvents(Operation):
    """``take_events()``."""


@dataclass(frozen=True)
class FinishRequest(Operation):
    """``on_request_finished`` for that request: another one may have the same id afterwards."""

    request: str = ""


@dataclass(frozen=True)
class PolicyFault(Operation):
    """The call ``during``, in which the manager's policy raises once.

    Attributes:
        during: the call on the manager.
        method: the policy's method that raises.
        nth: on which of its calls, the first being 0.
        after: whether it has done its work when it raises.
    """

    during: Operation
    method: str
    nth: int = 0
    after: bool = False

    @property
    def named(self) -> Keys:
        """The keys of the call on the manager."""
        return self.during.named

    def simpler(self) -> Iterator[Operation]:
        """The same fault in a simpler call, or earlier in it."""
        for during in self.during.simpler():
            yield replace(self, during=during)
        if self.nth:
            yield replace(self, nth=self.nth - 1)


# --- calls on a policy ---


@dataclass(frozen=True)
class OnePolicyKey(Operation):
    """A call on a policy that concerns one key."""

    key: OffloadKey


@dataclass(frozen=True)
class Get(OnePolicyKey):
    """``get(key)``."""


@dataclass(frozen=True)
class Insert(OnePolicyKey):
    """``on_store_miss([key])``, then ``insert(key, block)`` of a block that is pending or already idle."""

    idle: bool = False
    request: str = ""

    def simpler(self) -> Iterator[Operation]:
        """The block idle at once, or inserted for no request."""
        yield from super().simpler()
        if not self.idle:
            yield replace(self, idle=True)


@dataclass(frozen=True)
class FinishStore(OnePolicyKey):
    """The block's ``ref_cnt`` goes from -1 to 0, and ``mark_evictable(key)`` is called."""


@dataclass(frozen=True)
class Pin(OnePolicyKey):
    """The block's ``ref_cnt`` goes up; ``mark_non_evictable(key)`` is called if it leaves 0."""


@dataclass(frozen=True)
class Unpin(OnePolicyKey):
    """The block's ``ref_cnt`` goes down; ``mark_evictable(key)`` is called if it comes to 0."""


@dataclass(frozen=True)
class Remove(OnePolicyKey):
    """``remove(key)``."""


@dataclass(frozen=True)
class TouchPolicy(Operation):
    """``touch(keys)``."""

    keys: Keys
    request: str = ""


@dataclass(frozen=True)
class Evict(Operation):
    """``evict(n, protected)``; ``keys`` are the protected ones."""

    n: int
    keys: Keys = ()

    def simpler(self) -> Iterator[Operation]:
        """One protected key less, or one victim less."""
        yield from super().simpler()
        if self.n:
            yield replace(self, n=self.n - 1)


@dataclass(frozen=True)
class Clear(Operation):
    """``clear()``."""


def call_of(op: Operation) -> Operation:
    """The call itself: the one in which a fault occurs, if one does."""
    return op.during if isinstance(op, PolicyFault) else op
