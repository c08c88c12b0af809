"""What is proved about a manager: stores, loads, and that refusal is exactly "too few"."""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

from kvoffload_spec import tier
from kvoffload_spec.properties.states import (
    ABSENT,
    CALLS,
    IDLE,
    KEYS,
    PENDING,
    PINNED,
    Answer,
    Keys,
    Three,
    build,
    pick,
)
from kvoffload_spec.tier import Tier

NEW = (ABSENT, ABSENT)  # of keys 3 and 4, which no state holds: with them a store may need two victims
STORES = ((0,), (0, 1, 0), (0, 1, 2), (0, 3, 4, 3))


class Step(NamedTuple):
    """A call, the tier before and after it (the same one if it is not allowed), and what the counts are after it."""

    keys: Keys
    before: Tier[int]
    after: Tier[int]
    refs: Keys


def is_kept(step: Step) -> bool:
    """After it the tier is well-formed, and each of as many blocks as before is free or holds one key."""
    blocks = tier.free(step.after) + len(tier.resident(step.after))
    return tier.is_well_formed(step.after) and blocks == step.after.capacity == step.before.capacity


def is_counted(step: Step) -> bool:
    """After it the sets say what the reference counts say."""
    pending, idle, pinned = step.after.pending, step.after.idle, step.after.pinned
    keys = range(len(step.refs))
    shown = (PENDING if key in pending else IDLE if key in idle else pinned.get(key, ABSENT) for key in keys)
    return tuple(shown) == step.refs


def lookup_says_where_a_key_lies(refs: Three, spare: int) -> Answer[tuple[str, ...]]:
    """A lookup misses absent keys only, and hits those that are idle or pinned.

    pre: spare >= 0
    post: _.said == _.counted
    """
    state, words = build(refs, spare), {ABSENT: "MISS", PENDING: "HIT_PENDING", IDLE: "HIT", PINNED: "HIT"}
    return Answer(tuple(tier.lookup(state.tier, key) for key in KEYS), tuple(words[at] for at in state.places))


def new_keys_come_once_in_the_order_named(refs: Three, spare: int) -> Answer[Keys]:
    """What a store has to store are its absent keys, each once, in the order named.

    pre: spare >= 0
    post: _.said == _.counted
    """
    (before, places, _), keys = build(refs, spare), (2, 0, 2, 1)
    absent = [(at, key) for at, key in enumerate(keys) if places[key] == ABSENT]
    return Answer(tier.new_keys(before, keys), tuple(key for at, key in absent if keys.index(key) == at))


def choose(before: Tier[int], keys: Keys, choice: int) -> frozenset[int]:
    """Victims that the store may take: as many as it lacks blocks, any of the candidates."""
    lacking = pick(range(4), tier.need(before, keys))
    return frozenset(pick(tuple(combinations(sorted(tier.candidates(before, keys)), lacking)), choice))


class Room(NamedTuple):
    """Whether there is room for a store, as the model says and as there is to count.

    Attributes:
        said: the model's answers.
        missing: how many keys of the store are absent.
        idle: how many keys are idle.
        evictable: how many of those the store does not name.
    """

    said: tuple[int, ...]
    missing: int
    idle: int
    evictable: int


def room(places: Three, keys: Keys, *said: int) -> Room:
    """These answers, and the counts."""
    missing = [key for key, at in enumerate((*places, *NEW)) if at == ABSENT and key in keys]
    idle = [key for key in KEYS if places[key] == IDLE]
    return Room(said, len(missing), len(idle), len([key for key in idle if key not in keys]))


def store_is_refused_exactly_if_blocks_are_too_few(refs: Three, spare: int, call: int) -> Room:
    """A store is refused if and only if its absent keys are more than the free and the evictable blocks together.

    pre: spare >= 0
    post: _.said == (_.missing > spare + _.evictable, _.missing - spare if _.missing > spare else 0)
    """
    (before, places, _), keys = build(refs, spare), pick(STORES, call)
    return room(places, keys, tier.refuses(before, keys), tier.need(before, keys))


def hopeless_store_is_refused(refs: Three, spare: int, call: int) -> Room:
    """A store is hopeless if and only if its absent keys are more than the free and the idle blocks, and then refused.

    pre: spare >= 0
    post: _.said[0] == (_.missing > spare + _.idle) and (_.said[1] or not _.said[0])
    """
    (before, places, _), keys = build(refs, spare), pick(STORES, call)
    return room(places, keys, tier.is_hopeless(before, keys), tier.refuses(before, keys))


def store_moves_new_keys_and_victims_only(refs: Three, spare: int, call: int, choice: int) -> Step:
    """A store makes the absent ones of its keys pending and as many victims as it lacks blocks absent, whichever.

    pre: spare >= 0
    post: is_kept(_) and is_counted(_)
    """
    (before, places, refs), keys = build(refs, spare), pick(STORES, call)
    if tier.refuses(before, keys):
        return Step(keys, before, before, refs)
    victims = choose(before, keys, choice)
    moved = {key: PENDING for key, at in enumerate((*places, *NEW)) if at == ABSENT and key in keys}
    counts = tuple(ABSENT if key in victims else moved.get(key, ref) for key, ref in enumerate((*refs, *NEW)))
    return Step(keys, before, tier.prepare_store(before, keys, victims), counts)


def failure_undoes_its_store(refs: Three, spare: int, call: int) -> Step:
    """A store that finds enough free blocks, and then its failure, give back the same state.

    pre: spare >= 3
    post: _.after == _.before
    """
    (before, _, refs), keys = build(refs, spare), pick(STORES, call)
    stored, new = tier.prepare_store(before, keys, frozenset()), tier.new_keys(before, keys)
    return Step(keys, before, tier.complete_store(stored, new, False), refs)


def store_completion_moves_pending_keys_only(refs: Three, spare: int, call: int, success: bool) -> Step:
    """A completed store makes the pending ones of its keys idle, a failed one makes them absent.

    pre: spare >= 0
    post: is_kept(_) and is_counted(_)
    """
    (before, places, refs), keys = build(refs, spare), pick(CALLS, call)
    done = IDLE if success else ABSENT
    counts = tuple(done if key in keys and places[key] == PENDING else refs[key] for key in KEYS)
    return Step(keys, before, tier.complete_store(before, keys, success), counts)


def load_pins_each_key_once(refs: Three, spare: int, call: int) -> Step:
    """A load is allowed if and only if all its keys are ready, and pins each once, however often it names it.

    pre: spare >= 0
    post: is_kept(_) and is_counted(_)
    """
    (before, places, refs), keys = build(refs, spare), pick(CALLS, call)
    is_ready = all(places[key] in (IDLE, PINNED) for key in keys)
    counts = tuple(refs[key] + (is_ready and key in keys) for key in KEYS)
    return Step(keys, before, tier.prepare_load(before, keys) if tier.may_load(before, keys) else before, counts)


def release_unpins_each_key_once(refs: Three, spare: int, call: int) -> Step:
    """A release is allowed if and only if all its keys are pinned, and takes one pin from each.

    pre: spare >= 0
    post: is_kept(_) and is_counted(_)
    """
    (before, places, refs), keys = build(refs, spare), pick(CALLS, call)
    is_pinned = all(places[key] == PINNED for key in keys)
    counts = tuple(refs[key] - (is_pinned and key in keys) for key in KEYS)
    return Step(keys, before, tier.complete_load(before, keys) if tier.may_release(before, keys) else before, counts)


def release_undoes_its_load(refs: Three, spare: int, call: int) -> Step:
    """A load and then its release give back the same state.

    pre: spare >= 0
    post: _.after == _.before
    """
    (before, _, refs), keys = build(refs, spare), pick(CALLS, call)
    if not tier.may_load(before, keys):
        return Step(keys, before, before, refs)
    return Step(keys, before, tier.complete_load(tier.prepare_load(before, keys), keys), refs)


def reset_frees_every_block(refs: Three, spare: int) -> Step:
    """After a reset nothing is resident and every block is free.

    pre: spare >= 0
    post: is_kept(_) and is_counted(_) and tier.free(_.after) == _.before.capacity
    """
    before = build(refs, spare).tier
    return Step((), before, tier.reset(before), (ABSENT,) * 3)
