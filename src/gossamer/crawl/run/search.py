"""Seeds from a search engine, before a crawl: a polite HTTP client for the few requests of its result pages.

There is no frontier yet, so the client waits itself, one request at a time: robots.txt first, redirects one hop at a
time, and the gap of each host and address between two requests. It decides nothing that a crawl decides: the gap comes
from `frontier.politeness`, Retry-After from `fetch.http.headers`, the address from `AddressChoice`, the settings of the
host from `HostSettingsTable`, the redirects and the meaning of robots.txt from `visit.robots`, its limits from
`visit.request`.
"""

import asyncio
import os
from collections.abc import Iterable
from dataclasses import dataclass

from gossamer.clock import Clock, SteadyClock
from gossamer.config.fetchers import fetcher_for
from gossamer.config.hosts import HostSettingsTable, host_settings_for
from gossamer.config.load import Config
from gossamer.config.policies import address_policy_for, canonicaliser_for, politeness_for
from gossamer.crawl.visit.host_context import is_current
from gossamer.crawl.visit.request import ROBOTS_BYTES, time_taken, within_robots_timeout
from gossamer.crawl.visit.robots import answer_of, redirect_of_robots
from gossamer.fetch.dns.address_choice import AddressChoice
from gossamer.fetch.dns.cache import Addresses
from gossamer.fetch.dns.resolver import Resolver
from gossamer.fetch.http.body import payload
from gossamer.fetch.http.headers import location_of, requested_wait
from gossamer.fetch.ports import Fetcher, Request
from gossamer.fetch.robots import RobotsAnswer, RobotsPolicy, path_of
from gossamer.filter.canonical import Canonical, Canonicaliser, parse_canonical
from gossamer.frontier.politeness import Contact, PolitenessPolicy, next_contact, next_contact_of_address
from gossamer.frontier.retries import StatusClass, status_class
from gossamer.model.outcome import Failed, Failure, Response
from gossamer.model.units import Instant, Origin, Seconds, Url
from gossamer.seed.lists import Seed
from gossamer.seed.search import NoAnswer, SearchAnswer, SearchProvider, provider_for, search_seeds

LONGEST_WAIT = Seconds(60.0)
"""Somebody is waiting for the command. A host that asks for a longer wait is reported as not answering."""

_NEVER = Instant(0.0)


@dataclass(frozen=True, slots=True)
class ClientRules:
    """What a client decides by; the same objects as in a crawl."""

    hosts: HostSettingsTable
    canonicaliser: Canonicaliser
    politeness: PolitenessPolicy
    robots_agent: str
    max_redirects: int


class PoliteClient:
    """Fetches pages one at a time. Must not be used by several tasks at once."""

    def __init__(
        self, fetcher: Fetcher, resolver: Resolver, address_choice: AddressChoice, clock: Clock, rules: ClientRules
    ) -> None:
        self._fetcher = fetcher
        self._resolver = resolver
        self._address_choice = address_choice
        self._clock = clock
        self._rules = rules
        self._robots: dict[Origin, RobotsAnswer] = {}
        self._not_before: dict[str, Instant] = {}  # of hosts and of addresses

    async def fetch(self, url: Url) -> SearchAnswer | NoAnswer:
        """Fetch a page; see `seed.search.Fetch`. Never raises for what the server does."""
        canonicaliser = self._rules.canonicaliser
        page = canonicaliser.canonicalise(url)
        for _ in range(self._rules.max_redirects + 1):
            if not isinstance(page, Canonical):
                return NoAnswer(page.reason)
            answer = await self._robots_of(page)
            if isinstance(answer, NoAnswer):
                return answer
            verdict = answer.verdict(path_of(page.url))
            if not verdict.allowed:
                reason = "robots_unreachable" if answer.closed else "robots_denied"
                return NoAnswer(reason, f"line {verdict.line_number}: {verdict.line}" if verdict.line else "")
            outcome = await self._request(page, answer.rules.crawl_delay if answer.rules is not None else None)
            if isinstance(outcome, NoAnswer):
                return outcome
            redirected = status_class(outcome.status) is StatusClass.REDIRECT
            location = location_of(outcome.headers) if redirected else None
            if location is None:
                return SearchAnswer(outcome.status, payload(outcome).body, outcome.headers.get("content-type"))
            page = canonicaliser.canonicalise(location, page.url)
        return NoAnswer("too_many_redirects")

    async def wait_until_clear(self) -> None:
        """Wait until every contacted host may be contacted again: the crawl that follows does not know about them."""
        until = max(self._not_before.values(), default=_NEVER)
        await asyncio.sleep(max(0.0, min(until - self._clock.now(), LONGEST_WAIT)))

    async def _robots_of(self, page: Canonical) -> RobotsAnswer | NoAnswer:
        known = self._robots.get(page.origin)
        if known is not None and is_current(known, self._clock.now()):
            return known
        target, followed = parse_canonical(Url(page.origin + "/robots.txt"), page.host), 0
        while True:
            outcome = await self._request(target, None, for_robots=True)
            if isinstance(outcome, NoAnswer):
                return outcome
            further = redirect_of_robots(outcome, target.url, followed, self._rules.canonicaliser)
            if further is None:
                break
            target, followed = further, followed + 1
        now = self._clock.now()
        wait = requested_wait(outcome, now)
        answer, _ = answer_of(outcome, wait, now, self._rules.robots_agent, known, RobotsPolicy())
        self._robots[page.origin] = answer
        return answer

    async def _request(
        self, page: Canonical, crawl_delay: Seconds | None, *, for_robots: bool = False
    ) -> Response | NoAnswer:
        """Send one request, after the gap due since the last one."""
        settings = self._rules.hosts.for_host(page.host)
        address = "" if settings.proxied else await self._address_of(page)  # a proxy resolves the name itself
        if isinstance(address, NoAnswer):
            return address
        now = self._clock.now()
        ready = self._not_before.get(page.host, _NEVER)
        if crawl_delay is not None and ready:
            ready = max(ready, Instant(now + crawl_delay))  # robots.txt was fetched before its delay was known
        wait = max(ready, self._not_before.get(address, _NEVER)) - now
        if wait > LONGEST_WAIT:
            return NoAnswer("crawl_delay_too_long", f"it asks for a delay of {wait:.0f} seconds")
        await asyncio.sleep(max(0.0, wait))
        started = self._clock.now()
        request = Request(
            page.url,
            page.host,
            page.port,
            address,
            options=settings.options_for(page.origin, page.port),
            body_bytes=ROBOTS_BYTES if for_robots else None,
        )
        sending = self._fetcher.fetch(request)
        outcome = await (within_robots_timeout(sending) if for_robots else sending)
        now = self._clock.now()
        if not isinstance(outcome, Failed) or outcome.contacted:
            took = time_taken(outcome, started, now)
            contact = Contact(now, took, crawl_delay, requested_wait(outcome, now), settings.min_delay)
            self._not_before[page.host] = next_contact(self._rules.politeness, contact)
            self._not_before[address] = next_contact_of_address(self._rules.politeness, contact)
        if isinstance(outcome, Failed):
            return NoAnswer(outcome.failure.value, outcome.detail)
        return outcome

    async def _address_of(self, page: Canonical) -> str | NoAnswer:
        found = await self._resolver.resolve(page.host)
        if not isinstance(found, Addresses):
            return NoAnswer(found.failure.value, str(page.host))
        chosen = self._address_choice.choose(found, None, self._clock.now())
        return chosen or NoAnswer(Failure.BLOCKED_ADDRESS.value, ", ".join(found.addresses))


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
