"""Wrong variants of the model's functions, each a mistake that an implementation could make."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import replace

from kvoffload_spec.order import ListLru
from kvoffload_spec.policy import Residents
from kvoffload_spec.tier import Tier
from kvoffload_spec.transfer import Transfers


def lookup_that_misses_pinned_keys(tier: Tier[int], key: int) -> str:
    return "HIT_PENDING" if key in tier.pending else "HIT" if key in tier.idle else "MISS"


def new_keys_in_an_order_of_their_own(tier: Tier[int], keys: Iterable[int]) -> tuple[int, ...]:
    return tuple(sorted(frozenset(keys) - tier.pending - tier.idle - tier.pinned.keys()))


def candidates_that_the_store_names(tier: Tier[int], keys: Iterable[int]) -> frozenset[int]:
    return tier.idle


def hopeless_where_it_is_just_enough(tier: Tier[int], keys: tuple[int, ...]) -> bool:
    missing = [key for key in set(keys) if key not in tier.pending | tier.idle | tier.pinned.keys()]
    return len(missing) >= tier.capacity - len(tier.pending) - len(tier.pinned)


def store_that_keeps_its_victims(tier: Tier[int], keys: tuple[int, ...], victims: frozenset[int]) -> Tier[int]:
    new = frozenset(keys) - tier.pending - tier.idle - tier.pinned.keys()
    return replace(tier, pending=tier.pending | new)


def failure_that_leaves_keys_pending(tier: Tier[int], keys: Iterable[int], success: bool) -> Tier[int]:
    done = tier.pending.intersection(keys) if success else frozenset()
    return replace(tier, pending=tier.pending - done, idle=tier.idle | done)


def completion_of_keys_that_are_not_pending(tier: Tier[int], keys: Iterable[int], success: bool) -> Tier[int]:
    done = frozenset(keys)
    return replace(tier, pending=tier.pending - done, idle=tier.idle | done if success else tier.idle - done)


def load_that_pins_as_often_as_named(tier: Tier[int], keys: Iterable[int]) -> Tier[int]:
    named = Counter(keys)
    pins = {key: tier.pinned.get(key, 0) + times for key, times in named.items()}
    return replace(tier, idle=tier.idle - named.keys(), pinned={**tier.pinned, **pins})


def release_of_all_pins(tier: Tier[int], keys: Iterable[int]) -> Tier[int]:
    gone = frozenset(keys)
    left = {key: count for key, count in tier.pinned.items() if key not in gone}
    return replace(tier, idle=tier.idle | gone, pinned=left)


def release_that_loses_the_block(tier: Tier[int], keys: Iterable[int]) -> Tier[int]:
    left = {key: count - (key in frozenset(keys)) for key, count in tier.pinned.items()}
    return replace(tier, pinned={key: count for key, count in left.items() if count > 0})


def reset_that_keeps_pending_keys(tier: Tier[int]) -> Tier[int]:
    return Tier(tier.capacity, tier.pending)


def candidates_that_are_protected(residents: Residents[int], protected: Iterable[int]) -> frozenset[int]:
    return residents.idle


def insert_that_keeps_the_old_place(residents: Residents[int], key: int, idle: bool) -> Residents[int]:
    return replace(residents, idle=residents.idle | {key}) if idle else replace(residents, busy=residents.busy | {key})


def remove_that_keeps_busy_keys(residents: Residents[int], *keys: int) -> Residents[int]:
    return replace(residents, idle=residents.idle.difference(keys))


def touch_that_makes_the_last_named_last(order: ListLru[int], keys: Iterable[int]) -> ListLru[int]:
    return order.mark_evictable(*(key for key in dict.fromkeys(keys) if key in order.queue))


def mark_that_leaves_idle_keys_where_they_are(order: ListLru[int], *keys: int) -> ListLru[int]:
    return ListLru(order.queue + tuple(key for key in keys if key not in order.queue))


def victims_short_of_the_protected(order: ListLru[int], n: int, protected: Collection[int]) -> tuple[int, ...]:
    return tuple(key for key in order.queue[:n] if key not in protected)


def stored_by_whichever_transfer(
    transfers: Transfers[int], keys: Iterable[int], transfer: int | None
) -> frozenset[int]:
    return frozenset(key for _, key in transfers.writes).intersection(keys)


def released_newest_first(
    transfers: Transfers[int], keys: Iterable[int], transfer: int | None
) -> frozenset[tuple[int, int]]:
    named = frozenset(keys)
    holds = sorted(hold for hold in transfers.reads if hold[1] in named and transfer in (None, hold[0]))
    return frozenset((reader, key) for key, reader in {key: reader for reader, key in holds}.items())


def released_whichever_is_named(
    transfers: Transfers[int], keys: Iterable[int], transfer: int | None
) -> frozenset[tuple[int, int]]:
    named = frozenset(keys)
    return frozenset(hold for hold in transfers.reads if hold[1] in named)


def close_of_every_hold_of_a_key(transfers: Transfers[int], holds: frozenset[tuple[int, int]]) -> Transfers[int]:
    gone = frozenset(key for _, key in holds)
    return replace(transfers, reads=frozenset(hold for hold in transfers.reads if hold[1] not in gone))
