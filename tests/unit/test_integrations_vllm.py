"""Our policies behind vLLM's calls, without vLLM: what its factory finds, and what a policy hears."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence
from functools import partial
from importlib import import_module
from types import ModuleType
from typing import Any

import pytest

from kvoffload import NO_REQUEST, BlockStatus, LRUCachePolicy, OffloadKey, ReqContext, SLRUCachePolicy
from kvoffload.contract import Verdict, check_policy, keys
from kvoffload.integrations.request_scoped import RequestScopedPolicy
from kvoffload.integrations.vllm import for_vllm
from kvoffload.policies.factory import OURS

PATH = "kvoffload.integrations.vllm"
BASE = "vllm.v1.kv_offload.cpu.policies.base"
NAMES = tuple(class_name for _, class_name in OURS.values())
a, b, c, d, e = keys("abcde")


class TheirCachePolicy(ABC):
    """As much of vLLM's base class as matters here, and a hook that no release has yet."""

    @abstractmethod
    def evict(self, n: int, protected: set[OffloadKey]) -> Any: ...

    def a_hook_of_tomorrow(self) -> str:
        return "its default"


@pytest.fixture
def their_base(monkeypatch: pytest.MonkeyPatch) -> type:
    """vLLM's base class stands where vLLM has put it before its factory imports a module."""
    base = ModuleType(BASE)
    vars(base)["CachePolicy"] = TheirCachePolicy
    monkeypatch.setitem(sys.modules, BASE, base)
    return TheirCachePolicy


def loaded(name: str, module_path: str = PATH) -> Any:
    """What vLLM's factory finds."""
    return getattr(import_module(module_path), name)


class TheirRequest(ReqContext):
    """A request that knows where its keys end, unless it is told of none."""

    def __init__(self, req_id: str, prompt: Sequence[OffloadKey] = (a, b, c, d, e)) -> None:
        super().__init__(req_id)
        object.__setattr__(self, "_positions", {key: 16 * place for place, key in enumerate(prompt, 1)})

    def get_offload_key_position(self, key: OffloadKey) -> int | None:
        positions: dict[OffloadKey, int] = self._positions  # type: ignore[attr-defined]
        return positions.get(key)


class Hearing(LRUCachePolicy):
    """An LRU policy that keeps what it is told."""

    def __init__(self, cache_capacity: int) -> None:
        super().__init__(cache_capacity)
        self.heard: list[tuple[Any, ...]] = []

    def on_store_miss(self, keys: Collection[OffloadKey], req_context: ReqContext = NO_REQUEST) -> None:
        self.heard.append(("miss", *keys, req_context.req_id))

    def insert(self, key: OffloadKey, block: BlockStatus) -> None:
        self.heard.append(("insert", key))
        super().insert(key, block)

    def touch(self, keys: Sequence[OffloadKey], req_context: ReqContext = NO_REQUEST) -> None:
        self.heard.append(("touch", *keys, req_context.req_id))
        super().touch(keys, req_context)

    def mark_evictable(self, key: OffloadKey) -> None:
        self.heard.append(("idle", key))
        super().mark_evictable(key)


def hearing(capacity: int = 5) -> tuple[RequestScopedPolicy, list[tuple[Any, ...]]]:
    made = for_vllm(Hearing)(cache_capacity=capacity)
    assert isinstance(made.policy, Hearing)
    return made, made.policy.heard


def store(policy: RequestScopedPolicy, named: Sequence[OffloadKey], *request: ReqContext) -> None:
    for block_id, key in enumerate(named):
        policy.insert(key, BlockStatus(block_id), *request)


def complete(policy: RequestScopedPolicy, named: Sequence[OffloadKey]) -> None:
    for key in named:
        policy.get(key).ref_cnt = 0
        policy.mark_evictable(key)


def finish(
    policy: RequestScopedPolicy, request: ReqContext, *groups: Sequence[OffloadKey], inserted: Sequence[OffloadKey] = ()
) -> None:
    """The request is over; what it did not insert it has reused."""
    reused = {key for group in groups for key in group} - set(inserted)
    policy.on_request_finished(groups, set(inserted), reused, request)


def evicted(policy: RequestScopedPolicy, n: int) -> list[OffloadKey]:
    return [key for key, _ in policy.evict(n, set()) or ()]


@pytest.mark.parametrize("name", NAMES)
def test_each_policy_is_found_by_its_class_name_as_a_subclass_of_vllms(name: str, their_base: type) -> None:
    found = loaded(name)
    assert issubclass(found, their_base)
    assert type(found(cache_capacity=3).policy).__name__ == found.__name__ == name


@pytest.mark.parametrize("name", NAMES)
def test_each_policy_keeps_the_policy_contract_behind_vllms_calls(name: str) -> None:
    report = check_policy(loaded(name), budget=100)
    assert report.verdict is Verdict.KEPT, report


def test_a_policy_that_was_asked_for_before_vllm_was_imported_is_a_subclass_afterwards(
    monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    monkeypatch.delitem(sys.modules, BASE, raising=False)
    before = loaded("LRUCachePolicy")
    their_base = request.getfixturevalue("their_base")
    assert not issubclass(before, their_base)
    assert issubclass(loaded("LRUCachePolicy"), their_base)


def test_a_policy_is_one_class_however_often_it_is_asked_for(their_base: type) -> None:
    assert loaded("ARCCachePolicy") is loaded("ARCCachePolicy")


def test_a_hook_that_a_later_vllm_adds_has_its_default(their_base: type) -> None:
    assert loaded("LRUCachePolicy")(cache_capacity=1).a_hook_of_tomorrow() == "its default"


def test_anybodys_policy_is_found_by_its_module_and_class(their_base: type) -> None:
    found = loaded("kvoffload.policies.lru:LRUCachePolicy")
    assert issubclass(found, their_base)
    assert type(found(cache_capacity=3).policy) is LRUCachePolicy


def test_an_unknown_name_is_told_what_there_is() -> None:
    with pytest.raises(AttributeError, match=r"no policy 'arc'; it has ARCCachePolicy, .*my_package:MyCachePolicy"):
        loaded("arc")


def test_a_module_that_is_not_there_is_named() -> None:
    with pytest.raises(ValueError, match="module 'no_such_module', which cannot be imported"):
        loaded("no_such_module:MyCachePolicy")


def test_for_vllm_takes_a_factory_and_a_name(their_base: type) -> None:
    made = for_vllm(partial(SLRUCachePolicy, protected_share=0.5), "HalfProtected")
    assert made.__name__ == "HalfProtected"
    assert issubclass(made, their_base)
    policy = made(cache_capacity=4).policy
    assert isinstance(policy, SLRUCachePolicy)
    assert policy.most_protected == 2


def test_what_becomes_idle_together_is_told_tail_first_by_position() -> None:
    policy, heard = hearing()
    store(policy, [b, c, a], TheirRequest("r"))
    heard.clear()
    complete(policy, [b, a, c])
    assert evicted(policy, 2) == [c, b]
    assert heard == [("idle", c), ("idle", b), ("idle", a)]


def test_without_positions_the_last_to_be_inserted_is_told_first() -> None:
    policy, _ = hearing()
    store(policy, [c, a, b])
    complete(policy, [a, b, c])
    assert evicted(policy, 3) == [b, a, c]


def test_a_load_in_between_divides_what_becomes_idle() -> None:
    policy, heard = hearing()
    store(policy, [a, b, c], TheirRequest("r"))
    complete(policy, [a])
    policy.mark_non_evictable(a)
    heard.clear()
    complete(policy, [b, c, a])
    evicted(policy, 1)
    assert heard == [("idle", c), ("idle", b), ("idle", a)]


def test_the_policy_hears_who_stores_a_key_right_before_it_is_inserted() -> None:
    policy, heard = hearing()
    request = TheirRequest("r")
    policy.on_store_miss([a, b], request)
    policy.on_request_access([a, b], request)
    store(policy, [a, b], request)
    assert heard == [("miss", a, "r"), ("insert", a), ("miss", b, "r"), ("insert", b)]


def test_a_refused_store_is_not_told_to_the_policy() -> None:
    policy, heard = hearing(2)
    policy.on_store_miss([a, b, c], TheirRequest("r"))
    policy.on_request_access([a, b, c], TheirRequest("r"))
    assert policy.evict(1, {a, b, c}) is None
    assert heard == []


def test_where_an_insert_names_no_request_the_last_that_missed_the_key_stores_it() -> None:
    policy, heard = hearing()
    policy.on_store_miss([a], TheirRequest("r"))
    policy.on_store_miss([b], TheirRequest("other"))
    store(policy, [a, c])
    assert heard == [("miss", a, "r"), ("insert", a), ("miss", c, ""), ("insert", c)]


def test_a_request_that_has_finished_stores_nothing_any_more() -> None:
    policy, heard = hearing()
    request = TheirRequest("r")
    policy.on_store_miss([a], request)
    policy.on_request_finished([[a]], set(), set(), request)
    heard.clear()
    store(policy, [a])
    assert heard[0] == ("miss", a, "")


def test_no_more_misses_are_remembered_than_there_are_blocks() -> None:
    policy, heard = hearing(2)
    policy.on_store_miss([a, b, c], TheirRequest("r"))
    store(policy, [a, c])
    assert [call for call in heard if call[0] == "miss"] == [("miss", a, ""), ("miss", c, "r")]


def test_a_finished_request_is_one_touch_of_what_it_stored_or_reused_head_first() -> None:
    policy, heard = hearing()
    request = TheirRequest("r")
    policy.on_request_finished([[c, e], [b, a]], {c}, {a, b}, request)
    assert heard == [("touch", a, b, c, "r")]


def test_groups_without_positions_are_touched_one_after_the_other() -> None:
    policy, heard = hearing()
    policy.on_request_finished([[c], [b, a]], set(), {a, b, c}, ReqContext("r"))
    assert heard == [("touch", c, b, a, "r")]


def test_the_head_of_a_finished_request_is_evicted_last() -> None:
    policy = loaded("LRUCachePolicy")(cache_capacity=5)
    request = TheirRequest("r")
    for stored in ([a, b], [c, d]):  # the prompt, then what was generated
        store(policy, stored, request)
        complete(policy, stored)
        policy.mark_non_evictable(stored[0])
        policy.mark_evictable(stored[0])
    finish(policy, request, [a, b, c, d], inserted=[a, b, c, d])
    assert evicted(policy, 4) == [d, c, b, a]


@pytest.mark.parametrize("name", ["ARCCachePolicy", "SLRUCachePolicy", "LFUCachePolicy"])
@pytest.mark.parametrize("names_request", [True, False], ids=["0.33", "0.31"])
def test_a_requests_own_insertion_is_no_second_use_and_anothers_reuse_is(name: str, names_request: bool) -> None:
    policy = loaded(name)(cache_capacity=5)
    for key, req_id in ((a, "first"), (b, "second")):
        request = TheirRequest(req_id)
        policy.on_store_miss([key], request)
        store(policy, [key], *([request] if names_request else []))
        complete(policy, [key])
        finish(policy, request, [key], inserted=[key])
    finish(policy, TheirRequest("third"), [a])
    assert evicted(policy, 1) == [b]


def test_a_request_that_only_asked_for_a_block_has_not_used_it() -> None:
    policy, heard = hearing()
    policy.on_request_finished([[a, b]], set(), {b}, TheirRequest("r"))
    assert heard == [("touch", b, "r")]


def test_a_touch_takes_any_iterable_and_no_request() -> None:
    policy, heard = hearing()
    policy.touch(iter([a, b]))
    policy.touch({a: None}, ReqContext("r"))
    assert heard == [("touch", a, b, ""), ("touch", a, "r")]


def test_a_failed_store_leaves_nothing_behind() -> None:
    policy, _ = hearing()
    store(policy, [a], TheirRequest("r"))
    policy.remove(a)
    assert policy.get(a) is None
    store(policy, [a], TheirRequest("r"))
    complete(policy, [a])
    assert evicted(policy, 1) == [a]


def test_after_a_reset_nothing_is_remembered() -> None:
    policy, heard = hearing()
    policy.on_store_miss([b], TheirRequest("r"))
    store(policy, [a], TheirRequest("r"))
    complete(policy, [a])
    policy.clear()
    heard.clear()
    store(policy, [b, a])
    complete(policy, [a, b])
    assert evicted(policy, 2) == [a, b]
    assert heard[0] == ("miss", b, "")


def test_it_says_which_policy_it_holds() -> None:
    assert repr(loaded("FIFOCachePolicy")(cache_capacity=2)).startswith("FIFOCachePolicy(FIFOCachePolicy(0 of 2 blocks")
