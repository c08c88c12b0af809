"""The table of what is checked, release by release, and of the clauses that each is known to break."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Subject:
    """One class of one release, and what is known of it.

    Attributes:
        package: ``vllm`` or ``lmcache``.
        version: the release.
        kind: of vLLM ``policy`` or ``manager``, of LMCache ``in-process`` or ``multi-process``.
        policy: the policy's name in that release.
        order: the order that it is held to.
        capabilities: what is declared of it besides what is seen.
        known: the clauses that it is known to break, each with the reason; it has to break these and no others.
    """

    package: str
    version: str
    kind: str
    policy: str
    order: str | None = None
    capabilities: tuple[str, ...] = ()
    known: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        declared = "".join(f"-{name}" for name in self.capabilities)
        return f"{self.package}-{self.version}-{self.kind}-{self.policy}{declared}"


_STARVES = (
    "ARC whose t1 is below its target never looks there, and gives up beside idle blocks; mended in 0.30.0 (#55461)"
)
_ARC_POLICY = {"evict-complete": _STARVES}
_ARC_MANAGER = {"store-refusal": _STARVES}
_TIMESTAMPS = "for its statistics it keeps the time of every key it has seen, up to 12.5 million"

SUBJECTS = (
    *(Subject("vllm", "0.33.0", kind, policy) for kind in ("policy", "manager") for policy in ("lru", "arc")),
    Subject("vllm", "0.29.0", "policy", "arc", known=_ARC_POLICY),
    Subject("vllm", "0.29.0", "manager", "arc", known=_ARC_MANAGER),
    Subject("vllm", "0.24.0", "policy", "lru", order="lru"),
    Subject("vllm", "0.24.0", "manager", "lru"),
    Subject("lmcache", "0.5.6", "in-process", "LRU", known={"memory-bounded": _TIMESTAMPS}),
    *(Subject("lmcache", "0.5.6", "in-process", policy) for policy in ("LFU", "FIFO", "MRU")),
    *(Subject("lmcache", "0.5.6", "multi-process", policy) for policy in ("LRU", "ARC", "IsolatedLRU")),
)
"""What every run checks: four downloads."""

OLDER = (
    Subject("vllm", "0.31.0", "policy", "lru"),
    Subject("vllm", "0.31.0", "policy", "arc"),
    Subject("vllm", "0.31.0", "manager", "lru"),
    Subject("vllm", "0.31.0", "manager", "arc"),
    *(Subject("vllm", version, "policy", "lru", order="lru") for version in ("0.29.0", "0.26.0", "0.25.1")),
    *(Subject("vllm", version, "policy", "lru") for version in ("0.22.1", "0.20.2")),
    *(Subject("vllm", version, "manager", "lru") for version in ("0.29.0", "0.26.0", "0.25.1", "0.22.1", "0.20.2")),
    *(
        Subject("vllm", version, kind, "arc", known=known)
        for version in ("0.26.0", "0.25.1", "0.24.0", "0.22.1", "0.20.2")
        for kind, known in (("policy", _ARC_POLICY), ("manager", _ARC_MANAGER))
    ),
)
"""What ``--all-versions`` checks as well: five more downloads."""


def _unpromised(capability: str, **known: str) -> Subject:
    clauses = {clause.replace("_", "-"): reason for clause, reason in known.items()}
    return Subject("vllm", "0.33.0", "manager", "lru", capabilities=(capability,), known=clauses)


UNPROMISED = (
    _unpromised(
        "repeated-keys",
        load_once="a completion that names a key twice releases it twice",
        store_new="a key named twice is to be stored twice",
        store_refusal="a key named twice needs two blocks",
    ),
    _unpromised("unready-loads", load_ready_only="a load that raises leaves the keys before the missing one pinned"),
    _unpromised("unbalanced-releases", release_balanced="a completion that raises has released the keys before"),
    _unpromised("reset-events", events_replay="a reset is not announced, and what was queued before it comes after it"),
    _unpromised("order-on-refusal", refusal_atomic="a refused store counts as a use, on purpose"),
    _unpromised(
        "faults",
        fault_atomic="an exception out of the policy leaves the manager's books half done",
        events_replay="an exception out of the policy loses the event of the store",
    ),
    _unpromised("one-shot"),
)
"""What vLLM's documentation does not promise, declared all the same, one at a time: what would break."""
