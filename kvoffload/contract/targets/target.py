"""What is checked: how it is made, what it declares, and what it can be seen to promise."""

from __future__ import annotations

import ast
import shlex
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from kvoffload.contract.calls.style import Origin
from kvoffload.contract.clauses import Subject
from kvoffload.contract.clauses.capabilities import claims_of
from kvoffload.contract.targets.seen import seen_of_manager, seen_of_policy
from kvoffload.contract.targets.time_limit import time_limit
from kvoffload.types import OffloadKey
from kvoffload_spec.admission import Admission

GIVEN = ("enable_events", "store_threshold", "max_tracker_size")
"""The arguments that a command gives by itself, or by an option of their own."""


EVERY_KEY: Admission[OffloadKey] = Admission()
"""The admission of a manager that stores every key when it is first offered."""


class TargetError(Exception):
    """The target cannot be checked; the message says why and what to do."""


@dataclass(frozen=True)
class Target:
    """What is checked.

    Attributes:
        subject: a policy or a manager.
        make: makes a new one, for a capacity in blocks.
        order: the order it declares, or ``None``.
        name: ``module:name`` of what makes it, for programs that a user can paste; may be empty.
        arguments: what ``make`` passes it after the capacity, as it stands in Python; may be empty.
        admission: the model of a manager's admission.
        capabilities: what its owner says that it can and cannot do: ``scales``, ``no-repeated-keys``.
    """

    subject: Subject
    make: Callable[[int], Any]
    order: str | None = None
    name: str = ""
    arguments: str = ""
    admission: Admission[OffloadKey] = EVERY_KEY
    capabilities: tuple[str, ...] = ()

    @cached_property
    def claims(self) -> frozenset[str]:
        """The ids of the capabilities that it claims, as declared and as seen on a new one.

        Raises:
            ValueError: if a declared capability is unknown, or not there.
            SignatureError: if it cannot be called.
            TargetError: if it cannot be made.
        """
        see = seen_of_policy if self.subject == "policy" else seen_of_manager
        with time_limit():
            seen, ruled_out = see(self.made)
        admits = ("admission",) if self.admission.threshold > 1 else ()
        return claims_of(self.subject, seen, ruled_out, (*admits, *self.capabilities))

    @property
    def smallest(self) -> int:
        """The least capacity that it can be made for, in blocks."""
        return 0 if "empty" in self.claims else 1

    @property
    def options(self) -> str:
        """The options of a command that judges it in the same way."""
        options = [] if self.order is None else [f"--order {self.order}"]
        options += [f"--capability {name}" for name in self.capabilities]
        if self.admission.threshold > 1:
            options.append(f"--store-threshold {self.admission.threshold} --max-tracker-size {self.admission.most}")
        options += [f"--argument {name}={shlex.quote(value)}" for name, value in self._keywords() if name not in GIVEN]
        return "".join(f" {option}" for option in options)

    def _keywords(self) -> list[tuple[str, str]]:
        """The keyword arguments that it is made with, each as its name and what stands for it in Python."""
        call = ast.parse(f"make(0{self.arguments})", mode="eval").body
        keywords = call.keywords if isinstance(call, ast.Call) else []
        return [(keyword.arg, _written(keyword.value)) for keyword in keywords if keyword.arg is not None]

    @property
    def origin(self) -> Origin:
        """Where it comes from, so that the report of a violation can be run."""
        return Origin(self.name, self.arguments, self.options)

    def made(self, capacity: int) -> Any:
        """A new one of that capacity, in blocks.

        Raises:
            TargetError: if making it raises.
        """
        try:
            return self.make(capacity)
        except (Exception, SystemExit) as error:
            raise TargetError(
                f"{self.name or 'the ' + self.subject} raised {type(error).__name__} when it was made for {capacity} "
                f"blocks: {error}. A check makes it for 1 to 8 blocks, and for none if it can be."
            ) from error


def _written(value: ast.expr) -> str:
    """The value as an option holds it: a word needs no quotes."""
    if isinstance(value, ast.Constant) and isinstance(value.value, str) and value.value.isidentifier():
        return value.value
    return ast.unparse(value)
