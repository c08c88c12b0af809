"""What both machines draw from, and how they say what went wrong."""

from __future__ import annotations

from collections.abc import Iterable

from hypothesis import strategies as st

from kvoffload import NO_REQUEST, OffloadKey, ReqContext, make_offload_key

KEYS = tuple(make_offload_key(name.encode(), group) for group, names in enumerate(("abcd", "ab")) for name in names)
"""Few, so that they come back: four blocks of one group, and two of another under the same hashes."""

REQUESTS = st.sampled_from((NO_REQUEST, ReqContext("r1"), ReqContext("r2")))
"""An order may tell the uses of one request from those of another."""


def equal(key: OffloadKey) -> OffloadKey:
    """An equal key that is another object, as keys are that come with another request."""
    return OffloadKey(bytes(bytearray(key)))


def shown(keys: Iterable[OffloadKey]) -> str:
    """The keys by the names that they have in the program that Hypothesis prints."""
    return f"[{', '.join(f'keys_{KEYS.index(key)}' if key in KEYS else repr(key) for key in keys)}]"


def expect(call: str, rule: str, expected: object, actual: object) -> None:
    """What came is what was expected.

    Args:
        call: the call that was made last.
        rule: what the contract says, as a sentence.
        expected: what it says here.
        actual: what came.

    Raises:
        AssertionError: if something else came.
    """
    if actual != expected:
        raise AssertionError(f"{rule}: expected {expected}, but {actual} came after {call}")
