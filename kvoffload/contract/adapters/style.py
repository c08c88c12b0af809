"""How the calls of a program are written."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Style:
    """How the calls of a program are written, for a subject that is not called as ours are.

    Attributes:
        needs_request: the methods that cannot do without the request.
        made: what is made of the subject before it is called; ``{}`` stands for the subject.
        has: the hooks that it has, of those that are called in front of another call.
    """

    needs_request: frozenset[str] = frozenset()
    made: str = "{}"
    has: frozenset[str] = frozenset()
