"""Seeds from a search engine: a local server that answers in the engine's form, and in some it should not."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from gossamer.clock import SteadyClock
from gossamer.errors import SearchFailed, UsageError
from gossamer.fetch.http.body import payload
from gossamer.fetch.http.curl import CurlFetcher
from gossamer.fetch.ports import FetchLimits, Request
from gossamer.filter.canonical import canonicalise
from gossamer.filter.scope import parse_scope
from gossamer.model.outcome import Failed
from gossamer.model.units import HostKey, Url
from gossamer.seed.lists import Seed
from gossamer.seed.search import MAX_RESULTS, DuckDuckGo, NoAnswer, SearchAnswer, search_seeds
from tests.seed.engine_pages import BLOCKED, CHANGED, NO_RESULTS, advertisement, page, result
from tests.table import table

AGENT = "gossamer-test/1.0 (+mailto:crawl@example.test)"


def searched(query: str, status: int, body: bytes, heard: list[bytes] | None = None) -> list[Seed]:
    """What a search gives when the engine, a server on loopback, answers like this."""

    async def main() -> list[Seed]:
        async def engine(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            head = await reader.readuntil(b"\r\n\r\n")
            if heard is not None:
                heard.append(head)
            fields = b"Content-Type: text/html; charset=UTF-8\r\nContent-Length: %d\r\n\r\n" % len(body)
            writer.write(b"HTTP/1.1 %d X\r\n" % status + fields + body)
            await writer.drain()
            writer.close()

        server = await asyncio.start_server(engine, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        fetcher = CurlFetcher(AGENT, FetchLimits(), SteadyClock(), allow=lambda _address: True)

        async def fetch(url: Url) -> SearchAnswer | NoAnswer:
            outcome = await fetcher.fetch(Request(url, HostKey("engine.test"), port, "127.0.0.1"))
            if isinstance(outcome, Failed):
                return NoAnswer(outcome.failure.value, outcome.detail)
            return SearchAnswer(outcome.status, payload(outcome).body, outcome.headers.get("content-type"))

        try:
            provider = DuckDuckGo(f"http://engine.test:{port}/html/")
            return await search_seeds(query, provider, fetch, canonicalise)
        finally:
            await fetcher.close()
            server.close()

    return asyncio.run(main())


def given(answer: SearchAnswer | NoAnswer) -> Callable[[Url], Awaitable[SearchAnswer | NoAnswer]]:
    async def fetch(_url: Url) -> SearchAnswer | NoAnswer:
        return answer

    return fetch


def search(body: bytes, status: int = 200, query: str = "words", most: int = MAX_RESULTS) -> list[Seed]:
    """The same without a server."""
    answer = SearchAnswer(status, body)
    return asyncio.run(search_seeds(query, DuckDuckGo(), given(answer), canonicalise, most=most))


def test_the_results_of_a_query_become_seeds_that_remember_it() -> None:
    heard: list[bytes] = []

    seeds = searched("web  crawlers?", 200, page(result("http://B.test/x?y=1&z=ä"), result("https://a.test")), heard)

    assert seeds == [
        Seed(Url("http://b.test/x?y=1&z=%C3%A4"), HostKey("b.test"), "query: web crawlers?"),
        Seed(Url("https://a.test/"), HostKey("a.test"), "query: web crawlers?"),
    ]


def test_an_engine_is_asked_once_and_told_who_we_are() -> None:
    heard: list[bytes] = []

    searched('caf\u00e9 & "bar"', 200, page(result("http://a.test/")), heard)

    assert len(heard) == 1
    assert heard[0].startswith(b"GET /html/?q=caf%C3%A9+%26+%22bar%22 HTTP/1.1\r\n")
    assert b"User-Agent: " + AGENT.encode() in heard[0]


def test_advertisements_are_left_out() -> None:
    unmarked = advertisement("http://shop.test/").replace("result--ad", "")
    marked = advertisement("http://shop.test/").replace("y.js", "l/").replace("u3=", "uddg=")

    seeds = search(page(advertisement("http://shop.test/"), unmarked, marked, result("http://a.test/")))

    assert [seed.url for seed in seeds] == ["http://a.test/"]


def test_a_url_found_twice_is_one_seed_and_what_cannot_be_crawled_is_none() -> None:
    urls = [
        "http://a.test/#x",
        "ftp://f.test/",
        "http://A.test",
        "javascript:alert(1)",
        "http://a.test:22/",
        "nonsense",
    ]

    seeds = search(page(*map(result, urls)))

    assert [seed.url for seed in seeds] == ["http://a.test/"]


def test_a_link_that_leads_straight_to_its_target_is_a_result_too() -> None:
    seeds = search(page('<div class="result"><a href="https://a.test/x" class="big result__a">x</a></div>'))

    assert [seed.url for seed in seeds] == ["https://a.test/x"]


def test_seeds_are_capped() -> None:
    many = page(*(result(f"http://h{number}.test/") for number in range(200)))

    assert len(search(many)) == MAX_RESULTS
    assert [seed.url for seed in search(many, most=2)] == ["http://h0.test/", "http://h1.test/"]


@table(
    ("status", "body", "why", "words"),
    [
        (200, NO_RESULTS, "no results", "no results"),
        (200, CHANGED, "changed", "its layout may have changed"),
        (200, b"", "changed", "its layout may have changed"),
        (200, b"\x89PNG\r\n\x1a\n" + bytes(1000), "changed", "its layout may have changed"),
        (200, page(advertisement("http://shop.test/")), "changed", "its layout may have changed"),
        (200, page(result("gopher://a.test/")), "changed", "not web addresses"),
        (200, BLOCKED, "blocked", "blocked as a robot"),
        (202, BLOCKED, "blocked", "blocked as a robot"),
        (202, page(result("http://a.test/")), "blocked", "blocked as a robot"),
        (403, b"Forbidden", "blocked", "blocked as a robot"),
        (429, b"", "blocked", "blocked as a robot"),
        (500, b"", "unreachable", "status 500"),
        (404, NO_RESULTS, "unreachable", "status 404"),
    ],
)
def test_an_answer_without_seeds_says_what_it_was_instead(status: int, body: bytes, why: str, words: str) -> None:
    with pytest.raises(SearchFailed, match=words) as caught:
        searched("some words", status, body)

    assert caught.value.why == why
    assert "duckduckgo for 'some words'" in str(caught.value)


@pytest.mark.parametrize(
    ("answer", "why", "words"),
    [
        (NoAnswer("robots_denied", "line 3: Disallow: /html"), "denied", "robots.txt disallows .*line 3: Disallow"),
        (NoAnswer("dns_nxdomain"), "unreachable", "no answer: dns_nxdomain"),
        (NoAnswer("read_timeout", "deadline passed"), "unreachable", r"read_timeout \(deadline passed\)"),
    ],
)
def test_an_engine_that_cannot_be_asked_says_why(answer: NoAnswer, why: str, words: str) -> None:
    with pytest.raises(SearchFailed, match=words) as caught:
        asyncio.run(search_seeds("words", DuckDuckGo(), given(answer), canonicalise))

    assert caught.value.why == why


@pytest.mark.parametrize("query", ["", "  \n", "x" * 501, "nul \0", "\u202edrow"])
def test_a_query_that_is_none_is_not_asked(query: str) -> None:
    with pytest.raises(UsageError, match="a query must be"):
        search(page(result("http://a.test/")), query=query)


def test_an_address_of_the_engine_that_is_no_url_is_refused() -> None:
    answer = SearchAnswer(200, page(result("http://a.test/")))

    with pytest.raises(UsageError, match="the address of duckduckgo is not a URL: bad_scheme"):
        asyncio.run(search_seeds("words", DuckDuckGo("file:///etc/passwd"), given(answer), canonicalise))


def test_seeds_of_a_search_widen_the_scope_like_all_seeds() -> None:
    seeds = search(page(result("http://a.test/"), result("http://www.b.test/")))

    scope = parse_scope("host").with_seeds(seed.host for seed in seeds)

    assert scope.admitted_by(HostKey("www.b.test")) == "host:www.b.test"
    assert scope.admitted_by(HostKey("b.test")) is None


def test_the_address_may_have_a_query_of_its_own() -> None:
    assert DuckDuckGo("http://e.test/html/?kl=nz-en").request("a b") == "http://e.test/html/?kl=nz-en&q=a+b"
