"""What a clause is."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from typing import Literal

Subject = Literal["policy", "manager"]
BOTH: tuple[Subject, ...] = ("policy", "manager")
POLICY: tuple[Subject, ...] = ("policy",)
MANAGER: tuple[Subject, ...] = ("manager",)


@dataclass(frozen=True)
class Clause:
    """One sentence of the contract, why it stands there, and how it looks when it is broken.

    Attributes:
        id: its public, stable name.
        sentence: what it says.
        applies_to: whose clause it is.
        since: the contract version that brought it.
        needs: ids of the capabilities without which it cannot be judged, and is not claimed.
        why: what a user of the server would notice.
        seen_in: the public bugs behind it, each as ``owner/repository#number: what went wrong``; or that none is known.
        example: the lines of a program that breaks it. The last one ends in ``# -> BROKEN; allowed: ALLOWED``: what a
            broken implementation returns, and what the contract allows, several answers with ``or`` between them.
            ``# -> ANSWER`` behind another line is what every implementation returns there, ``# raises`` that it does.
    """

    id: str
    sentence: str
    applies_to: tuple[Subject, ...]
    since: int = 1
    needs: tuple[str, ...] = ()
    _: KW_ONLY
    why: str = field(repr=False)
    seen_in: str = field(repr=False)
    example: tuple[str, ...] = field(repr=False)
