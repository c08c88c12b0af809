"""The metrics as Prometheus sees them: over HTTP, in its text format."""

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import fields
from urllib.request import urlopen

import pytest

from kvoffload import CPUOffloadingManager
from kvoffload.contract import keys
from kvoffload.stats import OffloadingCounters

prometheus_client = pytest.importorskip("prometheus_client", reason="needs pip install 'kvoffload[prometheus]'")

from prometheus_client.parser import text_string_to_metric_families  # noqa: E402 - after the check that it is there

from kvoffload.prometheus import COUNTERS, export_stats  # noqa: E402 - likewise

a, b, c, d = keys("abcd")


@pytest.fixture
def scraped() -> Iterator[dict[tuple[str, str], float]]:
    """What a scrape of a manager with LRU and one with ARC finds, by name and policy."""
    lru, arc = CPUOffloadingManager(4), CPUOffloadingManager(4, "arc")
    lru.prepare_store([a, b, c])
    lru.complete_store([a, b])
    lru.prepare_load([a])
    lru.lookup(a)
    lru.lookup(c)
    lru.lookup(d)
    registry = prometheus_client.CollectorRegistry()
    export_stats({"lru": lru.get_stats, "arc": arc.get_stats}, registry)
    server, thread = prometheus_client.start_http_server(0, addr="127.0.0.1", registry=registry)
    try:
        with urlopen(f"http://127.0.0.1:{server.server_port}/metrics", timeout=10) as response:
            text = response.read().decode()
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
    families = text_string_to_metric_families(text)
    yield {(sample.name, sample.labels["policy"]): sample.value for family in families for sample in family.samples}


def test_a_scrape_finds_the_counters(scraped: dict[tuple[str, str], float]) -> None:
    names = ("lookup_hits", "lookup_pending_hits", "lookup_misses", "blocks_offered", "blocks_stored", "blocks_loaded")
    assert [scraped[f"kvoffload_{name}_total", "lru"] for name in names] == [1, 1, 1, 3, 2, 1]


def test_a_scrape_finds_the_gauges(scraped: dict[tuple[str, str], float]) -> None:
    names = ("blocks", "blocks_pending", "blocks_pinned", "blocks_idle", "blocks_free", "used_ratio")
    assert [scraped[f"kvoffload_{name}", "lru"] for name in names] == [4, 1, 1, 1, 1, 0.5]


def test_each_policy_has_its_own_samples(scraped: dict[tuple[str, str], float]) -> None:
    assert scraped["kvoffload_blocks_free", "arc"] == 4


def test_every_counter_is_exported() -> None:
    assert list(COUNTERS) == [counter.name for counter in fields(OffloadingCounters)]


def test_the_manager_does_not_bring_prometheus() -> None:
    program = "import sys, kvoffload; sys.exit('prometheus_client' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
