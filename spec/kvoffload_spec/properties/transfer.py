"""What is proved about transfers: which keys a completion speaks for, and that holds are pins."""

from __future__ import annotations

from itertools import compress, product
from typing import TypeAlias

from kvoffload_spec import tier, transfer
from kvoffload_spec.properties.states import CALLS, Answer, pick
from kvoffload_spec.tier import Tier
from kvoffload_spec.transfer import Transfers

Holds: TypeAlias = frozenset[tuple[int, int]]

PAIRS = CALLS[:3]  # none to two keys
TRANSFERS = (None, 1, 2, 3)  # none is named, one of two, one that holds nothing
SOME_HOLDS = tuple(frozenset(compress(product((1, 2), (0, 1)), there)) for there in product((False, True), repeat=4))


def store_completion_speaks_for_its_own_keys(holds: int, call: int, number: int) -> Answer[frozenset[int]]:
    """A completion of a store speaks for the named keys being written, by the named transfer if there is one.

    post: _.said == _.counted
    """
    writes, keys, named = pick(SOME_HOLDS, holds), pick(PAIRS, call), pick(TRANSFERS, number)
    writers = (1, 2) if named is None else (named,)
    own = frozenset(key for key in keys if any((writer, key) in writes for writer in writers))
    return Answer(transfer.stored(Transfers(writes=writes), keys, named), own)


def load_completion_lets_go_of_the_oldest_holds(holds: int, call: int, number: int) -> Answer[Holds]:
    """A completion of a load lets go of at most one hold a key: the named transfer's, else the oldest.

    post: _.said == _.counted
    """
    reads, keys, named = pick(SOME_HOLDS, holds), pick(PAIRS, call), pick(TRANSFERS, number)
    newest_first = (2, 1) if named is None else (named,)
    oldest = {key: (reader, key) for key in keys for reader in newest_first if (reader, key) in reads}
    return Answer(transfer.released(Transfers(reads=reads), keys, named), frozenset(oldest.values()))


def stale_completion_changes_nothing(holds: int, call: int, number: int) -> Answer[tuple[bool, Transfers[int]]]:
    """A load is stale if and only if it is named and holds nothing; completing a stale transfer changes nothing.

    post: _.said == _.counted
    """
    both, keys, named = pick(SOME_HOLDS, holds), pick(PAIRS, call), pick(TRANSFERS, number)
    before, is_stale = Transfers(both, both), named not in (None, *(owner for owner, _ in both))
    after = transfer.close_load(before, transfer.released(before, keys, named)) if is_stale else before
    after = transfer.close_store(after, transfer.stored(after, keys, named)) if is_stale else before
    return Answer((transfer.is_stale_load(before, named), after), (is_stale, before))


def holds_are_pins(holds: int, call: int, number: int, opens: bool) -> Answer[dict[int, int]]:
    """A load and any completion of one leave a key as many pins as it has holds.

    post: _.said == _.counted
    """
    before, keys = Transfers(reads=pick(SOME_HOLDS, holds)), pick(PAIRS, call)
    pins = count(before)
    pinned = Tier(3, idle=frozenset(key for key in (0, 1) if key not in pins), pinned=pins)
    if opens:
        return Answer(dict(tier.prepare_load(pinned, keys).pinned), count(transfer.open_load(before, 3, keys)))
    gone = transfer.released(before, keys, pick(TRANSFERS, number))
    left = tier.complete_load(pinned, frozenset(key for _, key in gone))
    return Answer(dict(left.pinned), count(transfer.close_load(before, gone)))


def count(transfers: Transfers[int]) -> dict[int, int]:
    """How many loads hold each key."""
    held_keys = [key for _, key in transfers.reads]
    return {key: held_keys.count(key) for key in held_keys}
