"""Which offered keys are admitted: those that enough requests have offered, as far as a bounded memory tells."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

K = TypeVar("K")


@dataclass(frozen=True)
class Admission(Generic[K]):
    """The offers so far.

    Attributes:
        threshold: how many requests have to offer a key.
        most: how many keys are remembered.
        offers: (key, request) for every offer that counts, the key that was offered longest ago first.
    """

    threshold: int = 0
    most: int = 1
    offers: tuple[tuple[K, str], ...] = ()


def offer(admission: Admission[K], keys: Iterable[K], request: str) -> tuple[Admission[K], tuple[K, ...]]:
    """A request offers these keys, none of which is resident: what is remembered then, and which keys are admitted."""
    named = tuple(dict.fromkeys(keys))
    if admission.threshold < 2:
        return admission, named
    requests = {key: tuple(by for offered, by in admission.offers if offered == key) for key in named}
    counted = {
        key: before if (request and request in before) or len(before) == admission.threshold else (*before, request)
        for key, before in requests.items()
    }
    others = tuple(it for it in admission.offers if it[0] not in counted)
    offers = others + tuple((key, by) for key in reversed(named) for by in counted[key])
    remembered = frozenset(tuple(dict.fromkeys(key for key, _ in offers))[-admission.most :])
    kept = tuple(it for it in offers if it[0] in remembered)
    return replace(admission, offers=kept), tuple(key for key in named if len(counted[key]) == admission.threshold)
