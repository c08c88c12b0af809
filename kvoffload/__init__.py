"""KV-cache offload management: a production manager, and in ``kvoffload.contract`` the suite that checks any other."""

from kvoffload.errors import (
    BlockNotFoundError,
    BlockNotReadyError,
    OffloadingError,
    OutOfBlocksError,
    UnbalancedReleaseError,
)
from kvoffload.interface import CachePolicy, OffloadingManager
from kvoffload.manager import CPUOffloadingManager
from kvoffload.policies.arc import ARCCachePolicy
from kvoffload.policies.base import BlockStatus
from kvoffload.policies.factory import CachePolicyFactory
from kvoffload.policies.fifo import FIFOCachePolicy
from kvoffload.policies.lfu import LFUCachePolicy
from kvoffload.policies.lru import LRUCachePolicy
from kvoffload.policies.s3fifo import S3FIFOCachePolicy
from kvoffload.policies.slru import SLRUCachePolicy
from kvoffload.types import (
    NO_REQUEST,
    EventKind,
    LoadStoreSpec,
    LookupResult,
    OffloadingEvent,
    OffloadKey,
    PrepareStoreOutput,
    ReqContext,
    get_offload_block_hash,
    get_offload_group_idx,
    make_offload_key,
)

__all__ = [
    "NO_REQUEST",
    "ARCCachePolicy",
    "BlockNotFoundError",
    "BlockNotReadyError",
    "BlockStatus",
    "CPUOffloadingManager",
    "CachePolicy",
    "CachePolicyFactory",
    "EventKind",
    "FIFOCachePolicy",
    "LFUCachePolicy",
    "LRUCachePolicy",
    "LoadStoreSpec",
    "LookupResult",
    "OffloadKey",
    "OffloadingError",
    "OffloadingEvent",
    "OffloadingManager",
    "OutOfBlocksError",
    "PrepareStoreOutput",
    "ReqContext",
    "S3FIFOCachePolicy",
    "SLRUCachePolicy",
    "UnbalancedReleaseError",
    "get_offload_block_hash",
    "get_offload_group_idx",
    "make_offload_key",
]
