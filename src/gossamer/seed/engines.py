"""Seeds from search engines, before a crawl: the engines by their names, and a polite way to ask them.

DuckDuckGo's page for browsers without scripts, read for its results.

Its shape: every result is a block with the class `result`, its link an `<a class="result__a">` that leads to the
engine's own `/l/?uddg=TARGET`. Advertisements are blocks with `result--ad`. A page without results says so in a block
with the class `no-results` or `result--no-result`. A page that takes us for a robot has elements whose class begins
with `anomaly-modal`, or a form named `challenge-form`, under whatever status.
"""

import asyncio
import os
from collections.abc import Callable, Iterable, Mapping
from typing import Final
from urllib.parse import parse_qs, quote_plus, urlsplit

from turbohtml import Document, Element, parse

from gossamer.clock import SteadyClock
from gossamer.config.fetchers import fetcher_for
from gossamer.config.hosts import host_settings_for
from gossamer.config.load import Config
from gossamer.config.policies import canonicaliser_for, politeness_for
from gossamer.errors import ConfigError, SearchFailed
from gossamer.fetch.dns.policy import AddressPolicy
from gossamer.fetch.dns.resolver import Resolver
from gossamer.seed import engines
from gossamer.seed.lists import Seed
from gossamer.seed.polite_client import PoliteClient
from gossamer.seed.search import SearchAnswer, SearchProvider, search_seeds

BASE: Final = "https://html.duckduckgo.com/html/"

_MAX_BYTES: Final = 2 * 1024 * 1024  # a page of results has some tens of kilobytes
_BLOCKING: Final = frozenset((202, 403, 429))
_AD_CLASSES: Final = frozenset(("result--ad", "result--ad--small", "badge--ad"))
_AD_PATH: Final = "/y.js"
_MAX_LINKS: Final = 500
_MAX_LEVELS: Final = 6  # from a result's link up to its block


class DuckDuckGo:
    """A `SearchProvider`. `base` is the address of the page of results, without the query."""

    def __init__(self, base: str = BASE) -> None:
        self._base = base

    @property
    def name(self) -> str:
        return "duckduckgo"

    def request(self, query: str) -> str:
        return f"{self._base}{'&' if '?' in self._base else '?'}q={quote_plus(query)}"

    def results(self, answer: SearchAnswer, query: str) -> list[str]:
        page = parse(answer.body[:_MAX_BYTES], encoding="UTF-8", positions=False)
        if answer.status in _BLOCKING or _is_challenge(page):
            raise self._failed(
                query, "blocked", f"it takes us for a robot (status {answer.status}); wait a while, or give URLs"
            )
        if answer.status != 200:
            raise self._failed(query, "unreachable", f"it answered with status {answer.status}")
        links = [link for link in page.select("a.result__a")[:_MAX_LINKS] if not _is_advertisement(link)]
        found = list(dict.fromkeys(filter(None, (_target(link.attr("href")) for link in links))))
        if found:
            return found
        if not links and page.select_one(".no-results, .result--no-result") is not None:
            raise self._failed(query, "no results", "it found nothing")
        raise self._failed(
            query, "changed", "its page has neither results nor the words for none; its form may have changed"
        )

    def _failed(self, query: str, why: str, problem: str) -> SearchFailed:
        return SearchFailed(self.name, query, why, problem)


def _is_challenge(page: Document) -> bool:
    marks = '#challenge-form, form[action*="anomaly"], [class^="anomaly-modal"], [class*=" anomaly-modal"]'
    return page.select_one(marks) is not None


def _is_advertisement(link: Element) -> bool:
    """By the class of a block around it, or by where it leads."""
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
    """Where a result leads: what the engine's redirect names, or the link itself if it leads straight there."""
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


PROVIDERS: Mapping[str, Callable[[str | None], SearchProvider]] = {
    "duckduckgo": lambda base: engines.DuckDuckGo(base or engines.BASE)
}
"""Name -> maker, which is handed the address that the configuration names, if it does."""


def provider_for(config: Config) -> SearchProvider:
    """The engine of the configuration. Raises ConfigError."""
    name = config.search.provider
    if name not in PROVIDERS:
        raise ConfigError("search.provider", f"no such search engine: {name!r} (there is {', '.join(PROVIDERS)})")
    return PROVIDERS[name](config.search.base)


def seeds_from_queries(config: Config, queries: Iterable[str]) -> list[Seed]:
    """The results of each query as seeds. Returns when the engine may be asked again.

    Raises UsageError for a query or engine that is none, SearchFailed for what keeps the engine from answering.
    """
    return asyncio.run(_ask(config, list(queries), provider_for(config)))


async def _ask(config: Config, queries: list[str], provider: SearchProvider) -> list[Seed]:
    hosts = host_settings_for(config, os.environ)
    clock, canonicaliser = SteadyClock(), canonicaliser_for(config)
    addresses = AddressPolicy(allow_private=config.allow_private, allowed_networks=config.allow_networks)
    resolver = Resolver(config.name_servers or None, clock)
    fetcher = fetcher_for(config, clock, addresses.may_dial)
    asker = PoliteClient(
        fetcher=fetcher,
        resolver=resolver,
        addresses=addresses,
        canonicaliser=canonicaliser,
        hosts=hosts,
        politeness=politeness_for(config),
        clock=clock,
        robots_agent=config.robots_agent,
        max_redirects=config.fetch.max_redirects,
    )
    seeds: dict[str, Seed] = {}
    try:
        for query in queries:
            for seed in await search_seeds(query, provider, asker.fetch, canonicaliser.canonicalise):
                seeds.setdefault(seed.url, seed)
        await asker.wait_until_clear()
    finally:
        await fetcher.close()
        await resolver.close()
    return list(seeds.values())
