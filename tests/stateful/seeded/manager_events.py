"""Managers whose events are missing, early, or told twice."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

from kvoffload import (
    NO_REQUEST,
    CPUOffloadingManager,
    EventKind,
    LookupResult,
    OffloadingEvent,
    OffloadKey,
    PrepareStoreOutput,
    ReqContext,
)
from tests.stateful.seeded.bug import SeamedManager, seeded

# --- missing or at the wrong time ---


@seeded("events-replay", "LMCache/LMCache#3532")
class NeverAnnouncesStores(CPUOffloadingManager):
    """A stored event is never told."""

    def _announce(self, kind: EventKind, keys: Iterable[OffloadKey] = ()) -> None:
        if kind is not EventKind.STORED:
            super()._announce(kind, keys)


@seeded("events-replay", "vllm-project/vllm#37874")
class NeverAnnouncesEvictions(CPUOffloadingManager):
    """A removal event is never told."""

    def _announce(self, kind: EventKind, keys: Iterable[OffloadKey] = ()) -> None:
        if kind is not EventKind.REMOVED:
            super()._announce(kind, keys)


@seeded("events-replay", "vllm-project/vllm#41956")
class NeverAnnouncesResets(CPUOffloadingManager):
    """A clear event is never told."""

    def _announce(self, kind: EventKind, keys: Iterable[OffloadKey] = ()) -> None:
        if kind is not EventKind.CLEARED:
            super()._announce(kind, keys)


@seeded("events-replay", "LMCache/LMCache#2738")
class AnnouncesBeforeItIsWritten(SeamedManager):
    """A store is announced when it is prepared, and taken back when it fails."""

    def prepare_store(
        self, keys: Iterable[OffloadKey], req_context: ReqContext = NO_REQUEST
    ) -> PrepareStoreOutput | None:
        output = super().prepare_store(keys, req_context)
        if output is not None:
            super()._announce(EventKind.STORED, output.keys_to_store)
        return output

    def complete_store(self, keys: Iterable[OffloadKey], *args: Any, **kwargs: Any) -> None:
        pending = [key for key in dict.fromkeys(keys) if self.ref_cnt(key) == -1]
        super().complete_store(pending, *args, **kwargs)
        super()._announce(EventKind.REMOVED, self.new_keys(pending))

    def _announce(self, kind: EventKind, keys: Iterable[OffloadKey] = ()) -> None:
        if kind is not EventKind.STORED:
            super()._announce(kind, keys)


@seeded("events-replay", "lightseekorg/tokenspeed#166")
class ClearsOnLookup(CPUOffloadingManager):
    """Every lookup that hits tells that the cache was cleared."""

    def lookup(self, key: OffloadKey, req_context: ReqContext = NO_REQUEST) -> LookupResult:
        result = super().lookup(key, req_context)
        if result is LookupResult.HIT:
            self._announce(EventKind.CLEARED)
        return result


@seeded("events-replay", "aliasing of the caller's list")
class AnnouncesWhatTheCallerKept(CPUOffloadingManager):
    """The removal event holds the list that the caller was given, and the caller has emptied it."""

    def _evict(self, n: int, protected: set[OffloadKey]) -> list[OffloadKey] | None:
        evicted_keys = super()._evict(n, protected)
        if evicted_keys and self._events:
            self._events[-1] = OffloadingEvent(EventKind.REMOVED, cast(tuple[OffloadKey, ...], evicted_keys))
        return evicted_keys


# --- twice ---


@seeded("events-once", "drain without emptying")
class TellsEventsAgain(CPUOffloadingManager):
    """Events that were taken are told again the next time."""

    def take_events(self) -> list[OffloadingEvent]:
        return list(self._events or ())


@seeded("events-once", "every key for the pending ones")
class AnnouncesResidentKeysToo(SeamedManager):
    """A completed store announces all keys that it names, those that were stored before it too."""

    def complete_store(self, keys: Iterable[OffloadKey], *args: Any, **kwargs: Any) -> None:
        named = list(keys)
        self._announce(EventKind.STORED, [key for key in dict.fromkeys(named) if self.ref_cnt(key) >= 0])
        super().complete_store(named, *args, **kwargs)


@seeded("events-once", "hook called twice")
class AnnouncesEvictionsTwice(CPUOffloadingManager):
    """A removal is announced by whoever evicts and by whoever asked for it."""

    def _evict(self, n: int, protected: set[OffloadKey]) -> list[OffloadKey] | None:
        evicted_keys = super()._evict(n, protected)
        self._announce(EventKind.REMOVED, evicted_keys or ())
        return evicted_keys
