"""What ``MODULE:NAME`` names: a policy or a manager, and how to make one."""

from __future__ import annotations

import difflib
import importlib
import inspect
import sys
from collections.abc import Callable
from typing import Any

from kvoffload.contract.clauses import Subject
from kvoffload.contract.search import Target

METHODS: dict[Subject, tuple[str, ...]] = {
    "policy": ("get", "insert", "remove", "touch", "evict", "clear"),
    "manager": ("lookup", "prepare_store", "complete_store", "prepare_load", "complete_load", "touch", "reset_cache"),
}
"""The methods that every policy and every manager has."""


class TargetError(Exception):
    """The target cannot be checked; the message says why and what to do."""


def resolve(text: str, order: str | None = None, **arguments: object) -> Target:
    """Import what ``MODULE:NAME`` names and find out what it is, by making one for two blocks.

    Args:
        text: NAME is a class or a factory that takes a number of blocks; if it takes ``enable_events``, it is given
            ``True``.
        order: the order that it declares.
        arguments: what else to make it with.

    Raises:
        TargetError: if it cannot be imported or made, or is neither a policy nor a manager.
    """
    make = _imported(text)
    if _takes_events(make):
        arguments = {"enable_events": True, **arguments}
    written = "".join(f", {name}={value!r}" for name, value in arguments.items())

    def make_one(capacity: int) -> Any:
        return make(capacity, **arguments)

    try:
        made = make_one(2)
    except Exception as exception:
        raise TargetError(
            f"{text} raised {type(exception).__name__} when it was called with (2{written}), for two blocks: "
            f"{exception}. Name a class or a factory that takes a number of blocks and needs nothing else."
        ) from exception
    return Target(_subject(text, made), make_one, order, text, written)


def _imported(text: str) -> Callable[..., Any]:
    module_name, colon, path = text.partition(":")
    if not (module_name and colon and path):
        raise TargetError(f"the target is {text!r}; name it as MODULE:CLASS, for example kvoffload:LRUCachePolicy.")
    if "" not in sys.path:
        sys.path.insert(0, "")  # a console script does not look in the folder that it is run from
    try:
        found: Any = importlib.import_module(module_name)
    except Exception as exception:
        raise TargetError(
            f"{module_name} cannot be imported: {type(exception).__name__}: {exception}. "
            "Run the command from the folder it lies in, or install it."
        ) from exception
    for name in path.split("."):
        if not hasattr(found, name):
            near = difflib.get_close_matches(name, dir(found), n=3) or [n for n in dir(found) if n[0] != "_"][:8]
            raise TargetError(f"{module_name} has no {path}; it has {', '.join(near)}.")
        found = getattr(found, name)
    if not callable(found):
        raise TargetError(
            f"{text} is {type(found).__name__}; name a class, or a factory that takes a number of blocks."
        )
    return found  # type: ignore[no-any-return]


def _takes_events(make: Callable[..., Any]) -> bool:
    try:
        return "enable_events" in inspect.signature(make).parameters
    except (TypeError, ValueError):
        return False


def _subject(text: str, made: Any) -> Subject:
    missing = {kind: [m for m in methods if not callable(getattr(made, m, None))] for kind, methods in METHODS.items()}
    for kind, methods in missing.items():
        if not methods:
            return kind
    nearest: Subject = min(missing, key=lambda kind: len(missing[kind]))
    raise TargetError(
        f"{text} made a {type(made).__name__}, which is no policy and no manager. "
        f"To be a {nearest} it lacks {', '.join(missing[nearest])}."
    )
