"""How the calls of a program are written."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Style:
    """How the calls of a program are written, for a subject that is not called as ours are.

    Attributes:
        needs_request: the methods that cannot do without the request.
        takes_request: the methods that may be told the request; ``None`` if that is not known, and all are taken to.
        made: what is made of the subject before it is called; ``{}`` stands for the subject.
        has: the hooks that it has; what else it has may be left out.
    """

    needs_request: frozenset[str] = frozenset()
    takes_request: frozenset[str] | None = field(default=None, kw_only=True)
    made: str = "{}"
    has: frozenset[str] = frozenset()
