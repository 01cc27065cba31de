"""Seeds from search engines, before a crawl: the engines by their names, and a polite way to ask them."""

import asyncio
import os
from collections.abc import Callable, Iterable, Mapping

from gossamer.clock import SteadyClock
from gossamer.config import Config
from gossamer.crawl.beforehand import PoliteAsker
from gossamer.errors import ConfigError
from gossamer.fetch.dns.policy import AddressPolicy
from gossamer.fetch.dns.resolver import Resolver
from gossamer.fetchers import fetcher_for
from gossamer.host_wishes import host_wishes_for
from gossamer.seed import duckduckgo
from gossamer.seed.lists import Seed
from gossamer.seed.search import SearchProvider, search_seeds
from gossamer.wishes import canonicaliser_for, politeness_for

PROVIDERS: Mapping[str, Callable[[str | None], SearchProvider]] = {
    "duckduckgo": lambda base: duckduckgo.DuckDuckGo(base or duckduckgo.BASE)
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
    hosts = host_wishes_for(config, os.environ)
    clock, canonicaliser = SteadyClock(), canonicaliser_for(config)
    addresses = AddressPolicy(allow_private=config.allow_private, allowed_networks=config.allow_networks)
    resolver = Resolver(config.name_servers or None, clock)
    fetcher = fetcher_for(config, clock, addresses.may_dial)
    asker = PoliteAsker(
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
        await asker.rest()
    finally:
        await fetcher.close()
        await resolver.close()
    return list(seeds.values())
