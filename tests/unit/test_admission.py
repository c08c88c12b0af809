"""Admission, one claim each."""

from kvoffload import CPUOffloadingManager, OffloadKey, ReqContext
from kvoffload.admission import AdmissionTracker
from kvoffload.contract import keys

a, b, c, d = keys("abcd")


def stored(manager: CPUOffloadingManager, offered: list[OffloadKey], request: str) -> list[OffloadKey]:
    """What the manager stores of an offer; the store completes at once."""
    output = manager.prepare_store(offered, ReqContext(request))
    assert output is not None
    manager.complete_store(offered)
    return output.keys_to_store


def test_a_key_is_stored_with_the_last_of_its_requests() -> None:
    manager = CPUOffloadingManager(4, store_threshold=3)
    assert [stored(manager, [a], request) for request in ("r1", "r2", "r3")] == [[], [], [a]]


def test_the_repeats_of_one_request_count_once() -> None:
    manager = CPUOffloadingManager(4, store_threshold=2)
    assert [stored(manager, [a], request) for request in ("r1", "r1", "r1", "r2")] == [[], [], [], [a]]


def test_a_request_that_comes_back_after_another_counts_once() -> None:
    manager = CPUOffloadingManager(4, store_threshold=3)
    assert [stored(manager, [a], request) for request in ("r1", "r2", "r1", "r3")] == [[], [], [], [a]]


def test_a_key_named_twice_in_an_offer_counts_once() -> None:
    manager = CPUOffloadingManager(4, store_threshold=2)
    assert [stored(manager, [a, a], request) for request in ("r1", "r2")] == [[], [a]]


def test_without_a_request_every_offer_counts() -> None:
    manager = CPUOffloadingManager(4, store_threshold=2)
    assert [stored(manager, [a], "") for _ in range(2)] == [[], [a]]


def test_lookups_do_not_count() -> None:
    manager = CPUOffloadingManager(4, store_threshold=2)
    for _ in range(3):
        manager.lookup(a, ReqContext("r1"))
    assert stored(manager, [a], "r2") == []


def test_an_offer_larger_than_the_tracker_makes_progress() -> None:
    manager = CPUOffloadingManager(4, store_threshold=2, max_tracker_size=3)
    offers = [stored(manager, [a, b, c, d], request) for request in ("r1", "r2", "r3", "r4")]
    assert offers == [[], [a, b, c], [], [d]]


def test_the_tracker_is_bounded() -> None:
    tracker = AdmissionTracker(store_threshold=2, max_tracker_size=2)
    tracker.admit([a, b, c], "r1")
    assert len(tracker) == 2


def test_a_resident_key_named_in_the_call_is_protected_whatever_was_offered() -> None:
    manager = CPUOffloadingManager(1, store_threshold=2)
    stored(manager, [a], "r1")
    stored(manager, [a], "r2")
    assert manager.prepare_store([a, b], ReqContext("r1")) is not None
    assert manager.prepare_store([a, b], ReqContext("r2")) is None


def test_an_offer_of_a_refused_store_counts() -> None:
    manager = CPUOffloadingManager(1, store_threshold=2)
    stored(manager, [a], "r1")
    manager.prepare_store([a], ReqContext("r2"))  # a is pending from here on
    assert manager.prepare_store([b], ReqContext("r1")) is not None
    assert manager.prepare_store([b], ReqContext("r2")) is None
    manager.complete_store([a])
    assert stored(manager, [b], "r2") == [b]


def test_a_threshold_of_one_stores_at_once_and_tracks_nothing() -> None:
    tracker = AdmissionTracker(store_threshold=1, max_tracker_size=2)
    assert tracker.admit([a, b, c], "r1") == [a, b, c]
    assert len(tracker) == 0


def test_a_reset_forgets_the_offers() -> None:
    manager = CPUOffloadingManager(4, store_threshold=2)
    stored(manager, [a], "r1")
    manager.reset_cache()
    assert stored(manager, [a], "r2") == []
