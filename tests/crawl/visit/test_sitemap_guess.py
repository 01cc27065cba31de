"""`/sitemap.xml` is requested where robots.txt names no sitemap, and if there is none that costs only the request."""

import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import Any

from gossamer.crawl.visit.host_context import GUESS_AGAIN
from gossamer.fetch.robots import MAX_REDIRECTS
from gossamer.model.outcome import Failure
from gossamer.model.units import Seconds
from tests.crawl.scripted_crawl import ADDRESSES, HOME, ScriptedCrawl, crawled, html
from tests.crawl.scripted_fetcher import HANG, Step, failed, redirect, response

ROBOTS, GUESS = HOME + "robots.txt", HOME + "sitemap.xml"
PAGE = HOME + "page"
MAP = b"<?xml version='1.0'?>\n<urlset><url><loc>/listed</loc></url></urlset>"
ON: dict[str, Any] = {"sitemaps": {"well_known": True}}


def rules(*lines: str) -> Step:
    return response(200, "\n".join(["User-agent: *", *lines]).encode(), {"Content-Type": "text/plain"})


def sitemap(body: bytes = MAP, **headers: str) -> Step:
    return response(200, body, {"Content-Type": "application/xml", **headers})


def crawl_of(
    directory: Path, *guess: Step, more: Mapping[str, Step | list[Step]] | None = None, **settings: Any
) -> ScriptedCrawl:
    script: dict[str, Step | list[Step]] = {HOME: html("/page"), PAGE: html(title="page"), **(more or {})}
    if guess:
        script[GUESS] = list(guess)
    return crawled(directory, script, **{**ON, **settings})


def outcome_of(directory: Path, origin: str = HOME.rstrip("/")) -> str | None:
    """What the store says about the guess."""
    with closing(sqlite3.connect(directory / "crawl.db")) as db:
        (found,) = db.execute("SELECT guess FROM robots WHERE origin = ?", (origin,)).fetchone()
    return None if found is None else str(found)


def accesses(directory: Path) -> int:
    with closing(sqlite3.connect(directory / "crawl.db")) as db:
        return int(db.execute("SELECT sum(accesses) FROM domains").fetchone()[0])


FAILING: dict[str, tuple[Step, str]] = {
    "absent": (response(404), "404"),
    "gone": (response(410), "410"),
    "forbidden": (response(403), "403"),
    "broken": (response(500), "500"),
    "busy": (response(429), "429"),
    "page": (html("/not-followed"), "200, but not a sitemap"),
    "empty": (response(200, b""), "200, but not a sitemap"),
    "feed": (sitemap(b"<rss><channel><item><link>/item</link></item></channel></rss>"), "200, but not a sitemap"),
    "lost": (failed(Failure.CONNECTION_LOST), "connection_lost"),
    "refused": (failed(Failure.CONN_REFUSED, contacted=False), "conn_refused"),
    "silent": (HANG, "total_timeout"),
    "elsewhere": (redirect("http://absent.test/sitemap.xml"), "301, a redirect that is not followed"),
    "home": (redirect("/"), "301, a redirect that is not followed"),
    "loop": (redirect("/sitemap.xml"), "301, a redirect that is not followed"),
    "nowhere": (redirect("http://["), "301, a redirect that is not followed"),
}
"""By name of a host: the response to a guess, and its outcome on record."""


def test_a_guess_that_fails_leaves_nothing_but_its_outcome(tmp_path: Path) -> None:
    script: dict[str, Step] = {}
    for name, (step, _) in FAILING.items():
        home = f"http://{name}.test/"
        script |= {
            home: html("/page", title=name),
            home + "page": html(title=f"{name} page"),
            home + "sitemap.xml": step,
        }
    where: dict[str, Any] = {
        "seeds": [f"http://{name}.test/" for name in FAILING],
        "addresses": {f"{name}.test": f"93.184.216.{n}" for n, name in enumerate(FAILING)},
    }

    usual = crawled(tmp_path / "off", script, **where)
    crawl = crawled(tmp_path / "on", script, **where, **ON)

    assert crawl.states() == usual.states()
    assert crawl.crawl.counters.run == usual.crawl.counters.run
    assert accesses(tmp_path / "on") == accesses(tmp_path / "off")
    for name, (_, meaning) in FAILING.items():
        home = f"http://{name}.test/"
        asked = [url.removeprefix(home) for url in crawl.fetcher.urls if url.startswith(home)]
        assert asked == ["robots.txt", "sitemap.xml", "", "page"], name
        assert outcome_of(tmp_path / "on", home.rstrip("/")) == meaning, name


def test_a_guess_keeps_the_gaps_of_its_host_and_what_the_response_asks_for(tmp_path: Path) -> None:
    slow = {ROBOTS: rules("Crawl-delay: 20")}
    times = crawl_of(tmp_path / "delay", response(404), more=slow).request_times
    assert times[GUESS][0] - times[ROBOTS][0] >= 20.0 and times[HOME][0] - times[GUESS][0] >= 20.0

    times = crawl_of(tmp_path / "busy", response(503, b"", {"Retry-After": "50"})).request_times
    assert times[HOME][0] - times[GUESS][0] >= 50.0


def test_a_sitemap_that_was_guessed_enters_and_is_visited_as_one(tmp_path: Path) -> None:
    forms = {
        "xml": sitemap(),
        "wrong type": response(200, b"\n" + MAP, {"Content-Type": "text/html"}),
        "text": response(200, b"http://a.test/listed\n", {"Content-Type": "text/plain"}),
    }
    for name, form in forms.items():
        crawl = crawl_of(tmp_path / name, form, form, more={HOME + "listed": html(title="listed")})

        assert crawl.fetcher.urls[:2] == [ROBOTS, GUESS] and crawl.fetcher.urls.count(GUESS) == 2, name
        assert crawl.states() == dict.fromkeys((HOME, GUESS, PAGE, HOME + "listed"), "stored"), name
        assert crawl.crawl.counters.run["sitemaps"] == 1, name
        assert outcome_of(tmp_path / name) == f"a sitemap at {GUESS}", name


def test_redirects_of_a_guess_are_followed_within_its_origin_each_after_a_gap(tmp_path: Path) -> None:
    moved = HOME + "map-index.xml"
    more = {moved: [sitemap(), sitemap()], HOME + "listed": html(title="listed")}
    crawl = crawl_of(tmp_path / "moved", redirect(moved), more=more)

    assert crawl.fetcher.urls[:3] == [ROBOTS, GUESS, moved]
    assert crawl.request_times[moved][0] - crawl.request_times[GUESS][0] >= 1.0
    assert GUESS not in crawl.states() and crawl.states()[HOME + "listed"] == "stored"
    assert outcome_of(tmp_path / "moved") == f"a sitemap at {moved}"

    hops = [GUESS, *(HOME + f"hop-{number}" for number in range(MAX_REDIRECTS + 1))]
    endless = crawl_of(tmp_path / "endless", more={hop: redirect(then) for hop, then in pairwise(hops)})
    assert endless.fetcher.urls == [ROBOTS, *hops[: MAX_REDIRECTS + 1], HOME, PAGE]


def test_nothing_is_guessed_where_it_is_forbidden_or_of_no_use(tmp_path: Path) -> None:
    deep = {"max_depth": 0}
    table: dict[str, tuple[dict[str, Step], dict[str, Any]]] = {
        "robots.txt forbids it": ({ROBOTS: rules("Disallow: /sitemap")}, {}),
        "robots.txt names another": ({ROBOTS: rules("Sitemap: /map.xml"), HOME + "map.xml": sitemap(b"")}, {}),
        "its redirect is forbidden": ({ROBOTS: rules("Disallow: /maps"), GUESS: redirect("/maps/1")}, {}),
        "a pattern excludes it": ({}, {"filter": {"exclude": ["*/sitemap.xml"]}}),
        "nothing that it lists could enter": ({}, deep),
        "no sitemaps are wanted": ({}, {"sitemaps": {"enabled": False}}),
        "guesses are switched off": ({}, {"sitemaps": {"well_known": False}}),
        "every page is forbidden": ({ROBOTS: rules("Disallow: /", "Allow: /sitemap.xml")}, {}),
    }
    for name, (more, settings) in table.items():
        crawl = crawl_of(tmp_path / name, more=more, **settings)

        assert crawl.fetcher.urls.count(GUESS) == (GUESS in more), name
        assert HOME + "maps/1" not in crawl.fetcher.urls, name


def test_a_guess_is_made_once_and_not_repeated_by_a_restart_before_a_month_is_over(tmp_path: Path) -> None:
    def wait(crawl: ScriptedCrawl) -> None:
        crawl.clock.advance(Seconds(GUESS_AGAIN + 60.0))

    def crawl_up_to(
        pages: int, act: Callable[[ScriptedCrawl], None] = lambda crawl: None, **settings: Any
    ) -> list[str]:
        listed = {HOME + str(n): html(title=str(n)) for n in range(5)}
        script: dict[str, Step] = {HOME: html(*listed), **listed, GUESS: response(404)}
        return crawled(tmp_path, script, act, max_pages=pages, **{**ON, **settings}).requests

    assert crawl_up_to(1, sitemaps={"well_known": False}) == [HOME]
    assert crawl_up_to(2) == [GUESS, HOME + "0"]  # robots.txt is known, but the guess was not made
    assert crawl_up_to(3) == [HOME + "1"]
    assert crawl_up_to(4, wait) == [GUESS, HOME + "2"]


def test_a_guess_counts_for_no_limit(tmp_path: Path) -> None:
    crawl = crawl_of(tmp_path / "pages", response(404), max_pages=1)
    assert crawl.requests == [GUESS, HOME]

    crawl = crawl_of(tmp_path / "domain", response(404), politeness={"max_per_domain": 1})
    assert crawl.requests == [GUESS, HOME] and crawl.states() == {HOME: "stored", PAGE: "excluded"}


def test_a_guess_at_an_address_that_fails_is_made_at_the_next(tmp_path: Path) -> None:
    addresses = {**ADDRESSES, "a.test": "93.184.216.1 93.184.216.2"}
    refused = failed(Failure.CONN_REFUSED, contacted=False)
    crawl = crawl_of(tmp_path, refused, response(404), addresses=addresses)

    assert crawl.fetcher.urls == [ROBOTS, GUESS, GUESS, HOME, PAGE]
    assert len({request.address for request in crawl.fetcher.requests if request.url == GUESS}) == 2
