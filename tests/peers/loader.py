"""A peer's classes are loaded from its released files, without the rest of its package and without its dependencies.

A peer's modules import each other by name, some of them late, so a process holds one version of each peer. Whoever
needs two starts a process for each.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from tests.peers import stubs
from tests.peers.download import fetch

_VLLM_FOLDERS = ("vllm/v1/kv_offload",)
_LMCACHE_FOLDERS = (
    "lmcache/v1/storage_backend/cache_policy",
    "lmcache/v1/distributed",
    "lmcache/v1/mp_coordinator/persistence",
    "lmcache/v1/mp_coordinator/utils",
)


@dataclass(frozen=True)
class Vllm:
    """The CPU offloading of one vLLM release; a class that the release does not have is ``None``.

    Attributes:
        version: the release.
        manager: ``CPUOffloadingManager``.
        policies: the policy classes by name, ``lru`` and ``arc``.
        cache_policy: the abstract ``CachePolicy``.
        policy_factory: ``CachePolicyFactory``, from 0.27.1 on.
        block_status: ``BlockStatus``, called ``ChunkStatus`` from 0.30.0 on.
        req_context: ``ReqContext``; its ``req_id`` came after 0.20.2, so make one with ``request``.
        lookup_result: the enum ``LookupResult``, from 0.25 on; before, ``lookup`` gives a bool or ``None``.
        store_output: ``PrepareStoreOutput``.
        event: ``OffloadingEvent``.
        make_offload_key: packs a block hash and the index of its KV cache group.
    """

    version: str
    manager: type[Any]
    policies: Mapping[str, type[Any]]
    cache_policy: type[Any]
    policy_factory: type[Any] | None
    block_status: type[Any]
    req_context: type[Any]
    lookup_result: type[Any] | None
    store_output: type[Any]
    event: type[Any]
    make_offload_key: Callable[[bytes, int], bytes]

    def request(self, name: str = "r") -> Any:
        """A new request of that name; where requests have no name, just a new one."""
        fields = self.req_context.__dataclass_fields__
        return self.req_context(name) if "req_id" in fields else self.req_context()


@dataclass(frozen=True)
class Lmcache:
    """The eviction policies of one LMCache release: those within a process, and those between processes.

    Attributes:
        version: the release.
        cache_policies: within a process, the classes by name: ``LRU``, ``LFU``, ``FIFO``, ``MRU``.
        get_cache_policy: makes one of them by name, of any case.
        eviction_policies: between processes, the classes by name: ``LRU``, ``ARC``, ``IsolatedLRU``, ``noop``.
        eviction_policy: the base of these.
        object_key: ``ObjectKey``, the key of these.
        eviction_action: what these propose, ``EvictionAction``.
        eviction_destination: the enum ``EvictionDestination``.
    """

    version: str
    cache_policies: Mapping[str, type[Any]]
    get_cache_policy: Callable[[str], Any]
    eviction_policies: Mapping[str, type[Any]]
    eviction_policy: type[Any]
    object_key: type[Any]
    eviction_action: type[Any]
    eviction_destination: type[Any]

    def key(self, name: str, salt: str = "") -> Any:
        """The key of a chunk whose hash is the name."""
        return self.object_key(chunk_hash=name.encode(), model_name="model", kv_rank=0, cache_salt=salt)


_loaded: dict[str, Vllm | Lmcache] = {}


def load_vllm(version: str) -> Vllm:
    """Load one release, tried from 0.20.2 to 0.33.0; the first call of all downloads it.

    Raises:
        PeerUnavailableError: if it cannot be downloaded.
        RuntimeError: if another version, or an installed vLLM, is loaded in this process.
    """
    if (known := _known("vllm", version)) is not None:
        assert isinstance(known, Vllm)
        return known
    root = fetch("vllm", version, _VLLM_FOLDERS)
    with stubs.importable("vllm", stubs.for_vllm(root)):
        has_base = (root / "vllm/v1/kv_offload/base.py").is_file()
        base_name = "base" if has_base else "abstract"  # its name before 0.21
        base = import_module(f"vllm.v1.kv_offload.{base_name}")
        policy_base = import_module(f"vllm.v1.kv_offload.cpu.policies.{base_name}")
        peer = Vllm(
            version=version,
            manager=import_module("vllm.v1.kv_offload.cpu.manager").CPUOffloadingManager,
            policies={
                "lru": import_module("vllm.v1.kv_offload.cpu.policies.lru").LRUCachePolicy,
                "arc": import_module("vllm.v1.kv_offload.cpu.policies.arc").ARCCachePolicy,
            },
            cache_policy=policy_base.CachePolicy,
            policy_factory=_policy_factory(root),
            block_status=_either(policy_base, "ChunkStatus", "BlockStatus"),
            req_context=base.ReqContext,
            lookup_result=getattr(base, "LookupResult", None),
            store_output=base.PrepareStoreOutput,
            event=base.OffloadingEvent,
            make_offload_key=base.make_offload_key,
        )
    _loaded["vllm"] = peer
    return peer


def load_lmcache(version: str = "0.5.6") -> Lmcache:
    """Load one release, tried with 0.5.6; the first call of all downloads it.

    Raises:
        PeerUnavailableError: if it cannot be downloaded.
        RuntimeError: if another version, or an installed LMCache, is loaded in this process.
    """
    if (known := _known("lmcache", version)) is not None:
        assert isinstance(known, Lmcache)
        return known
    root = fetch("lmcache", version, _LMCACHE_FOLDERS)
    with stubs.importable("lmcache", stubs.for_lmcache(root)):
        within = import_module("lmcache.v1.storage_backend.cache_policy")
        between = import_module("lmcache.v1.distributed.eviction_policy")
        internal = import_module("lmcache.v1.distributed.internal_api")
        peer = Lmcache(
            version=version,
            cache_policies=dict(within.POLICY_MAPPING),
            get_cache_policy=within.get_cache_policy,
            eviction_policies={
                "LRU": between.LRUEvictionPolicy,
                "ARC": between.ARCEvictionPolicy,
                "IsolatedLRU": between.IsolatedLRUEvictionPolicy,
                "noop": between.NoOpEvictionPolicy,
            },
            eviction_policy=import_module("lmcache.v1.distributed.eviction").EvictionPolicy,
            object_key=import_module("lmcache.v1.distributed.api").ObjectKey,
            eviction_action=internal.EvictionAction,
            eviction_destination=internal.EvictionDestination,
        )
    _loaded["lmcache"] = peer
    return peer


def _known(peer: str, version: str) -> Vllm | Lmcache | None:
    known = _loaded.get(peer)
    if known is None and peer not in sys.modules:
        return None
    if known is None or known.version != version:
        there = f"{peer} {known.version}" if known else f"an installed {peer}"
        raise RuntimeError(f"{there} is loaded in this process; load {peer} {version} in another one.")
    return known


def _policy_factory(root: Path) -> type[Any] | None:
    if not (root / "vllm/v1/kv_offload/cpu/policies/factory.py").is_file():
        return None
    factory: type[Any] = import_module("vllm.v1.kv_offload.cpu.policies.factory").CachePolicyFactory
    return factory


def _either(module: ModuleType, *names: str) -> type[Any]:
    found: type[Any] = next(getattr(module, name) for name in names if hasattr(module, name))
    return found
