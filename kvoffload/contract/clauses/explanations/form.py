"""What is explained about a clause, beside its sentence."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Explanation:
    """Why one clause is in the contract, and how it looks when it is broken.

    Attributes:
        why: what a user of the server would notice.
        seen_in: the public bugs behind it, each as ``owner/repository#number: what went wrong``; or that none is known.
        example: the lines of a program that breaks it. The last one ends in ``# -> BROKEN; allowed: ALLOWED``: what a
            broken implementation returns, and what the contract allows, several answers with ``or`` between them.
            ``# -> ANSWER`` behind another line is what every implementation returns there, ``# raises`` that it does.
    """

    why: str
    seen_in: str
    example: tuple[str, ...]
