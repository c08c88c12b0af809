"""Small functions that a stand-alone test has in it where it uses them."""

from __future__ import annotations

import re

HELPERS: dict[str, tuple[tuple[str, ...], str]] = {
    "fresh": (
        (),
        '''
def fresh(key):
    """An equal key that is another object, as a scheduler makes one for every request."""
    return bytes(bytearray(key))
''',
    ),
    "empty": (
        (),
        '''
def empty(*given):
    """Whoever has passed a list, or was given one, may do with it what he likes."""
    for it in given:
        spec = getattr(it, "store_spec", it)
        parts = [it, *(getattr(it, name, None) for name in ("keys_to_store", "evicted_keys"))]
        for part in [*parts, *(getattr(spec, name, None) for name in ("block_ids", "chunk_ids"))]:
            if isinstance(part, (list, set)):
                part.clear()
''',
    ),
    "within": (
        ("import threading",),
        '''
def within(seconds, calls):
    """The calls return in time; what they raise is raised here."""
    raised = []

    def run():
        try:
            calls()
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    assert not thread.is_alive(), f"a call has not returned within {seconds} s"
    if raised:
        raise raised[0]
''',
    ),
    "order": (
        ("import copy",),
        '''
def order(policy):
    """The idle keys in the order in which they would be evicted, read off a copy."""
    copied, keys = copy.deepcopy(policy), []
    while len(keys) < 1000 and (victims := copied.evict(1, set())):
        keys += [key for key, _ in victims]
    return keys
''',
    ),
    "status": (
        (),
        '''
def status(manager, key):
    """What a key is, as the manager's policy has it."""
    block = manager._policy.get(key)
    return "MISS" if block is None else "HIT_PENDING" if getattr(block, "ref_cnt", 0) < 0 else "HIT"
''',
    ),
    "slot": (
        (),
        '''
def slot(manager, key):
    """The block that a key lies in."""
    block = manager._policy.get(key)
    return block.block_id if hasattr(block, "block_id") else block.chunk_id
''',
    ),
    "told": (
        (),
        '''
def told(answer):
    """What a lookup tells: an enum's name, or False, None and True."""
    return {False: "MISS", None: "HIT_PENDING", True: "HIT"}.get(answer) or getattr(answer, "name", None)
''',
    ),
    "block_ids": (
        (),
        '''
def block_ids(spec):
    """The blocks of a transfer."""
    return [int(block_id) for block_id in (spec.block_ids if hasattr(spec, "block_ids") else spec.chunk_ids)]
''',
    ),
    "slots": (
        (),
        '''
def slots(store):
    """The block of each key that a store told to store."""
    return dict(zip(store.keys_to_store, block_ids(store.store_spec)))
''',
    ),
    "answer": (
        (),
        '''
def answer(store):
    """What a store says, without the numbers of transfers."""
    return store and (list(store.keys_to_store), block_ids(store.store_spec), list(store.evicted_keys))
''',
    ),
    "victims": (
        (),
        '''
def victims(pairs):
    """The keys that were evicted."""
    return None if pairs is None else [key for key, _ in pairs]
''',
    ),
    "ready_after": (
        (),
        '''
def ready_after(events):
    """The keys that are ready for whoever reads the events; each one is stored and removed in turns."""
    ready = set()
    for event in events:
        kind = "REMOVED" if getattr(event, "removed", False) else "STORED"
        kind = getattr(getattr(event, "kind", kind), "name", getattr(event, "kind", kind))
        if kind == "CLEARED":
            ready.clear()
        for key in () if getattr(event, "metadata_only", False) else event.keys:
            assert (key in ready) == (kind != "STORED"), f"{key} is {kind} out of turn"
            ready.symmetric_difference_update([key])
    return ready
''',
    ),
    "counted": (
        (),
        '''
def counted(policy, method):
    """A list that grows by one with every call of the policy's method."""
    calls, original = [], getattr(policy, method)

    def count(*args, **kwargs):
        calls.append(args)
        return original(*args, **kwargs)

    setattr(policy, method, count)
    return calls
''',
    ),
    "fault": (
        ("import contextlib",),
        '''
class InPolicy(Exception):
    """Raised inside the policy on purpose."""


@contextlib.contextmanager
def fault(policy, method, nth, after):
    """The nth call of the policy's method raises: instead of its work, or after it."""
    num_calls, original = 0, getattr(policy, method)

    def fail(*args, **kwargs):
        nonlocal num_calls
        num_calls += 1
        if num_calls != nth:
            return original(*args, **kwargs)
        if after:
            original(*args, **kwargs)
        raise InPolicy(method)

    setattr(policy, method, fail)
    try:
        yield
    finally:
        delattr(policy, method)
''',
    ),
    "Block": (
        (),
        '''
class Block:
    """A block as a manager makes it: pending with a ref_cnt of -1, idle with 0, else read by so many loads."""

    def __init__(self, block_id, ref_cnt):
        self.block_id = self.chunk_id = block_id
        self.ref_cnt = ref_cnt

    @property
    def is_ready(self):
        return self.ref_cnt >= 0
''',
    ),
    "Request": (
        (),
        '''
class Request:
    """What a call is told of the request that it is made for."""

    kv_hints = load_tier_filter = None

    def __init__(self, req_id=""):
        self.req_id, self._state = req_id, {}

    def set_state(self, value):
        self._state[type(value)] = value

    def get_state(self, kept):
        return self._state.get(kept)

    def get_offload_key_position(self, key):
        return 16 * (key[0] + 1) if self.req_id and key else None
''',
    ),
}
"""By its name: what it imports, and its text."""


def used_in(text: str) -> list[str]:
    """The names of what the text uses, and of what that uses, in the order in which they stand here."""
    used: set[str] = set()
    while True:
        whole = text + "".join(HELPERS[name][1] for name in used)
        found = {name for name in HELPERS if re.search(rf"(?<![\w.]){name}\(", whole)}
        if found == used:
            return [name for name in HELPERS if name in used]
        used = found
