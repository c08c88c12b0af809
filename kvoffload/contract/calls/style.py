"""How a program makes its subject and calls it."""

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
        sized: whether it is made for a capacity in blocks.
    """

    needs_request: frozenset[str] = frozenset()
    takes_request: frozenset[str] | None = field(default=None, kw_only=True)
    made: str = "{}"
    has: frozenset[str] = frozenset()
    sized: bool = True


@dataclass(frozen=True)
class Origin:
    """Where the subject comes from, for a program or a command that makes it again.

    Attributes:
        name: ``module:name`` of what makes it, or empty.
        arguments: what else it is made with, as it stands in Python after the capacity.
        options: the options of a command that judges it in the same way.
    """

    name: str = ""
    arguments: str = ""
    options: str = ""


OURS = Style()
"""How the calls of a subject are written that is called as ours are."""

NOWHERE = Origin()
"""Of a subject that no program can make again."""
