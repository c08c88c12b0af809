"""Our policies in the real manager of vLLM, which loads them by module path; each case is a process of its own.

``python -m tests.peers.test_our_policies_in_vllm 0.33.0 ARCCachePolicy`` runs one and prints what it found.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest

import kvoffload
from kvoffload.contract import check_manager
from kvoffload.replay.simulate import block_key
from kvoffload.replay.synthetic import SyntheticConversations
from tests.peers.download import PeerUnavailableError
from tests.peers.loader import Vllm, load_vllm

UNAVAILABLE = 4
NAMES = (
    "ARCCachePolicy",
    "FIFOCachePolicy",
    "LFUCachePolicy",
    "LRUCachePolicy",
    "S3FIFOCachePolicy",
    "SLRUCachePolicy",
)
CASES = [("0.33.0", name) for name in NAMES]
OLDER = [
    ("0.31.0", "ARCCachePolicy"),
    ("0.31.0", "LRUCachePolicy"),
    ("0.29.0", "ARCCachePolicy"),
    ("0.29.0", "LRUCachePolicy"),
]
# 0.29.0 does not say who stores a block, so ARC takes a request's own touch for another's (docs/vllm.md).
SAME_VICTIMS = [case for case in CASES + OLDER if case != ("0.29.0", "ARCCachePolicy")]
NUM_BLOCKS, NUM_REQUESTS = 400, 300


@cache
def found(version: str, name: str) -> dict[str, Any]:
    """What the process of that case prints."""
    command = [sys.executable, "-m", __spec__.name if __spec__ else __name__, version, name]
    root = Path(__file__).parents[2]
    done = subprocess.run(command, capture_output=True, text=True, cwd=root, timeout=600, check=False)
    if done.returncode == UNAVAILABLE:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stderr
    result: dict[str, Any] = json.loads(done.stdout)
    return result


@pytest.mark.parametrize(("version", "name"), CASES + OLDER)
def test_vllms_manager_keeps_the_contract_with_our_policy(version: str, name: str) -> None:
    case = found(version, name)
    assert case["verdict"] == "KEPT", case["report"]


@pytest.mark.parametrize(("version", "name"), SAME_VICTIMS)
def test_our_policy_evicts_the_same_in_vllms_manager_as_in_ours(version: str, name: str) -> None:
    case = found(version, name)
    assert len(case["ours"]) > 1_000
    assert case["theirs"] == case["ours"]


def theirs(peer: Vllm, name: str, num_blocks: int) -> Any:
    """vLLM's manager with the policy that it finds by this name."""
    path = "kvoffload.integrations.vllm"
    return peer.manager(num_blocks, cache_policy=name, cache_policy_module_path=path, enable_events=True)


def victims(manager: Any, request_of: Callable[[str, list[Any]], Any], finish: Callable[..., None]) -> Iterator[str]:
    """The keys that conversations make the manager evict, in hex.

    A request loads what it finds, stores the rest, and at its end has used the whole prompt. vLLM's scheduler completes
    a transfer with a set; here it is a list in any order, the same in every run.
    """
    dice = random.Random(0)
    for number, block_ids in enumerate(SyntheticConversations(NUM_REQUESTS, num_recent=8)):
        keys = [block_key(block_id) for block_id in block_ids]
        request = request_of(str(number), keys)
        num_hits = next((at for at, key in enumerate(keys) if manager.lookup(key, request).name != "HIT"), len(keys))
        if hits := keys[:num_hits]:
            manager.prepare_load(hits, request)
            manager.complete_load(shuffled(manager, dice, hits), request)
        if (stored := manager.prepare_store(keys[num_hits:], request)) is not None:
            yield from (key.hex() for key in stored.evicted_keys)
            manager.complete_store(shuffled(manager, dice, stored.keys_to_store), request)
        finish(manager, keys, request)


def shuffled(manager: Any, dice: random.Random, keys: list[Any]) -> list[Any]:
    """In any order; our own manager is told the prefix order, as its interface says."""
    return keys if isinstance(manager, kvoffload.CPUOffloadingManager) else dice.sample(keys, len(keys))


def main(version: str, name: str) -> None:
    """Print the verdict on vLLM's manager with our policy, and what either manager evicts."""
    try:
        peer = load_vllm(version)
    except PeerUnavailableError as unavailable:
        print(unavailable, file=sys.stderr)
        raise SystemExit(UNAVAILABLE) from None

    def their_request(req_id: str, keys: list[Any]) -> Any:
        request = peer.request(req_id)
        if hasattr(request, "set_offload_key_position"):
            for place, key in enumerate(keys, 1):
                request.set_offload_key_position(key, 16 * place)
        return request

    def touch(manager: Any, keys: list[Any], request: Any) -> None:
        manager.touch(keys, request)

    def end(manager: Any, _: list[Any], request: Any) -> None:
        manager.on_request_finished(request)

    tells_the_end = hasattr(peer.cache_policy, "on_request_finished")
    policy = getattr(kvoffload, name)
    ours = kvoffload.CPUOffloadingManager(NUM_BLOCKS, policy)
    report = check_manager(partial(theirs, peer, name))
    result = {
        "verdict": report.verdict.name,
        "report": str(report),
        "ours": list(victims(ours, lambda req_id, _: kvoffload.ReqContext(req_id), touch)),
        "theirs": list(victims(theirs(peer, name, NUM_BLOCKS), their_request, end if tells_the_end else touch)),
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main(*sys.argv[1:])
