"""Admission that counts wrong, forgets too much, or makes no progress."""

from __future__ import annotations

from collections.abc import Sequence

from kvoffload import OffloadKey
from kvoffload.admission import AdmissionTracker
from tests.stateful.seeded.bug import seeded_admission

ROOMY, SMALL = 64, 3

# How many keys a refused store let in is not told, and with it whether its policy might be asked; and what is admitted
# too rarely because it was forgotten too early is seen before the model itself has forgotten anything.
GUARD: tuple[str, ...] = ("store-guarded",)
COUNTS: tuple[str, ...] = ("admission-counts", "store-guarded")


@seeded_admission("admission-counts", "off by one", ROOMY)
class LetsInOneRequestEarly(AdmissionTracker):
    """A key is let in one request before its last."""

    def __init__(self, store_threshold: int, max_tracker_size: int) -> None:
        super().__init__(store_threshold - 1, max_tracker_size)


@seeded_admission("admission-counts", "vllm-project/vllm#52227", ROOMY)
class CountsTheRepeatsOfARequest(AdmissionTracker):
    """One request that offers a key twice counts as two."""

    def admit(self, keys: Sequence[OffloadKey], request: str) -> list[OffloadKey]:
        return super().admit(keys, "")


@seeded_admission("admission-counts", "vllm-project/vllm#52227", ROOMY, also=GUARD)
class CountsTheHeadOnly(AdmissionTracker):
    """Counting stops at the first key that is not let in, so that a prefix is admitted one block at a time."""

    def admit(self, keys: Sequence[OffloadKey], request: str) -> list[OffloadKey]:
        admitted: list[OffloadKey] = []
        for key in keys:
            if not super().admit([key], request):
                break
            admitted.append(key)
        return admitted


@seeded_admission("admission-counts", "a set for a count", ROOMY, also=GUARD)
class RemembersOneRequestOnly(AdmissionTracker):
    """A request that comes back after others counts anew; requests without a name are all one."""

    def admit(self, keys: Sequence[OffloadKey], request: str) -> list[OffloadKey]:
        return super().admit(keys, request or "nobody")


@seeded_admission("admission-bounded", "vllm-project/vllm#54759", SMALL, also=COUNTS)
class GivesUpKeysOfTheOfferItCounts(AdmissionTracker):
    """Keys are counted one by one, and an offer larger than the tracker pushes its own keys out."""

    def admit(self, keys: Sequence[OffloadKey], request: str) -> list[OffloadKey]:
        return [key for key in keys if super(GivesUpKeysOfTheOfferItCounts, self).admit([key], request)]


@seeded_admission("admission-bounded", "wrong end of the list", SMALL, also=COUNTS)
class ForgetsTheLatestOffer(AdmissionTracker):
    """When the tracker is full, what was offered last is forgotten."""

    def admit(self, keys: Sequence[OffloadKey], request: str) -> list[OffloadKey]:
        most, self.max_tracker_size = self.max_tracker_size, len(self) + len(keys)
        admitted = super().admit(keys, request)
        self.max_tracker_size = most
        while len(self) > most:
            self._offered_by.popitem()
        return admitted


@seeded_admission("admission-bounded", "off by one", SMALL)
class RemembersOneMore(AdmissionTracker):
    """The tracker holds one key more than it may."""

    def __init__(self, store_threshold: int, max_tracker_size: int) -> None:
        super().__init__(store_threshold, max_tracker_size + 1)


# What a refused store let in shows in the statistics only, and those are not compared with a new manager's.
@seeded_admission("reset-fresh", "vllm-project/vllm#41956", SMALL, also=("admission-counts", "admission-bounded"))
class RemembersOffersFromBeforeAReset(AdmissionTracker):
    """A reset leaves the offers as they are."""

    def clear(self) -> None:
        pass
