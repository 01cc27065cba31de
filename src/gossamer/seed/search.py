"""Seeds from a search engine: what a provider is asked, and what becomes of its answer.

One request, one page of results. Who fetches it is a parameter, so that robots.txt, addresses and politeness are those
of every other visit; how URLs become canonical is a parameter as for all seeds.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final, Protocol

from gossamer.errors import SearchFailed, UsageError
from gossamer.model.units import Url
from gossamer.seed.lists import Canonicalise, Refused, Seed

MAX_RESULTS: Final = 50
"""Seeds taken from one page; engines show ten to thirty."""

MAX_QUERY: Final = 500
"""Characters of a query, which are more than engines read."""


@dataclass(frozen=True, slots=True)
class SearchAnswer:
    """What the engine answered: the status, and the body without its codings."""

    status: int
    body: bytes
    content_type: str | None = None


@dataclass(frozen=True, slots=True)
class NoAnswer:
    """Why there is none: `robots_denied`, `dns_nxdomain`, `read_timeout` … and, for people, a line about it."""

    reason: str
    detail: str = ""


Fetch = Callable[[Url], Awaitable[SearchAnswer | NoAnswer]]
"""Fetches one URL as any page is fetched: our User-Agent, the host's robots.txt, the address policy, redirects."""


class SearchProvider(Protocol):
    """An engine. Another one is a small class: no IO, no clock."""

    @property
    def name(self) -> str:
        """For people and for the record: `duckduckgo`."""
        ...

    def request(self, query: str) -> str:
        """The URL of the first page of results."""
        ...

    def results(self, answer: SearchAnswer, query: str) -> list[str]:
        """The URLs of the results as the engine gives them, in its order, advertisements left out.

        Raises SearchFailed: no results, a block page, or a page that cannot be read any more. Never returns nothing.
        """
        ...


async def search_seeds(
    query: str, provider: SearchProvider, fetch: Fetch, canonicalise: Canonicalise, *, most: int = MAX_RESULTS
) -> list[Seed]:
    """The results of a query as seeds: canonical, each once, at most `most`, in the engine's order.

    Their `where` is `query: TEXT`. They are ordinary seeds: the scope grows by their hosts. Raises UsageError for a
    query that is none, SearchFailed for whatever keeps the engine from answering it.
    """
    text = _words(query)
    if not text or len(text) > MAX_QUERY or not text.isprintable():
        raise UsageError(f"a query must be 1 to {MAX_QUERY} printable characters, not {query[:60]!r}")
    url = canonicalise(provider.request(text))
    if isinstance(url, Refused):
        raise UsageError(f"the address of {provider.name} is no URL: {url.reason}")
    answer = await fetch(url.url)
    if isinstance(answer, NoAnswer):
        raise _unanswered(answer, provider, text)
    return _seeds(provider.results(answer, text), text, canonicalise, most, provider)


def place_of(query: str) -> str:
    """Where the results of a query stood: what their seeds have on record."""
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
        # Results there were, and none that can be crawled: not what a page of results looks like.
        raise SearchFailed(provider.name, query, "changed", "its results are no web addresses; it may have changed")
    return list(seeds.values())


def _unanswered(answer: NoAnswer, provider: SearchProvider, query: str) -> SearchFailed:
    more = f" ({answer.detail})" if answer.detail else ""
    if answer.reason == "robots_denied":
        problem = f"its robots.txt asks crawlers to stay away from its results{more}; give URLs or --seeds instead"
        return SearchFailed(provider.name, query, "denied", problem)
    return SearchFailed(provider.name, query, "unreachable", f"no answer: {answer.reason}{more}")
