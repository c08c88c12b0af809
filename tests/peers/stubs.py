"""Stand-ins for what a peer's files import without needing it to decide anything: torch, loggers, metrics.

Everything that decides is the peer's real file. A stand-in has the names that the files use at import or in a call, and
keeps what it is told where a test may want to see it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from enum import Enum, auto
from pathlib import Path
from types import ModuleType
from typing import Any


def module(name: str, **attributes: object) -> ModuleType:
    """A module that has just these attributes."""
    made = ModuleType(name, "A stand-in, see tests/peers/stubs.py.")
    vars(made).update(attributes)
    return made


def bare_package(name: str, root: Path) -> ModuleType:
    """A package whose submodules are found below ``root``, and whose own ``__init__`` is never run."""
    return module(name, __path__=[str(root.joinpath(*name.split(".")))])


@contextmanager
def importable(peer: str, modules: Iterable[ModuleType]) -> Iterator[None]:
    """Put the modules where ``import`` finds them first.

    Afterwards the peer's own stay, for what is imported late; those of third parties, such as torch, are taken back. If
    the body raises, nothing of the peer stays.
    """
    borrowed = []
    for made in modules:
        if _belongs(made.__name__, peer):
            sys.modules[made.__name__] = made
        elif made.__name__ not in sys.modules:
            sys.modules[made.__name__] = made
            borrowed.append(made.__name__)
    try:
        yield
    except BaseException:
        for name in [name for name in sys.modules if _belongs(name, peer)]:
            del sys.modules[name]
        raise
    finally:
        for name in borrowed:
            del sys.modules[name]


def _belongs(name: str, peer: str) -> bool:
    return name == peer or name.startswith(f"{peer}.")


class SilentLogger:
    """Takes every message of any level, once or always, and says nothing."""

    def __getattr__(self, level: str) -> Any:
        if level.startswith("__"):
            raise AttributeError(level)
        return lambda *_args, **_kwargs: None


def init_logger(_name: str) -> SilentLogger:
    """Both peers make their loggers so."""
    return SilentLogger()


class ConnectorStats:
    """What vLLM's ``get_stats`` fills in: the last value of each gauge, the sum of each counter, all observations."""

    def __init__(self) -> None:
        self.gauges: dict[str, float] = {}
        self.counters: dict[str, float] = {}
        self.histograms: dict[str, list[float]] = {}

    def set_gauge(self, name: str, value: float, *_labels: object) -> None:
        self.gauges[name] = value

    def increase_counter(self, name: str, value: float, *_labels: object) -> None:
        self.counters[name] = self.counters.get(name, 0) + value

    def observe_histogram(self, name: str, value: float, *_labels: object) -> None:
        self.histograms.setdefault(name, []).append(value)


class StatsMonitor:
    """LMCache's process-wide statistics, which hear how long ago a reused chunk was first seen."""

    @classmethod
    def GetOrCreate(cls) -> StatsMonitor:  # LMCache's name
        return cls()

    def on_chunk_reuse(self, seconds: float) -> None:
        """Nothing is kept."""


class CacheHitSource(Enum):
    """Where vLLM's ``get_load_source`` says that a hit comes from, with the real values' names."""

    HOST = auto()
    DISK = auto()
    P2P = auto()
    EXTERNAL_UNSPECIFIED = auto()


class Unused:
    """A class that is named in annotations, or asked for in ``isinstance``, and of which there is no instance."""


def torch() -> ModuleType:
    """The names of torch that stand in annotations."""
    return module("torch", Tensor=Unused, Size=Unused, dtype=Unused)


def for_vllm(root: Path) -> list[ModuleType]:
    """What ``vllm/v1/kv_offload`` needs around it, in any release from 0.20 to 0.33."""
    return [
        torch(),
        bare_package("vllm", root),
        bare_package("vllm.v1", root),
        module("vllm.logger", init_logger=init_logger),
        module("vllm.utils.math_utils", cdiv=lambda a, b: -(a // -b), round_up=lambda a, b: -(a // -b) * b),
        module("vllm.distributed.kv_events", MEDIUM_CPU="CPU"),
        module(
            "vllm.distributed.kv_transfer.kv_connector.v1.offloading.metrics", OffloadingConnectorStats=ConnectorStats
        ),
        module("vllm.v1.core.kv_cache_utils", BlockHash=bytes, resolve_kv_cache_block_sizes=Unused),
        module("vllm.v1.kv_hints", KvHintsEnvelope=Unused),
        module("vllm.v1.metrics.cache_hit_source", CacheHitSource=CacheHitSource),
    ]


def for_lmcache(root: Path) -> list[ModuleType]:
    """What the two families of eviction policies of LMCache need around them."""
    return [
        torch(),
        bare_package("lmcache", root),
        bare_package("lmcache.v1", root),
        bare_package("lmcache.v1.mp_coordinator", root),
        bare_package("lmcache.v1.storage_backend", root),
        module("lmcache.logging", init_logger=init_logger),
        module("lmcache.observability", LMCStatsMonitor=StatsMonitor),
        module("lmcache.utils", CacheEngineKey=Unused),
        module("lmcache.v1.memory_management", MemoryObj=Unused),
        module("lmcache.v1.distributed.config", EvictionConfig=Unused),
    ]
