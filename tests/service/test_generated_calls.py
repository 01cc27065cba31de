"""The service called by its own description: schemathesis makes a thousand requests of it, right ones and wrong ones,
and holds every answer against it. `GOSSAMER_CALLS` asks for more of them."""

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.integration.crawl_process import Constants, wait_until
from tests.integration.small_server import Answer, SmallServer, links, page
from tests.service import generated_calls
from tests.service.service_process import Service

pytestmark = pytest.mark.service

CALLS = int(os.environ.get("GOSSAMER_CALLS", "1000"))
EXAMPLES = min(290, CALLS // 31)
"""Of every operation. With what they lead to, 290 make about 5,000 calls."""
ROUNDS = 2 + CALLS // 3000
PATIENCE = 600.0


def everything(url: str, before: int) -> Answer:
    """The web as the only proxy sees it: no address but this machine's is ever dialled."""
    if url.endswith("/robots.txt"):
        return Answer("", 404)
    if url == "http://known.test/":
        return links("/a", "/broken", "http://other.test/")
    return Answer("sorry", 500) if url.endswith("/broken") else page(url)


def test_no_generated_call_is_answered_with_a_5xx_or_in_a_way_that_is_not_described(tmp_path: Path) -> None:
    answered: Counter[str] = Counter()
    with SmallServer(everything) as proxy:
        (tmp_path / "gossamer.toml").write_text(f'[fetch]\nproxy = "{proxy.base}"\n[retry]\nmax_tries = 1\n')
        constants = Constants({"gossamer.service.access.MAX_REQUESTS": 100_000.0})
        options = ["--config", tmp_path / "gossamer.toml", "--delay", 0, "--scope", "any", "http://known.test/"]
        with Service(tmp_path / "crawl", *options, constants) as service:
            wait_until(lambda: service.get("/status").json["pages"] >= 3, "three pages")
            wait_until(lambda: bool(service.get("/dead").json["dead"]), "a dead letter")
            for seed in range(1, ROUNDS + 1):
                if answered.total() < CALLS:
                    answered += called(service, tmp_path, seed)
            assert service.get("/healthz").status == 200
            assert service.get("/status").json["politeness_violations"] == 0

    statuses = {call.split()[-1] for call in answered}
    assert answered.total() >= CALLS
    assert not any(status.startswith("5") for status in statuses)
    # It got behind the door: every kind of answer that callers can bring about was given.
    assert {"200", "400", "401", "404", "405", "415", "422"} <= statuses
    assert answered["POST /hosts/{host} 200"] and answered["POST /seed/urls 200"] and answered["POST /dead 200"]
    assert "crawl.failed" not in (tmp_path / "crawl" / "crawl.log").read_text()


def called(service: Service, folder: Path, seed: int) -> Counter[str]:
    """How often each operation was answered how, in one round of calls. Fails for an answer that is not as described.

    `/events` never ends, and is tested by itself.
    """
    counts = folder / "counts.json"
    (folder / "schemathesis.toml").write_text("[checks.missing_required_header]\nexpected-statuses = [401]\n")
    ended = subprocess.run(
        [
            *(sys.executable, "-m", "schemathesis.cli", "run", f"http://127.0.0.1:{service.port}/openapi.json"),
            *("--header", f"Authorization: Bearer {service.token}", "--exclude-path", "/events"),
            *("--checks", "all", "--max-examples", str(EXAMPLES), "--seed", str(seed)),
            *("--generation-database", "none", "--continue-on-failure", "--no-color", "--no-shrink"),
            *("--suppress-health-check", "all", "--request-timeout", str(PATIENCE)),
        ],
        cwd=folder,
        env={
            **os.environ,
            "PYTHONPATH": str(Path(__file__).parents[2]),
            "SCHEMATHESIS_HOOKS": generated_calls.__name__,
            generated_calls.COUNTS: str(counts),
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert ended.returncode == 0, "\n".join(line[:300] for line in ended.stdout.splitlines())
    return Counter(json.loads(counts.read_text()))
