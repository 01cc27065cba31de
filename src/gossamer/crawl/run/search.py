"""Seeds from a search engine, before a crawl: builds the client that fetches the result pages."""

import asyncio
import os
from collections.abc import Iterable

from gossamer.clock import SteadyClock
from gossamer.config.fetchers import fetcher_for
from gossamer.config.hosts import host_settings_for
from gossamer.config.load import Config
from gossamer.config.policies import address_policy_for, canonicaliser_for, politeness_for
from gossamer.crawl.visit.polite_client import ClientRules, PoliteClient
from gossamer.fetch.dns.address_choice import AddressChoice
from gossamer.fetch.dns.resolver import Resolver
from gossamer.seed.engines import provider_for
from gossamer.seed.lists import Seed
from gossamer.seed.search import SearchProvider, search_seeds


def seeds_from_queries(config: Config, queries: Iterable[str]) -> list[Seed]:
    """The results of each query as seeds. Returns when the engine may be contacted again.

    Raises UsageError for an invalid query or engine, SearchFailed if the engine does not answer as expected.
    """
    return asyncio.run(_search(config, list(queries), provider_for(config)))


async def _search(config: Config, queries: list[str], provider: SearchProvider) -> list[Seed]:
    clock, canonicaliser = SteadyClock(), canonicaliser_for(config)
    addresses = address_policy_for(config)
    resolver = Resolver(config.name_servers or None, clock)
    fetcher = fetcher_for(config, clock, addresses.may_dial)
    client = PoliteClient(
        fetcher,
        resolver,
        AddressChoice(addresses.may_dial),
        clock,
        ClientRules(
            host_settings_for(config, os.environ),
            canonicaliser,
            politeness_for(config),
            config.robots_agent,
            config.fetch.max_redirects,
        ),
    )
    seeds: dict[str, Seed] = {}
    try:
        for query in queries:
            for seed in await search_seeds(query, provider, client.fetch, canonicaliser.canonicalise):
                seeds.setdefault(seed.url, seed)
        await client.wait_until_clear()
    finally:
        await fetcher.close()
        await resolver.close()
    return list(seeds.values())
