"""A policy by its name: one of ours, one that was registered, an installed entry point, or a class in a module."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from importlib.metadata import EntryPoint, entry_points
from typing import Any, ClassVar

from kvoffload.interface import CachePolicy

ENTRY_POINT_GROUP = "kvoffload.policies"
"""The entry-point group in which an installed package names its policies."""

OURS = {
    "arc": ("kvoffload.policies.arc", "ARCCachePolicy"),
    "fifo": ("kvoffload.policies.fifo", "FIFOCachePolicy"),
    "lfu": ("kvoffload.policies.lfu", "LFUCachePolicy"),
    "lru": ("kvoffload.policies.lru", "LRUCachePolicy"),
    "s3fifo": ("kvoffload.policies.s3fifo", "S3FIFOCachePolicy"),
    "slru": ("kvoffload.policies.slru", "SLRUCachePolicy"),
}
"""Our own policies by name, each with its module and class: a new one is one more row."""

REQUIRED = (
    "get",
    "insert",
    "remove",
    "touch",
    "evict",
    "clear",
    "on_store_miss",
    "mark_evictable",
    "mark_non_evictable",
)
"""What the manager calls. A subclass of ``CachePolicy`` has the last three already."""


class CachePolicyFactory:
    """Finds policies by name; nothing is imported before it is asked for.

    Loading a policy from a module path, or from an entry point, runs that module with the rights of this process.
    """

    _registry: ClassVar[dict[str, tuple[str, str]]] = dict(OURS)

    @classmethod
    def register_cache_policy(cls, name: str, module_path: str, class_name: str) -> None:
        """From now on the name stands for that class.

        Args:
            name: the policy's name.
            module_path: the module that holds the class; it is imported when the policy is first asked for.
            class_name: the class, or a factory that takes a capacity in blocks.

        Raises:
            ValueError: if the name stands for another class already.
        """
        known = cls._registry.setdefault(name, (module_path, class_name))
        if known != (module_path, class_name):
            raise ValueError(
                f"cache policy {name!r} is registered as {known[0]}:{known[1]} already and cannot become "
                f"{module_path}:{class_name} as well. Register it under another name."
            )

    @classmethod
    def names(cls) -> list[str]:
        """Every name that is known without a module path, sorted."""
        return sorted({*cls._registry, *(point.name for point in _installed())})

    @classmethod
    def get_cache_policy_cls(cls, name: str, module_path: str | None = None) -> Callable[[int], CachePolicy]:
        """What makes the policy of that name from a capacity in blocks.

        The registry comes first, then the module path, then the installed entry points.

        Args:
            name: a registered name, an entry point's, or with ``module_path`` the name of a class in that module.
            module_path: the module to look in, dotted; it is imported, which runs it.

        Raises:
            ValueError: if nothing has that name; the message says where it was looked for and what is known.
        """
        if name in cls._registry:
            return _class_in(*cls._registry[name])
        if module_path is not None:
            return _class_in(module_path, name)
        for point in _installed():
            if point.name == name:
                made: Callable[[int], CachePolicy] = point.load()
                return made
        raise ValueError(
            f"cache_policy is {name!r}, which is neither registered nor an entry point of group {ENTRY_POINT_GROUP!r}; "
            f"known are {', '.join(cls.names())}. Name one of them, or pass cache_policy_module_path as well."
        )


def _installed() -> tuple[EntryPoint, ...]:
    return tuple(entry_points(group=ENTRY_POINT_GROUP))


def _class_in(module_path: str, class_name: str) -> Callable[[int], CachePolicy]:
    try:
        module: Any = importlib.import_module(module_path)
    except ImportError as error:
        raise ValueError(
            f"cache policy {class_name!r} was looked for in module {module_path!r}, which cannot be imported: {error}. "
            "Name a module that Python finds on its path."
        ) from error
    found: Callable[[int], CachePolicy] | None = getattr(module, class_name, None)
    if found is None:
        classes = sorted(name for name, value in vars(module).items() if isinstance(value, type))
        raise ValueError(
            f"cache policy {class_name!r} was looked for in module {module_path!r}, which has no such class; "
            f"it has {', '.join(classes) or 'none'}."
        )
    return found


def make_cache_policy(
    policy: str | Callable[[int], CachePolicy], num_blocks: int, module_path: str | None = None
) -> CachePolicy:
    """The policy of that name, or made by that factory, for ``num_blocks`` blocks.

    Raises:
        ValueError: if no policy has that name, or what was made lacks a method of ``CachePolicy``.
    """
    make = policy if callable(policy) else CachePolicyFactory.get_cache_policy_cls(policy, module_path)
    made = make(num_blocks)
    missing = [name for name in REQUIRED if not callable(getattr(made, name, None))]
    if missing:
        raise ValueError(
            f"{policy!r} made a {type(made).__name__}, which has no {', '.join(missing)}. "
            "A cache policy subclasses kvoffload.CachePolicy."
        )
    return made
