"""The statistics of managers as Prometheus metrics; needs ``pip install 'kvoffload[prometheus]'``."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import REGISTRY, Collector, CollectorRegistry

from kvoffload.stats import OffloadingStats

COUNTERS = {
    "hits": ("kvoffload_lookup_hits", "Lookups that found a ready block."),
    "pending_hits": ("kvoffload_lookup_pending_hits", "Lookups that found a block whose store has not completed."),
    "misses": ("kvoffload_lookup_misses", "Lookups that found nothing."),
    "blocks_offered": ("kvoffload_blocks_offered", "Blocks that stores named and that were not resident."),
    "blocks_skipped": ("kvoffload_blocks_skipped", "Offered blocks that admission did not let in."),
    "stores_refused": ("kvoffload_stores_refused", "Stores that were refused for want of room."),
    "blocks_stored": ("kvoffload_blocks_stored", "Blocks whose store completed."),
    "blocks_failed": ("kvoffload_blocks_failed", "Blocks whose store failed."),
    "blocks_loaded": ("kvoffload_blocks_loaded", "Blocks that loads pinned, each once per load."),
    "blocks_evicted": ("kvoffload_blocks_evicted", "Blocks that left to make room."),
    "stale_completions": ("kvoffload_stale_completions", "Completions of a transfer that was not outstanding."),
}
"""The name and the help of each counter; Prometheus adds ``_total``. ``lookups`` is the sum of the first three."""

GAUGES = {
    "num_blocks": ("kvoffload_blocks", "The capacity, in blocks."),
    "pending": ("kvoffload_blocks_pending", "Blocks that are being written."),
    "pinned": ("kvoffload_blocks_pinned", "Blocks that loads read."),
    "idle": ("kvoffload_blocks_idle", "Blocks that may be evicted."),
    "free": ("kvoffload_blocks_free", "Blocks that hold nothing."),
    "used": ("kvoffload_used_ratio", "Share of the capacity that transfers hold, 0 to 1."),
    "used_write": ("kvoffload_used_write_ratio", "Share of the capacity that is being written, 0 to 1."),
    "used_read": ("kvoffload_used_read_ratio", "Share of the capacity that loads read, 0 to 1."),
}
"""The name and the help of each gauge."""


class OffloadingCollector(Collector):
    """Asks managers for their statistics when Prometheus scrapes, and labels each with its policy.

    Args:
        stats: for each value of the label ``policy``, what gives a snapshot: a manager's ``get_stats``. A manager is
            not safe to call from another thread while its scheduler works on it; where the scrape comes from one, pass
            a function that hands out a snapshot which the scheduler took.
    """

    def __init__(self, stats: dict[str, Callable[[], OffloadingStats]]) -> None:
        self._stats = dict(stats)

    def collect(self) -> Iterator[Metric]:
        """One metric per counter and gauge, with one sample per policy."""
        snapshots = {policy: get_stats() for policy, get_stats in self._stats.items()}
        for attribute, (name, text) in COUNTERS.items():
            counter = CounterMetricFamily(name, text, labels=["policy"])
            for policy, snapshot in snapshots.items():
                counter.add_metric([policy], getattr(snapshot.counters, attribute))
            yield counter
        for attribute, (name, text) in GAUGES.items():
            gauge = GaugeMetricFamily(name, text, labels=["policy"])
            for policy, snapshot in snapshots.items():
                gauge.add_metric([policy], getattr(snapshot, attribute))
            yield gauge


def export_stats(
    stats: dict[str, Callable[[], OffloadingStats]], registry: CollectorRegistry = REGISTRY
) -> OffloadingCollector:
    """Register a collector of these statistics; ``registry.unregister`` takes it out again.

    Args:
        stats: for each policy, what gives a snapshot of its manager.
        registry: where to; the process's own unless given.
    """
    collector = OffloadingCollector(stats)
    registry.register(collector)
    return collector
