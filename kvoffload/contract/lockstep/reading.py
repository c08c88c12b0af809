"""Reading what a subject shows: what goes wrong there is the subject's doing, and anywhere else it is ours."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")


class ReadError(Exception):
    """What a subject shows cannot be read; its cause is the exception that reading it raised."""


def read(reading: Callable[..., T], *arguments: Any) -> T:
    """Read something that the subject has a hand in: an attribute, a copy, an answer's text or hash.

    Raises:
        ReadError: if that raises.
    """
    try:
        return reading(*arguments)
    except Exception as raised:
        raise ReadError from raised
