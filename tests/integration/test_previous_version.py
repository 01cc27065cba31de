"""A crawl that the previous version left half done: this version reads it, goes on with it and finishes it.

`fixtures/crawl-v17.tar.xz` is the directory of a crawl by one worker at commit c31a7bc (schema 17) of the web below,
interrupted after 115 requests while one URL in nine answered 500. It holds stored pages, duplicates, a near-duplicate,
redirects, missing pages, an excluded URL, sitemaps, queued URLs, retries and dead letters. Visits are planned for the
year 2121, so that none comes due while a test runs. All requests go through a proxy, so the URLs need no port of this
machine and no name server.
"""

import json
import tarfile
import zlib
from collections import Counter
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest

from gossamer.backends.warc.reader import read_record
from gossamer.crawl.run.directory import CrawlDirectory
from gossamer.lab.simweb.audit import ground_truth
from gossamer.lab.simweb.config import preset
from gossamer.lab.simweb.web import SimWeb
from gossamer.model.units import Instant
from tests.integration.crawl_checks import archived_urls
from tests.integration.crawl_process import Ended, Json, gossamer
from tests.integration.small_server import Answer, SmallServer

pytestmark = pytest.mark.service

FIXTURE = Path(__file__).parent / "fixtures" / "crawl-v17.tar.xz"
WEB = SimWeb(
    preset(
        "demo",
        seed=17,
        port=80,
        hosts=12,
        pages=160,
        max_host_pages=0,
        mean_bytes=1_500,
        links_per_page=10,
        nav_links=3,
        static_pages=1.0,
        fault_rate=0.0,
        slow_hosts=0.0,
        crawl_delay_hosts=0.0,
        duplicate_rate=0.12,
        missing_rate=0.08,
        redirect_rate=0.06,
        disallowed_rate=0.08,
        sitemap_hosts=0.4,
    )
)
STATES = {"queued": 58, "stored": 79, "duplicate": 4, "redirect": 3, "missing": 2, "excluded": 1, "dead": 5}
"""What the directory holds."""
NOTICE = "<!DOCTYPE html><title>Opening hours</title><p>" + " ".join(
    f"The gate at the end of lane {n} is open from {n % 12} o'clock until dusk, and on holidays for an hour longer."
    for n in range(40)
)
TOML = """\
[host."*.test"]
proxy = "http://127.0.0.1:{port}"
[retry]
delay = 0.3
max_tries = 2
missing_delay = 3e9
[[recrawl.rules]]
host = "*.test"
interval = 3e9
"""


def site(url: str, _: int = 0) -> Answer:
    """The simulated web without faults; half of what it does not have is a notice like all the others."""
    host, slash, path = url.removeprefix("http://").partition("/")
    target = slash + path
    found = WEB.respond(host, target, Instant(1e12))
    if found.status == 404 and target != "/robots.txt" and len(target) % 2:
        return Answer(f"{NOTICE}<p>This is notice {zlib.crc32(url.encode()) % 1000} of its kind.")
    return Answer(status=found.status, headers=dict(found.headers), octets=found.body)


def body_of(url: str) -> bytes:
    found = site(url)
    return found.body.encode() if found.octets is None else found.octets


@dataclass(frozen=True, slots=True)
class OldCrawl:
    """A copy of the directory, to be changed at will."""

    folder: Path

    @property
    def dir(self) -> Path:
        return self.folder / "crawl"

    def __call__(self, command: str, *options: object) -> Ended:
        ended = gossamer(command, *options, "--dir", self.dir)
        assert ended.status == 0, (command, ended.err)
        return ended

    def resume(self) -> Ended:
        with SmallServer(site) as proxy:
            toml = self.folder / "gossamer.toml"
            toml.write_text(TOML.format(port=proxy.port))
            return self("crawl", "--config", toml, "--delay", 0.02, "--json", "--quiet")

    def pages(self) -> dict[str, Json]:
        lines = self("pages", "--json").lines
        found = {str(page["url"]): page for page in lines}
        assert len(found) == len(lines)
        return found


@pytest.fixture
def old(tmp_path: Path) -> OldCrawl:
    with tarfile.open(FIXTURE) as archive:
        archive.extractall(tmp_path, filter="data")
    return OldCrawl(tmp_path)


def states_of(pages: dict[str, Json]) -> Counter[object]:
    return Counter(page["state"] for page in pages.values())


def test_every_reading_command_opens_it(old: OldCrawl) -> None:
    status = json.loads(old("status", "--json").out)
    assert {state: n for state, n in status["states"].items() if n} == STATES
    assert (status["near_duplicates"], status["sitemaps"], status["finished"]) == (1, 9, False)
    pages = old.pages()
    assert states_of(pages) == STATES
    hosts = {str(host["host"]): host for host in old("hosts", "--json").lines}
    assert sum(int(str(host["known"])) for host in hosts.values()) == len(pages) == status["discovered"]
    assert sum(int(str(host["queued"])) for host in hosts.values()) == 58
    assert {host: about["known"] for host, about in hosts.items()} == Counter(p["host"] for p in pages.values())
    dead = old("dead", "--json").lines
    assert {letter["url"] for letter in dead} == {url for url, page in pages.items() if page["state"] == "dead"}
    assert {letter["reason"] for letter in dead} == {"server_error"}
    for state in STATES:
        url = next(url for url, page in pages.items() if page["state"] == state)
        assert state in old("explain", url, "--json").out
    exported = [json.loads(line) for line in old("export", "--quiet").out.splitlines()]
    assert {row["url"]: row["state"] for row in exported} == {url: page["state"] for url, page in pages.items()}
    for what in ("links", "text", "graph"):
        assert old("export", "--what", what, "--quiet").out
    assert len(old("index", "--output", "-", "--quiet").out.splitlines()) == 83  # 79 documents and 4 duplicates
    assert json.loads(old("verify", "--json", "--quiet").out)["problems"] == {}


def test_a_crawl_in_use_is_not_upgraded_and_the_message_says_why(old: OldCrawl) -> None:
    before = (old.dir / "crawl.db").read_bytes()
    with closing(CrawlDirectory(old.dir)):
        ended = gossamer("status", "--dir", old.dir)

    assert ended.status == 1
    assert "was written by an older Gossamer and has to be upgraded once, but: " in ended.err
    assert (old.dir / "crawl.db").read_bytes() == before


def test_it_is_finished_and_nothing_is_lost_or_stored_twice(old: OldCrawl) -> None:
    before = old.pages()
    ended = old.resume()
    assert (ended.report["finished"], ended.report["queued"], ended.report["politeness_violations"]) == (True, 0, 0)
    after = old.pages()
    check_kept(before, after, since={"queued"})
    dead = {url for url, page in after.items() if page["state"] == "dead"}
    assert dead == {url for url, page in before.items() if page["state"] == "dead"}

    assert json.loads(old("dead", "requeue", "--json").out) == {"v": 1, "requeued": len(dead)}
    ended = old.resume()
    assert (ended.report["finished"], ended.report["queued"], ended.report["dead"]) == (True, 0, 0)
    finished = old.pages()
    check_kept(after, finished, since={"dead"})

    assert finished.keys() == ground_truth(WEB).all_urls()
    stored = {url: page for url, page in finished.items() if page["state"] == "stored"}
    assert archived_urls(old.dir) == Counter(dict.fromkeys(stored, 1))
    for url, page in stored.items():
        place = page["warc"]
        assert isinstance(place, dict)
        record = read_record(old.dir / "warc" / place["file"], place["offset"], place["length"])
        assert (record.target_uri, record.http_body) == (url, body_of(url))
    assert json.loads(old("verify", "--json", "--quiet").out)["problems"] == {}
    assert len(old("export", "--quiet").out.splitlines()) == len(finished)
    known = sum(int(str(host["known"])) for host in old("hosts", "--json").lines)
    assert known == len(finished) == ended.report["discovered"]


def check_kept(before: dict[str, Json], after: dict[str, Json], since: set[str]) -> None:
    """Every page is still there, and as it was, except for those that were in one of the states `since`."""
    assert before.keys() <= after.keys()
    for url, page in before.items():
        if page["state"] not in since:
            changing = {"priority": None, "links": None}  # they depend on pages read since
            assert {**after[url], **changing} == {**page, **changing}
