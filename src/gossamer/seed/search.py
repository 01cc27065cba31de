"""Seeds from a search engine: the interface of a provider, the engines by name, and how their results become seeds.

One request, one page of results. The fetch function is a parameter, so that robots.txt, addresses and politeness are
treated as in every visit; canonicalisation is a parameter too.

`DuckDuckGo` parses the result page for browsers without scripts. Every result is a block with the class `result`, its
link an `<a class="result__a">` that leads to the engine's own `/l/?uddg=TARGET`. Advertisements are blocks with
`result--ad`. A page without results has a block with the class `no-results` or `result--no-result`. A page that blocks
robots has elements whose class begins with `anomaly-modal`, or a form named `challenge-form`, with any status.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from importlib.metadata import entry_points
from typing import ClassVar, Final
from urllib.parse import parse_qs, quote_plus, urlsplit

from turbohtml import Document, Element, parse

from gossamer.config.load import Config
from gossamer.config.plugins import entry_label, load_plugin
from gossamer.errors import ConfigError, SearchFailed, UsageError
from gossamer.model.units import Url
from gossamer.seed.lists import Canonicalise, Refused, Seed

MAX_RESULTS: Final = 50
"""Seeds taken from one page; engines show ten to thirty."""

MAX_QUERY: Final = 500
"""Characters of a query, more than engines accept."""


@dataclass(frozen=True, slots=True)
class SearchAnswer:
    """The engine's response: the status, and the body without its codings."""

    status: int
    body: bytes
    content_type: str | None = None


@dataclass(frozen=True, slots=True)
class NoAnswer:
    """Why there is no response: `robots_denied`, `dns_nxdomain`, `read_timeout` … and details as text."""

    reason: str
    detail: str = ""


Fetch = Callable[[Url], Awaitable[SearchAnswer | NoAnswer]]
"""Fetches one URL like any page: our User-Agent, the host's robots.txt, the address policy, redirects."""


class SearchProvider:
    """A search engine. No IO, no clock."""

    name: ClassVar[str] = ""
    """The value of `search.provider`, and the name in messages and records: `duckduckgo`."""

    def __init__(self, base: str | None = None) -> None:
        """`base` is the address of the result page from the configuration; None for the engine's own."""
        self.base = base

    def request(self, query: str) -> str:
        """The URL of the first page of results."""
        raise NotImplementedError

    def results(self, answer: SearchAnswer, query: str) -> list[str]:
        """The URLs of the results as the engine gives them, in its order, without advertisements.

        Raises SearchFailed for no results, a block page, or a page that cannot be parsed. Never returns an empty list.
        """
        raise NotImplementedError

    def failed(self, query: str, why: str, problem: str) -> SearchFailed:
        """The exception to raise; `why` is one of those of SearchFailed."""
        return SearchFailed(self.name, query, why, problem)


async def search_seeds(
    query: str, provider: SearchProvider, fetch: Fetch, canonicalise: Canonicalise, *, most: int = MAX_RESULTS
) -> list[Seed]:
    """The results of a query as seeds: canonical, without repetitions, at most `most`, in the engine's order.

    Their `where` is `query: TEXT`. They are ordinary seeds: the scope grows by their hosts. Raises UsageError for an
    invalid query, SearchFailed if the engine does not answer as expected.
    """
    text = _words(query)
    if not text or len(text) > MAX_QUERY or not text.isprintable():
        raise UsageError(f"a query must be 1 to {MAX_QUERY} printable characters, not {query[:60]!r}")
    url = canonicalise(provider.request(text))
    if isinstance(url, Refused):
        raise UsageError(f"the address of {provider.name} is not a URL: {url.reason}")
    answer = await fetch(url.url)
    if isinstance(answer, NoAnswer):
        raise _unanswered(answer, provider, text)
    try:
        found = provider.results(answer, text)
    except (ValueError, LookupError, TypeError) as error:  # of a provider that expects another document
        problem = f"its results cannot be read ({type(error).__name__}: {error}); its layout may have changed"
        raise SearchFailed(provider.name, text, "changed", problem) from error
    return _seeds(found, text, canonicalise, most, provider)


def place_of(query: str) -> str:
    """The `where` of seeds that a query found."""
    return f"query: {_words(query)}"


def _words(query: str) -> str:
    return " ".join(query.split())


def _seeds(urls: list[str], query: str, canonicalise: Canonicalise, most: int, provider: SearchProvider) -> list[Seed]:
    seeds: dict[Url, Seed] = {}
    for url in urls:
        found = canonicalise(url)
        if not isinstance(found, Refused) and found.url not in seeds:
            seeds[found.url] = Seed(found.url, found.host, place_of(query))
            if len(seeds) >= most:
                break
    if not seeds:
        # There were results, but none that can be crawled: not a result page as we know it.
        raise SearchFailed(
            provider.name, query, "changed", "its results are not web addresses; its layout may have changed"
        )
    return list(seeds.values())


def _unanswered(answer: NoAnswer, provider: SearchProvider, query: str) -> SearchFailed:
    more = f" ({answer.detail})" if answer.detail else ""
    if answer.reason == "robots_denied":
        problem = f"its robots.txt disallows crawling its results{more}; give URLs or --seeds instead"
        return SearchFailed(provider.name, query, "denied", problem)
    return SearchFailed(provider.name, query, "unreachable", f"no answer: {answer.reason}{more}")


BASE: Final = "https://html.duckduckgo.com/html/"

_MAX_BYTES: Final = 2 * 1024 * 1024  # a result page has some tens of kilobytes
_BLOCKING: Final = frozenset((202, 403, 429))
_AD_CLASSES: Final = frozenset(("result--ad", "result--ad--small", "badge--ad"))
_AD_PATH: Final = "/y.js"
_MAX_LINKS: Final = 500
_MAX_LEVELS: Final = 6  # from a result's link up to its block


class DuckDuckGo(SearchProvider):
    """The result page for browsers without scripts."""

    name = "duckduckgo"

    def request(self, query: str) -> str:
        base = self.base or BASE
        return f"{base}{'&' if '?' in base else '?'}q={quote_plus(query)}"

    def results(self, answer: SearchAnswer, query: str) -> list[str]:
        page = parse(answer.body[:_MAX_BYTES], encoding="UTF-8", positions=False)
        if answer.status in _BLOCKING or _is_challenge(page):
            raise self.failed(
                query, "blocked", f"blocked as a robot (status {answer.status}); try again later, or give URLs"
            )
        if answer.status != 200:
            raise self.failed(query, "unreachable", f"status {answer.status}")
        links = [link for link in page.select("a.result__a")[:_MAX_LINKS] if not _is_advertisement(link)]
        found = list(dict.fromkeys(filter(None, (_target(link.attr("href")) for link in links))))
        if found:
            return found
        if not links and page.select_one(".no-results, .result--no-result") is not None:
            raise self.failed(query, "no results", "no results")
        raise self.failed(
            query,
            "changed",
            "the page has neither results nor a message that there are none; its layout may have changed",
        )


def _is_challenge(page: Document) -> bool:
    marks = '#challenge-form, form[action*="anomaly"], [class^="anomaly-modal"], [class*=" anomaly-modal"]'
    return page.select_one(marks) is not None


def _is_advertisement(link: Element) -> bool:
    """Decided by the class of a surrounding block, or by the target."""
    href = link.attr("href") or ""
    if _path(href) == _AD_PATH or "ad_domain=" in href:
        return True
    block = link.parent
    for _ in range(_MAX_LEVELS):
        if not isinstance(block, Element):
            return False
        if not _AD_CLASSES.isdisjoint((block.attr("class") or "").split()):
            return True
        block = block.parent
    return False


def _path(href: str) -> str:
    try:
        return urlsplit(href).path
    except ValueError:
        return ""


def _target(href: str | None) -> str | None:
    """The URL of a result: the target of the engine's redirect, or the link itself."""
    if not href:
        return None
    try:
        parts = urlsplit(href)
        if parts.path == "/l/":
            named = parse_qs(parts.query, max_num_fields=32).get("uddg")
            return named[0] if named else None
    except ValueError:
        return None
    return href if parts.scheme in ("http", "https") else None


SEARCH_GROUP: Final = "gossamer.search"
"""Entry point group: names of search engines, with their classes as values (docs/EXTENDING.md)."""


def provider_for(config: Config) -> SearchProvider:
    """The engine of the configuration, built in or of a plugin, which cannot replace the built-in one.

    Raises ConfigError if there is none of that name, UsageError if the plugin is broken.
    """
    name, base = config.search.provider, config.search.base
    if name == DuckDuckGo.name:
        return DuckDuckGo(base)
    entries = {entry.name: entry for entry in entry_points(group=SEARCH_GROUP)}
    if name not in entries:
        names = ", ".join(sorted({DuckDuckGo.name, *entries}))
        raise ConfigError("search.provider", f"no such search engine: {name!r} (there are {names})")
    where = f"the search engine {entry_label(entries[name])}"
    provider = load_plugin(entries[name], SearchProvider, where, "gossamer.seed.search.SearchProvider", base)
    if provider.name != name:
        raise UsageError(f"{where} has another name, {provider.name!r}")
    return provider
