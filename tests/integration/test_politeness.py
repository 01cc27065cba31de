"""Politeness as the other side sees it: measured at the server, on a web that makes it hard."""

from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import pytest
import uvloop

from gossamer.config.load import Config, make_config
from gossamer.crawl.run.assemble import assemble
from gossamer.fetch.ports import Fetcher
from gossamer.fetch.ports import Request as FetchRequest
from gossamer.filter.canonical import canonicalise
from gossamer.lab.simweb.audit import Violation, audit, ground_truth
from gossamer.lab.simweb.server import Request
from gossamer.lab.simweb.web import SimWeb
from gossamer.model.outcome import Failed, FetchOutcome
from gossamer.model.units import Instant, Seconds
from gossamer.seed.lists import read_arguments
from tests.integration.crawl_checks import page_requests
from tests.integration.crawl_process import Ended, gossamer, scene, small_web

pytestmark = pytest.mark.service

DELAY, FACTOR, MAX_ADAPTIVE = Seconds(0.03), 10.0, Seconds(30.0)

# Both processes read the same monotonic clock of the machine, and the server notes a request after the crawler
# has sent it and the end of an answer before the crawler can have read it: what it sees of a gap is never less than
# what the crawler kept. What remains is that seconds since 1970 as floats differ in the seventh digit after the point,
# and that such a difference is multiplied by FACTOR.
TOLERANCE = 1e-5

# Three tries take longer than any fault lasts.
TOML = "[retry]\ndelay = 5.0\n"

HARD = small_web(
    seed=21,
    hosts=300,
    pages=800,
    big_host_share=0.5,
    shared_address_hosts=0.2,
    slow_hosts=0.05,
    slow_seconds=0.06,
    crawl_delay_hosts=0.05,
    crawl_delay_seconds=0.4,
    fault_rate=0.12,
    fault_seconds=12.0,
)


@dataclass(frozen=True, slots=True)
class Seen:
    """A crawl, and what the server noted of it."""

    ended: Ended
    web: SimWeb
    requests: list[Request]

    def audit(self) -> list[Violation]:
        return audit(
            self.requests,
            min_delay=DELAY,
            delay_factor=FACTOR,
            max_adaptive_delay=MAX_ADAPTIVE,
            crawl_delays=self.web.crawl_delays(),
            tolerance=TOLERANCE,
        )


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Seen:
    with scene(tmp_path_factory.mktemp("hard"), HARD, ["--delay", DELAY, "--delay-factor", FACTOR], TOML) as stage:
        ended = gossamer(*stage.command)
        web = stage.web.web()
    return Seen(ended, web, stage.web.requests())


def test_the_server_finds_no_gap_too_short_and_no_two_requests_at_once(seen: Seen) -> None:
    assert seen.ended.status == 0, seen.ended.err
    assert [str(violation) for violation in seen.audit()] == []


def test_the_crawlers_own_audit_agrees(seen: Seen) -> None:
    assert seen.ended.report["politeness_violations"] == 0


def test_the_whole_web_was_crawled_all_the_same(seen: Seen) -> None:
    assert seen.ended.report["finished"] is True
    assert seen.ended.report["pages"] == ground_truth(seen.web).documents


def test_the_web_was_as_hard_as_intended(seen: Seen) -> None:
    by_host = Counter(host for host, _ in {(r.host, r.target) for r in page_requests(seen.requests)})
    by_address = {request.host: request.address for request in seen.requests}
    refused = [request for request in seen.requests if request.status == 429 and request.retry_after > 0]

    assert len(by_host) == 300
    assert max(by_host.values()) > 0.35 * by_host.total()  # about half of the pages
    assert len(set(by_address.values())) < 300
    assert len(refused) > 2
    assert sum(r.written_at - r.read_at > 0.02 for r in seen.requests) > 20
    assert any(by_host[host] for host in seen.web.crawl_delays())


def test_the_audit_would_have_found_a_shorter_gap(seen: Seen) -> None:
    """Of the same record, had one request come earlier."""
    at_hosts = consecutive(seen.requests, lambda request: request.host)
    at_addresses = consecutive(seen.requests, lambda request: request.address)
    any_two = at_hosts[0]
    after_slow = next(pair for pair in at_hosts if pair[0].written_at - pair[0].read_at > 0.05)
    two_hosts = next((one, other) for one, other in at_addresses if one.host != other.host)

    assert offences(seen, any_two, gap=DELAY / 2) >= {"TOO_SOON"}
    assert offences(seen, after_slow, gap=2 * DELAY) >= {"TOO_SOON"}  # by what the host took to answer
    assert offences(seen, two_hosts, gap=DELAY / 2) >= {"ADDRESS_TOO_SOON"}


def consecutive(requests: list[Request], key: Callable[[Request], str]) -> list[tuple[Request, Request]]:
    """Requests that follow each other at the same host or address."""
    groups: dict[str, list[Request]] = defaultdict(list)
    for request in sorted(requests, key=lambda request: request.read_at):
        groups[key(request)].append(request)
    return [pair for group in groups.values() for pair in pairwise(group)]


def offences(seen: Seen, pair: tuple[Request, Request], gap: float) -> set[str]:
    """What the audit says if the second of two had come so soon after the first."""
    earlier, later = pair
    moved = replace(later, read_at=Instant(earlier.written_at + gap), written_at=Instant(earlier.written_at + gap))
    changed = [moved if request is later else request for request in seen.requests]
    found = replace(seen, requests=changed).audit()
    assert {(v.earlier, v.later) for v in found} >= {(earlier, moved)}
    return {violation.offence.name for violation in found}


class Flatterer:
    """A fetcher that says of every host that it was quick."""

    def __init__(self, fetcher: Fetcher) -> None:
        self._fetcher = fetcher

    async def fetch(self, request: FetchRequest) -> FetchOutcome:
        outcome = await self._fetcher.fetch(request)
        took = Seconds(0.0)
        return replace(outcome, took=took) if isinstance(outcome, Failed) else outcome._replace(took=took)

    async def close(self) -> None:
        await self._fetcher.close()


def test_a_slow_host_is_owed_its_rest_whatever_the_fetcher_says(tmp_path: Path) -> None:
    web = small_web(
        seed=22, hosts=6, pages=24, slow_hosts=1.0, crawl_delay_hosts=0, shared_address_hosts=0, fault_rate=0
    )
    with scene(tmp_path / "web", web) as stage:
        wishes = {"dir": str(stage.dir), "scope": "tld:test", "dns": stage.web.dns_address, "allow_private": True}
        uvloop.run(crawl_flattered(make_config({}, {**wishes, "delay": DELAY}), stage.web.seeds))
        slow_web = stage.web.web()

    seen = Seen(Ended(0, "", ""), slow_web, stage.web.requests())
    assert len(seen.requests) > 24
    assert [str(violation) for violation in seen.audit()] == []


async def crawl_flattered(config: Config, seeds: tuple[str, ...]) -> None:
    crawl = assemble(config, read_arguments(seeds, canonicalise))
    crawl.requester._fetcher = Flatterer(crawl.fetcher)
    await crawl.engine.run()
    await crawl.close()
