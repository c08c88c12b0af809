"""What ``MODULE:NAME`` names: a policy or a manager, and how to make one."""

from __future__ import annotations

import difflib
import importlib
import inspect
import json
import operator
import sys
from collections.abc import Callable, Collection, Mapping
from typing import Any

from kvoffload.contract.clauses import Subject
from kvoffload.contract.targets.adapters import SignatureError, family_of, is_sized
from kvoffload.contract.targets.target import Target, TargetError
from kvoffload.types import OffloadKey
from kvoffload_spec.admission import Admission

METHODS: dict[Subject, tuple[str, ...]] = {
    "policy": ("insert", "remove", "evict"),
    "manager": ("lookup", "prepare_store", "complete_store", "prepare_load", "complete_load"),
}
"""The methods without which there is no policy and no manager; what else is missing is not claimed."""


def resolve(text: str, order: str | None = None, capabilities: Collection[str] = (), **arguments: object) -> Target:
    """Import what the text names and find out what it is, by making one for two blocks.

    Args:
        text: ``MODULE:NAME``, where NAME is a class or a factory that takes a number of blocks (if it takes
            ``enable_events``, it is given ``True``); or vLLM's extra configuration as JSON, which names a policy.
        order: the order that it declares.
        capabilities: what else it declares.
        arguments: what else to make it with.

    Raises:
        TargetError: if it cannot be imported, made or called, or is neither a policy nor a manager.
    """
    if text.lstrip().startswith("{"):
        text = _named_in_config(text)
    make = _imported(text)
    sized = is_sized(make)
    if "enable_events" not in arguments and _tells_events(make, arguments):
        arguments = {"enable_events": True, **arguments}
    given = ["2"] * sized + [f"{name}={value!r}" for name, value in arguments.items()]
    written = "".join(f", {name}={value!r}" for name, value in arguments.items())

    def make_one(capacity: int) -> Any:
        return make(capacity, **arguments) if sized else make(**arguments)

    try:
        made = make_one(2)
    except (Exception, SystemExit) as exception:
        raise TargetError(
            f"{text} raised {type(exception).__name__} when it was called with ({', '.join(given)}), for two blocks: "
            f"{exception}. Name a class or a factory that takes a number of blocks and needs nothing else."
        ) from exception
    target = Target(
        _subject(text, made), make_one, order, text, written, admission_of(arguments), capabilities=tuple(capabilities)
    )
    try:
        _ = target.claims
    except SignatureError as error:
        raise TargetError(f"{text} cannot be called: {error}") from error
    return target


def admission_of(arguments: Mapping[str, object]) -> Admission[OffloadKey]:
    """The model of the admission that a manager is made with."""
    return Admission(int(str(arguments.get("store_threshold", 0))), int(str(arguments.get("max_tracker_size", 64_000))))


def _named_in_config(text: str) -> str:
    """``MODULE:NAME`` of the policy that vLLM's extra configuration names."""
    try:
        config = json.loads(text)
    except ValueError as error:
        raise TargetError(f"the target begins like JSON and cannot be read as JSON: {error}.") from error
    config = config.get("kv_connector_extra_config", config)
    if not isinstance(config, dict):
        raise TargetError(f"the configuration's kv_connector_extra_config is {config!r}; it is to be a JSON object.")
    name, module = config.get("eviction_policy"), config.get("cache_policy_module_path")
    if not isinstance(name, str):
        raise TargetError(
            f"the configuration has {', '.join(config) or 'no key'}; it needs eviction_policy, the name of a policy, "
            "and cache_policy_module_path, the module that it lies in."
        )
    if isinstance(module, str):
        return f"{module}:{name}"
    raise TargetError(
        f"the configuration names {name!r} and no cache_policy_module_path, so that it is vLLM's own. Name the module, "
        "or the class as MODULE:CLASS; kvoffload's own are kvoffload:LRUCachePolicy, kvoffload:ARCCachePolicy, ..."
    )


def _imported(text: str) -> Callable[..., Any]:
    module_name, colon, path = text.partition(":")
    if not (module_name and colon and path):
        raise TargetError(f"the target is {text!r}; name it as MODULE:CLASS, for example kvoffload:LRUCachePolicy.")
    if "" not in sys.path:
        sys.path.insert(0, "")  # a console script does not look in the folder that it is run from
    try:
        module = importlib.import_module(module_name)
    except (Exception, SystemExit) as exception:
        raise TargetError(
            f"{module_name} cannot be imported: {type(exception).__name__}: {exception}. "
            "Run the command from the folder it lies in, or install it."
        ) from exception
    try:
        found: Any = operator.attrgetter(path)(module)
    except AttributeError as error:
        there = dir(module if error.obj is None else error.obj)
        near = difflib.get_close_matches(error.name or path, there, n=3) or [n for n in there if n[0] != "_"][:8]
        raise TargetError(f"{module_name} has no {path}; it has {', '.join(near)}.") from error
    if not callable(found):
        raise TargetError(
            f"{text} is {type(found).__name__}; name a class, or a factory that takes a number of blocks."
        )
    return found  # type: ignore[no-any-return]


def _parameters(make: Callable[..., Any]) -> Mapping[str, inspect.Parameter]:
    try:
        return inspect.signature(make).parameters
    except (TypeError, ValueError):
        return {}


def _tells_events(make: Callable[..., Any], arguments: Mapping[str, object]) -> bool:
    """Whether it takes ``enable_events``, or any keyword, and what it passes that one on to takes it."""
    parameters = _parameters(make)
    if "enable_events" in parameters or not any(it.kind is it.VAR_KEYWORD for it in parameters.values()):
        return "enable_events" in parameters
    try:
        make(2, enable_events=True, **arguments)
    except TypeError:
        return False
    except (Exception, SystemExit):  # is raised again where it is reported
        pass
    return True


def _subject(text: str, made: Any) -> Subject:
    family = family_of(made)
    if family is not None:
        return family.subject  # type: ignore[no-any-return]
    missing = {kind: [m for m in methods if not callable(getattr(made, m, None))] for kind, methods in METHODS.items()}
    for kind, methods in missing.items():
        if not methods:
            return kind
    nearest: Subject = min(missing, key=lambda kind: len(missing[kind]))
    raise TargetError(
        f"{text} made a {type(made).__name__}, which is no policy and no manager. "
        f"To be a {nearest} it lacks {', '.join(missing[nearest])}."
    )
