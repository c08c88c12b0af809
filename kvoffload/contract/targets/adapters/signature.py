"""Which of the known ways to call a method is the one that it takes."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any

REQUEST = "req_context"
"""The argument that says for which request a call is made: the only one that some take and some do not."""

Shape = tuple[str, ...]


class SignatureError(TypeError):
    """A method takes none of the arguments that it could be called with; the message says which, and what it takes."""


def fit(owner: Any, method: str, *shapes: Shape) -> Shape:
    """The first shape that the method takes.

    Args:
        owner: the object that has the method.
        method: its name.
        shapes: the names of the arguments, in order; those that may be left out make a shape of their own.

    Raises:
        SignatureError: if it takes none of them.
    """
    bound = getattr(owner, method)
    try:
        signature = inspect.signature(bound)
    except (TypeError, ValueError):  # it is written in C and does not say
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
    try:
        return _takes(inspect.signature(getattr(owner, method)), shape)
    except (TypeError, ValueError):
        return True


def has_own_calls(it: Any, methods: Iterable[str]) -> bool:
    """Whether an object may be called otherwise than others of its class: a proxy, or one with methods of its own."""
    return hasattr(type(it), "__getattr__") or any(method in getattr(it, "__dict__", ()) for method in methods)


def takes_keyword(bound: Callable[..., Any], name: str) -> bool:
    """Whether the method takes a keyword argument of that name."""
    try:
        parameters = inspect.signature(bound).parameters
    except (TypeError, ValueError):
        return False
    return name in parameters or any(it.kind is it.VAR_KEYWORD for it in parameters.values())


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
