"""A call as data. A history is a list of these, whoever chose them.

An operation says of itself what is to be said, so that a new one is a class here, its call in an adapter, its judge in
a lockstep, and a choice of a chooser; and a case of a driver, where its answer is not in plain form yet.

A transfer is named by a number of the history's own, given by the operation that prepares it, so that a history stays
meaningful when calls are dropped from it: completing a transfer that was never prepared is no call at all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self, TypeAlias

from kvoffload.contract.clauses import Subject
from kvoffload.types import OffloadKey

Keys: TypeAlias = tuple[OffloadKey, ...]
Listed: TypeAlias = Callable[[Iterable[object]], str]
"""Keys in the words of a report."""

MANAGER: tuple[Subject, ...] = ("manager",)
POLICY: tuple[Subject, ...] = ("policy",)
OPERATIONS: list[type[Operation]] = []
"""Every operation, in the order in which a history's verbs and a check's findings are listed."""

NO_TRANSFER: int | None = None


def keys(names: str) -> Keys:
    """One key for each letter, ready to be unpacked into variables of these names."""
    return tuple(map(key_named, names))


def key_named(name: str) -> OffloadKey:
    """The key of that name in group 0, made here: what is checked may be wrong about how keys are made."""
    return OffloadKey(name.encode() + bytes(4))


@dataclass(frozen=True)
class Operation:
    """One call on a manager or a policy; what every such call has in common, its class says in its first line.

    Attributes:
        on: the subjects that it is a call on; of none if the class is a kind of operations.
        verbs: what it is called in the text of a history, each with the fields that the verb fixes.
        needs: ids of the capabilities without which a subject is never given the call.
        method: the method that is called on the subject; of a fault, the one that raises.
    """

    on: ClassVar[tuple[Subject, ...]] = ()
    verbs: ClassVar[Mapping[str, Mapping[str, bool]]] = {}
    needs: ClassVar[frozenset[str]] = frozenset()

    # No fields, since they have no annotation, but what holds for a call that has no such argument. One that cannot do
    # without the argument declares it with ``field()``, which keeps this from becoming its default.
    method = ""
    success = True
    transfer = NO_TRANSFER
    one_shot = False
    request = ""

    def __init_subclass__(
        cls,
        on: tuple[Subject, ...] = (),
        verb: str | Mapping[str, Mapping[str, bool]] = "",
        method: str = "",
        needs: tuple[str, ...] = (),
    ) -> None:
        super().__init_subclass__()
        if on:
            cls.on, cls.needs = on, frozenset(needs)
            cls.verbs = {verb: {}} if isinstance(verb, str) else verb
            OPERATIONS.append(cls)
        if method:
            cls.method = method

    @property
    def verb(self) -> str:
        """What the call is called in the text of a history; empty if it is none of its own."""
        says = (verb for verb, fixed in self.verbs.items() if all(getattr(self, it) == fixed[it] for it in fixed))
        return next(says, "")

    @property
    def named(self) -> Keys:
        """The keys that the call names."""
        return ()

    def but(self, **fields: Any) -> Self:
        """The same call with other values in these fields."""
        return replace(self, **fields)

    def with_named(self, named: Keys) -> Operation:
        """The same call with these keys, of which there are as many as it takes."""
        return self

    def simpler(self) -> Iterator[Operation]:
        """The same call with one thing less: without one of its keys, say."""
        for name, plain in (("one_shot", False), ("success", True), ("request", "")):
            if getattr(self, name) != plain:
                yield self.but(**{name: plain})

    def answer(self, value: Any, listed: Listed) -> str:
        """What the call returned, in a few words; empty if that says nothing."""
        return ""


@dataclass(frozen=True)
class OneKey(Operation):
    """A call that concerns one key."""

    key: OffloadKey

    @property
    def named(self) -> Keys:
        """The key."""
        return (self.key,)

    def with_named(self, named: Keys) -> Operation:
        """The same call with another key."""
        return self.but(key=named[0])


class ManyKeys(Operation):
    """A call that takes any number of keys.

    It is no dataclass, since each call has a place of its own for the keys among its arguments.
    """

    keys: Keys

    @property
    def named(self) -> Keys:
        """The keys as they stand in the call, repeats included."""
        return self.keys

    def with_named(self, named: Keys) -> Operation:
        """The same call with these keys."""
        return self.but(keys=named)

    def simpler(self) -> Iterator[Operation]:
        """One key less, or one thing less."""
        for i in range(len(self.keys)):
            yield self.with_named(self.keys[:i] + self.keys[i + 1 :])
        yield from super().simpler()


# --- calls on a manager ---


class Completion(ManyKeys):
    """The end of a transfer, which its ``transfer`` names unless that is ``None``."""

    def simpler(self) -> Iterator[Operation]:
        """One thing less, or the same keys without the transfer's id."""
        yield from super().simpler()
        if self.transfer is not None:
            yield self.but(transfer=None)


@dataclass(frozen=True)
class Lookup(OneKey, on=MANAGER, verb="lookup", method="lookup"):
    """``lookup(key)``."""

    def answer(self, value: Any, listed: Listed) -> str:
        """Where the key is."""
        return str(value)


@dataclass(frozen=True)
class PrepareStore(ManyKeys, on=MANAGER, verb="store", method="prepare_store"):
    """``prepare_store(keys)``; ``transfer`` names it in this history; ``one_shot`` passes the keys as an iterator."""

    keys: Keys
    transfer: int = field()
    one_shot: bool = False
    request: str = ""

    def answer(self, value: Any, listed: Listed) -> str:
        """What to store and what was evicted for it."""
        return "None" if value is None else f"store {listed(value.keys_to_store)}, evict {listed(value.evicted_keys)}"


@dataclass(frozen=True)
class CompleteStore(
    Completion, on=MANAGER, verb={"done": {"success": True}, "failed": {"success": False}}, method="complete_store"
):
    """``complete_store(keys, success)``, with the id of the named transfer unless ``transfer`` is ``None``."""

    keys: Keys
    success: bool = True
    transfer: int | None = None
    one_shot: bool = False


@dataclass(frozen=True)
class PrepareLoad(ManyKeys, on=MANAGER, verb="load", method="prepare_load"):
    """``prepare_load(keys)``."""

    keys: Keys
    transfer: int = field()
    one_shot: bool = False

    def answer(self, value: Any, listed: Listed) -> str:
        """The blocks to load from."""
        return f"blocks {list(value)}"


@dataclass(frozen=True)
class CompleteLoad(Completion, on=MANAGER, verb="release", method="complete_load"):
    """``complete_load(keys)``, with the id of the named transfer unless ``transfer`` is ``None``."""

    keys: Keys
    transfer: int | None = None
    one_shot: bool = False


@dataclass(frozen=True)
class TouchKeys(ManyKeys, on=MANAGER, verb="touch", method="touch", needs=("touch",)):
    """``touch(keys)``."""

    keys: Keys
    one_shot: bool = False
    request: str = ""


@dataclass(frozen=True)
class ResetCache(Operation, on=MANAGER, verb="reset", method="reset_cache", needs=("reset",)):
    """``reset_cache()``."""


@dataclass(frozen=True)
class TakeEvents(Operation, on=MANAGER, verb="events", method="take_events", needs=("events",)):
    """``take_events()``."""

    def answer(self, value: Any, listed: Listed) -> str:
        """The events."""
        return ", ".join(f"{kind} {listed(keys)}" for kind, keys in value) or "no event"


@dataclass(frozen=True)
class PolicyFault(Operation, on=MANAGER, verb={}, needs=("faults", "policy")):
    """The call ``during``, in which the manager's policy raises once; no verb: ``fault`` stands in front of its call's.

    Attributes:
        during: the call on the manager.
        method: the policy's method that raises.
        nth: on which of its calls, the first being 0.
        after: whether it has done its work when it raises.
    """

    during: Operation
    method: str = field()
    nth: int = 0
    after: bool = False

    @property
    def named(self) -> Keys:
        """The keys of the call on the manager."""
        return self.during.named

    def with_named(self, named: Keys) -> Operation:
        """The same fault in the call with other keys."""
        return self.but(during=self.during.with_named(named))

    def simpler(self) -> Iterator[Operation]:
        """The same fault in a simpler call, or earlier in it."""
        for during in self.during.simpler():
            yield self.but(during=during)
        if self.nth:
            yield self.but(nth=self.nth - 1)


# --- calls on a policy ---


@dataclass(frozen=True)
class Get(OneKey, on=POLICY, verb="get", method="get", needs=("get",)):
    """``get(key)``."""

    def answer(self, value: Any, listed: Listed) -> str:
        """The block, if there is one."""
        return str(value)


@dataclass(frozen=True)
class Insert(OneKey, on=POLICY, verb={"insert": {"idle": False}, "insert-idle": {"idle": True}}, method="insert"):
    """``on_store_miss([key])``, then ``insert(key, block)`` of a block that is pending or already idle."""

    idle: bool = False
    request: str = ""

    def simpler(self) -> Iterator[Operation]:
        """The block idle at once, or inserted for no request."""
        yield from super().simpler()
        if not self.idle:
            yield self.but(idle=True)


@dataclass(frozen=True)
class FinishStore(OneKey, on=POLICY, verb="finish", method="mark_evictable"):
    """The block's ``ref_cnt`` goes from -1 to 0, and ``mark_evictable(key)`` is called."""


@dataclass(frozen=True)
class Pin(OneKey, on=POLICY, verb="pin", method="mark_non_evictable"):
    """The block's ``ref_cnt`` goes up; ``mark_non_evictable(key)`` is called if it leaves 0."""


@dataclass(frozen=True)
class Unpin(OneKey, on=POLICY, verb="unpin", method="mark_evictable"):
    """The block's ``ref_cnt`` goes down; ``mark_evictable(key)`` is called if it comes to 0."""


@dataclass(frozen=True)
class Remove(OneKey, on=POLICY, verb="remove", method="remove"):
    """``remove(key)``."""


@dataclass(frozen=True)
class TouchPolicy(ManyKeys, on=POLICY, verb="touch", method="touch", needs=("touch",)):
    """``touch(keys)``."""

    keys: Keys
    request: str = ""


@dataclass(frozen=True)
class Evict(ManyKeys, on=POLICY, verb="evict", method="evict"):
    """``evict(n, protected)``; ``keys`` are the protected ones."""

    n: int
    keys: Keys = ()

    def simpler(self) -> Iterator[Operation]:
        """One protected key less, or one victim less."""
        yield from super().simpler()
        if self.n:
            yield self.but(n=self.n - 1)

    def answer(self, value: Any, listed: Listed) -> str:
        """The victims, in their order."""
        return "None" if value is None else f"evict {listed(key for key, _ in value)}"


@dataclass(frozen=True)
class Clear(Operation, on=POLICY, verb="clear", method="clear", needs=("clear",)):
    """``clear()``."""


# --- calls on either ---


@dataclass(frozen=True)
class FinishRequest(
    Operation, on=MANAGER + POLICY, verb="finish-request", method="on_request_finished", needs=("requests",)
):
    """``on_request_finished`` for that request: another one may have the same id afterwards."""

    request: str = ""


def call_of(op: Operation) -> Operation:
    """The call itself: the one in which a fault occurs, if one does."""
    return op.during if isinstance(op, PolicyFault) else op


def operations_on(subject: Subject) -> tuple[type[Operation], ...]:
    """The operations that are calls on a policy, or on a manager."""
    return tuple(operation for operation in OPERATIONS if subject in operation.on)
