"""Which of the known ways to call a method is the one that it takes."""

from __future__ import annotations

import inspect
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kvoffload.contract.targets.requests import Request
from kvoffload.types import ReqContext

REQUEST = "req_context"
"""The argument that says for which request a call is made: the only one that some take and some do not."""

KIN = ("prepare_store", "evict")
"""What an object that stands behind another has as well: a manager behind a manager, a policy behind a policy."""

MOST_WRAPPERS = 8
"""How many objects are looked behind, each holding the next."""

Shape = tuple[str, ...]


class SignatureError(TypeError):
    """A method takes none of the arguments that it could be called with; the message says which, and what it takes."""


@dataclass(frozen=True)
class Fit:
    """How the methods of an object are called.

    Attributes:
        takes_request: those that are told the request.
        needs_request: those that cannot do without it.
        has: all that may be told it.
        unsure: those that take it, and may pass it on to what does not.
    """

    takes_request: frozenset[str]
    needs_request: frozenset[str]
    has: frozenset[str]
    unsure: frozenset[str]


_FITS: dict[type, Fit] = {}


def fit_of(owner: Any, methods: Mapping[str, Shape], required: Collection[str], others: Mapping[str, Shape]) -> Fit:
    """How an object's methods are called, found out once for those of a class that are all called alike.

    Args:
        owner: the object.
        methods: the calls that may be told the request, with the arguments before it; those that it lacks are left out.
        required: those that it may not lack.
        others: the calls that never are told the request, with their arguments.

    Raises:
        SignatureError: if it lacks a call that is required, or a method takes none of the arguments.
    """
    kind = type(owner)
    if kind in _FITS and not has_own_calls(owner, (*methods, *required)):
        return _FITS[kind]
    for method in required:
        if not callable(getattr(owner, method, None)):
            subject = "manager" if "prepare_store" in required else "policy"
            raise SignatureError(f"{kind.__name__} has no {method}(), which every {subject} has.")
    shapes = {
        method: fit(owner, method, (*arguments, REQUEST), arguments)
        for method, arguments in methods.items()
        if callable(getattr(owner, method, None))
    }
    for method, arguments in others.items():
        if callable(getattr(owner, method, None)):
            fit(owner, method, arguments)
    takes_request = frozenset(method for method, shape in shapes.items() if REQUEST in shape)
    needs_request = frozenset(method for method in shapes if not takes(owner, method, methods[method]))
    passing_on = {method for method in shapes if _passes_on(_signature(getattr(owner, method)))}
    unsure = frozenset(method for method in takes_request & passing_on if _behind(owner, method) is None)
    found = Fit(takes_request, needs_request, frozenset(shapes), unsure)
    if not passing_on:
        _FITS[kind] = found
    return found


class Caller:
    """Calls the methods of an object, with the request where they take it.

    A method that takes ``*args`` takes the request, and may pass it on to one that does not: such a call is made again
    without the request, once, and from then on without it.

    Attributes:
        takes_request: the methods that are told the request, as far as is known.
        request: the last one.
    """

    def __init__(self, owner: Any, fit: Fit) -> None:
        self._owner = owner
        self.takes_request = fit.takes_request
        self.request: Any = Request()
        self._unsure = fit.unsure

    def __call__(self, method: str, *arguments: Any, **keywords: Any) -> Any:
        """Make the call; the last argument is the request."""
        call = getattr(self._owner, method)
        if method not in self.takes_request:
            return call(*arguments[:-1], **keywords)
        arguments = (*arguments[:-1], self.known(arguments[-1]))
        if method not in self._unsure:
            return call(*arguments, **keywords)
        self._unsure -= {method}
        try:
            return call(*arguments, **keywords)
        except TypeError as error:
            if not _could_not_be_passed_on(error):
                raise
            self.takes_request -= {method}
        return call(*arguments[:-1], **keywords)

    def known(self, request: Any) -> Any:
        """The request as vLLM reads it, with room for what is kept in it; from now on it is the last one."""
        if isinstance(request, Request) or not isinstance(request, ReqContext):
            self.request = request
        elif request.req_id != self.request.req_id:
            self.request = Request(request.req_id)
        return self.request


def _could_not_be_passed_on(error: TypeError) -> bool:
    """Whether no method but those with ``*args`` was reached: what they called did not take the arguments."""
    frame = error.__traceback__ and error.__traceback__.tb_next  # behind the frame that caught it
    is_reached = frame is not None
    while frame is not None:
        if not frame.tb_frame.f_code.co_flags & inspect.CO_VARARGS:
            return False
        frame = frame.tb_next
    return is_reached and "argument" in str(error)


def fit(owner: Any, method: str, *shapes: Shape) -> Shape:
    """The first shape that the method takes.

    Args:
        owner: the object that has the method.
        method: its name.
        shapes: the names of the arguments, in order; those that may be left out make a shape of their own.

    Raises:
        SignatureError: if it takes none of them.
    """
    signature = _signature_of(owner, method)
    if signature is None:
        return shapes[0]
    for shape in shapes:
        if _takes(signature, shape):
            return shape
    ways = " or ".join(f"{method}({', '.join(shape)})" for shape in shapes)
    raise SignatureError(
        f"{type(owner).__name__}.{method} takes {signature}; it is called as {ways}. "
        "Give it one of these signatures, or check a factory that wraps it."
    )


def takes(owner: Any, method: str, shape: Shape) -> bool:
    """Whether the method takes these arguments and no more."""
    signature = _signature_of(owner, method)
    return signature is None or _takes(signature, shape)


def has_own_calls(it: Any, methods: Collection[str]) -> bool:
    """Whether an object may be called otherwise than others of its class: a proxy, or one with methods of its own."""
    return hasattr(type(it), "__getattr__") or any(method in getattr(it, "__dict__", ()) for method in methods)


def takes_keyword(owner: Any, method: str, name: str) -> bool:
    """Whether the method takes a keyword argument of that name."""
    signature = _signature_of(owner, method)
    parameters = {} if signature is None else signature.parameters
    return name in parameters or any(it.kind is it.VAR_KEYWORD for it in parameters.values())


def _signature(call: Any) -> inspect.Signature | None:
    """What it takes; ``None`` if it is written in C and does not say."""
    try:
        return inspect.signature(call)
    except (TypeError, ValueError):
        return None


def _signature_of(owner: Any, method: str, depth: int = 0) -> inspect.Signature | None:
    """What the method takes, or what the method takes that it passes everything on to."""
    signature = _signature(getattr(owner, method))
    return (_behind(owner, method, depth) or signature) if _passes_on(signature) else signature


def _passes_on(signature: inspect.Signature | None) -> bool:
    kinds = [] if signature is None else [it.kind for it in signature.parameters.values()]
    return inspect.Parameter.VAR_POSITIONAL in kinds


def _behind(owner: Any, method: str, depth: int = 0) -> inspect.Signature | None:
    """What the same method takes of an object of the same kind that this one holds; None if it holds none."""
    kin = [name for name in KIN if hasattr(owner, name)]
    if depth == MOST_WRAPPERS:  # two that hold each other
        return None
    for held in getattr(owner, "__dict__", {}).values():
        if all(callable(getattr(held, name, None)) for name in (*kin, method)):
            return _signature_of(held, method, depth + 1)
    return None


def _takes(signature: inspect.Signature, shape: Sequence[str]) -> bool:
    try:
        signature.bind(*shape)
    except TypeError:
        return False
    positional = [
        it for it in signature.parameters.values() if it.kind in (it.POSITIONAL_ONLY, it.POSITIONAL_OR_KEYWORD)
    ]
    for role, parameter in zip(shape, positional, strict=False):
        # A default says that the argument may be something else altogether: touch(keys, front=False).
        if role == REQUEST and parameter.default is not parameter.empty and not _names_a_request(parameter.name):
            return False
    return True


def _names_a_request(name: str) -> bool:
    return any(part in name for part in ("req", "context", "ctx"))
