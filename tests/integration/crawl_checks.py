"""Is a crawl what it should be? Judged by the web's ground truth, by foreign WARC readers, by the database."""

import sqlite3
from collections import Counter, deque
from collections.abc import Callable, Iterable
from contextlib import closing
from pathlib import Path

from fastwarc.warc import ArchiveIterator as FastIterator
from warcio.archiveiterator import ArchiveIterator

from gossamer.backends.warc.reader import read_record
from gossamer.lab.simweb.audit import Truth, forbidden_requests, ground_truth
from gossamer.lab.simweb.graph import Place
from gossamer.lab.simweb.hosts import Kind, url_of
from gossamer.lab.simweb.server import Request
from gossamer.lab.simweb.web import SimWeb
from gossamer.model.units import Instant
from tests.integration.crawl_process import Json, Scene
from tests.warc_checking import check_by_warcio

CONTRACT_KEYS = frozenset(
    [
        "pages",
        "fetched",
        "bytes",
        "discovered",
        "queued",
        "duplicates",
        "near_duplicates",
        "errors",
        "excluded",
        "dead",
        "hosts",
        "seconds",
        "cpu_seconds",
        "max_rss_bytes",
        "politeness_violations",
        "finished",
    ]
)
PAGE_KEYS = frozenset(
    [
        "url",
        "status",
        "state",
        "depth",
        "priority",
        "size",
        "digest",
        "fetched_at",
        "next_visit",
        "duplicate_of",
        "redirect_to",
        "reason",
    ]
)


def check_everything(scene: Scene, requests: Iterable[Request]) -> Truth:
    """A finished crawl: the right URLs in the right states, each document once, nothing forbidden asked for."""
    web = scene.web.web()
    truth = ground_truth(web)
    pages = scene.pages()
    check_outcomes(truth, pages)
    check_archive(scene.dir, web, pages)
    assert [f"{r.host}{r.target}" for r in forbidden_requests(requests, truth)] == []
    return truth


def page_requests(requests: Iterable[Request]) -> list[Request]:
    """Requests for pages: neither for robots.txt nor to find out whether a host has a sitemap."""
    return [r for r in requests if r.target != "/robots.txt" and (r.target, r.status) != ("/sitemap.xml", 404)]


def check_outcomes(truth: Truth, pages: list[Json], *, copies: bool = False) -> None:
    """Every URL of the web is known, no other, and it is in the state in which it must be. `copies`: several workers
    may have stored the same document, because they met it at the same time."""
    by_state: dict[str, set[str]] = {}
    for page in pages:
        by_state.setdefault(str(page["state"]), set()).add(str(page["url"]))
    urls = [str(page["url"]) for page in pages]
    assert len(urls) == len(set(urls))
    assert set(urls) == truth.all_urls()
    chosen = {url for group in truth.duplicate_groups for url in group} & by_state["stored"]
    most = max(map(len, truth.duplicate_groups), default=1) if copies else 1
    assert [group for group in truth.duplicate_groups if not 1 <= len(group & chosen) <= most] == []
    assert by_state.pop("stored") - chosen == truth.stored
    assert by_state.pop("duplicate", set()) == {u for g in truth.duplicate_groups for u in g} - chosen
    assert by_state.pop("missing", set()) == truth.missing
    assert by_state.pop("excluded", set()) == truth.forbidden
    assert by_state.pop("redirect", set()) == set(truth.redirects)
    assert by_state == {}
    for page in pages:
        check_row(truth, page)


def check_row(truth: Truth, page: Json) -> None:
    url = str(page["url"])
    if page["state"] == "redirect":
        assert page["redirect_to"] == truth.redirects[url]
        assert page["status"] in (301, 302, 307)
    elif page["state"] == "missing":
        assert page["status"] == 404
    elif page["state"] == "duplicate":
        group = next(group for group in truth.duplicate_groups if url in group)
        assert page["duplicate_of"] in group - {url}
    elif page["state"] == "excluded":
        assert page["reason"] == "robots_denied"
        assert page["status"] is None
    else:
        assert page["status"] == 200


def check_archive(directory: Path, web: SimWeb, pages: list[Json]) -> None:
    """Exactly one response record for each stored page, where its row says, with the body that the web has."""
    stored = {str(page["url"]): page for page in pages if page["state"] == "stored"}
    assert archived_urls(directory) == Counter(dict.fromkeys(stored, 1))
    for url, page in stored.items():
        place = page["warc"]
        assert isinstance(place, dict)
        record = read_record(directory / "warc" / place["file"], place["offset"], place["length"])
        assert (record.kind, record.target_uri) == ("response", url)
        assert record.http_body == body_at(web, url)


def archived_urls(directory: Path) -> Counter[str]:
    """How many response records each URL has. All files are read end to end, by two readers that are not ours."""
    check_by_warcio(sorted((directory / "warc").iterdir()))
    slow: Counter[str] = Counter()
    fast: Counter[str] = Counter()
    for path in sorted((directory / "warc").iterdir()):
        with path.open("rb") as file:
            for record in ArchiveIterator(file, check_digests="raise"):
                record.content_stream().read()
                if record.rec_type == "response":
                    slow[record.rec_headers.get_header("WARC-Target-URI")] += 1
        with path.open("rb") as file:
            for record in FastIterator(file, parse_http=False, auto_decode="none"):
                if record.headers["WARC-Type"] == "response":
                    assert record.verify_block_digest()
                    record.parse_http()
                    assert record.verify_payload_digest()
                    fast[record.headers["WARC-Target-URI"]] += 1
    assert slow == fast
    return slow


def check_report(directory: Path, report: Json) -> None:
    """The figures of a finished crawl's report are those of its database, counted row by row."""
    with closing(sqlite3.connect(f"file:{directory / 'crawl.db'}?mode=ro", uri=True)) as db:

        def count(query: str) -> int:
            return int(db.execute(f"SELECT count(*) FROM {query}").fetchone()[0])

        assert report.keys() >= CONTRACT_KEYS
        assert report["pages"] == count("urls WHERE state = 1") == count("captures WHERE revisit = 0")
        assert report["duplicates"] == count("urls WHERE state = 2") == count("visits WHERE duplicate_of IS NOT NULL")
        assert report["redirects"] == count("urls WHERE state = 3") == count("visits WHERE redirect_to IS NOT NULL")
        assert report["missing"] == count("urls WHERE state = 4")
        assert report["dead"] == count("urls WHERE state = 7")
        assert report["queued"] == count("urls WHERE state = 0")
        assert report["discovered"] == count("urls")
        assert report["hosts"] == count("hosts")
        excluded, errors = report["excluded"], report["errors"]
        assert isinstance(excluded, dict) and isinstance(errors, dict)
        assert excluded.get("robots_denied", 0) == count("urls WHERE state = 6")
        assert sum(errors.values()) == count("failures f JOIN urls u ON u.id = f.url_id WHERE u.state != 6")


def walked(
    web: SimWeb, seeds: Iterable[str], *, enters: Callable[[str], bool] = lambda host: True, max_depth: int = 99
) -> dict[str, int]:
    """The URLs within reach of the seeds on hosts that may be entered, with their depth: links followed from a seed.

    Breadth first, along the links alone: for a web without redirects and duplicates.
    """
    found: dict[str, int] = {}
    queue: deque[Place] = deque()
    names = {url_of(host, 0): host for host in web.hosts}
    for seed in seeds:
        found[seed] = 0
        queue.append((names[seed], 0))
    while queue:
        host, page = queue.popleft()
        url = url_of(host, page)
        if host.robots.forbids("gossamer", host.family(page)) or host.kind(page) is Kind.MISSING:
            continue
        inside, outside = web.graph.links(host, page)
        for place in (*((host, number) for number in (*web.graph.nav(host), *inside)), *outside):
            target = url_of(*place)
            if target not in found and found[url] < max_depth and enters(place[0].name):
                found[target] = found[url] + 1
                queue.append(place)
    return found


def body_at(web: SimWeb, url: str) -> bytes:
    """What the web has under a URL. (It is one whose text never changes and whose faults are over.)"""
    authority, slash, rest = url.removeprefix("http://").partition("/")
    return web.respond(authority.partition(":")[0], slash + rest, Instant(1e12)).body
