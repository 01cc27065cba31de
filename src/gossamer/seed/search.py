"""Seeds from a search engine: the interface of a provider, and how its results become seeds.

One request, one page of results. The fetch function is a parameter, so that robots.txt, addresses and politeness are
treated as in every visit; canonicalisation is a parameter too.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import ClassVar, Final

from gossamer.errors import SearchFailed, UsageError
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
