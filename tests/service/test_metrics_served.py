"""The metrics of a real crawl: every phase is timed, and promtool and the official parser accept them."""

import subprocess
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from gossamer.lab.simweb.run import SimwebProcess
from gossamer.service.metrics import METRICS
from tests.debian import unpacked
from tests.integration.crawl_process import small_web, wait_until
from tests.service.service_process import Service

pytestmark = pytest.mark.service

NOT_KNOWN_YET = {"gossamer_refresh_budget", "gossamer_refresh_price", "gossamer_freshness"}
OF_SHARED_CRAWLS = {"gossamer_lease_seconds", "gossamer_living_workers", "gossamer_worker_deaths"}


def test_a_crawl_tells_how_long_each_part_of_its_way_takes(tmp_path: Path) -> None:
    promtool = unpacked("prometheus") / "usr" / "bin" / "promtool"
    with SimwebProcess(small_web()) as web:
        options = ["--scope", "tld:test", "--dns", web.dns_address, "--max-pages", 150]
        with Service(tmp_path / "crawl", *web.seeds, *options) as service:
            wait_until(lambda: service.get("/status").json["pages"] >= 100, "a hundred pages", 120)
            service.post("/crawl", {"action": "pause"})
            wait_until(lambda: service.get("/status").json["in_flight"] == 0, "the visits to end", 60)
            plain = service.get("/metrics", Accept="application/json").json
            text = service.get("/metrics").body

    status = {phase: families["count"] for phase, families in plain["gossamer_phase_seconds"].items()}
    assert status["first_byte"] == status["body"] >= plain["gossamer_fetched"] >= 100
    assert status["first_byte"] >= status["connect"] >= plain["gossamer_hosts_in_memory"] / 2
    assert min(status["dns"], status["extract"], status["commit"]) > 0 and status["tls"] == 0
    assert plain["gossamer_phase_seconds"]["commit"]["sum"] == pytest.approx(plain["gossamer_commit_seconds"], abs=0.01)
    assert sum(plain["gossamer_seen_test"].values()) > plain["gossamer_discovered"] - len(web.seeds)
    assert plain["gossamer_dns_cache"]["hit"] > 0 and plain["gossamer_dns_cached_hosts"] > 0
    assert plain["gossamer_politeness_violations"] == 0
    for process in ("crawl", "front"):
        assert 0 < plain["gossamer_rss_bytes"][process] <= plain["gossamer_max_rss_bytes"][process]
        assert plain["gossamer_cpu_seconds"][process] > 0
    assert plain["gossamer_event_loop_wakeup_seconds"]["count"] > 10
    assert {metric.name for metric in METRICS} - plain.keys() <= NOT_KNOWN_YET | OF_SHARED_CRAWLS
    families = {family.name for family in text_string_to_metric_families(text.decode())}
    assert families == plain.keys() - {name for name, figure in plain.items() if figure == {}}
    checked = subprocess.run([promtool, "check", "metrics"], input=text, capture_output=True, timeout=60)
    assert (checked.returncode, checked.stdout, checked.stderr) == (0, b"", b"")
