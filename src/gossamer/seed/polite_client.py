"""A polite HTTP client for the few requests before a crawl: a search engine's result pages.

There is no frontier yet, so the client enforces the rules itself, one request at a time: robots.txt first, every
address checked before it is dialled, redirects one hop at a time, and the politeness gap of each host and address
between two requests. The gap, Retry-After and the meaning of robots.txt are decided by the same functions as in a
crawl (`frontier.politeness`, `fetch.http.headers`, `fetch.robots`).
"""

import asyncio

from gossamer.clock import Clock
from gossamer.config.hosts import HostSettingsTable
from gossamer.fetch.dns.cache import Addresses
from gossamer.fetch.dns.policy import AddressPolicy
from gossamer.fetch.dns.resolver import Resolver
from gossamer.fetch.http.body import payload
from gossamer.fetch.http.headers import location_of, requested_wait
from gossamer.fetch.ports import Fetcher, Request
from gossamer.fetch.robots import MAX_REDIRECTS, RobotsAnswer, path_of, rules_from_answer
from gossamer.filter.canonical import Canonical, Canonicaliser, parse_canonical
from gossamer.frontier.politeness import Contact, PolitenessPolicy, next_contact, next_contact_of_address
from gossamer.frontier.retries import StatusClass, status_class
from gossamer.model.outcome import Failed, Failure, Response
from gossamer.model.units import Instant, Origin, Seconds, Url
from gossamer.seed.search import NoAnswer, SearchAnswer

LONGEST_WAIT = Seconds(60.0)
"""Somebody is waiting for the command. A host that asks for a longer wait is reported as not answering."""

_NEVER = Instant(0.0)


class PoliteClient:
    """Fetches pages one at a time. Must not be used by several tasks at once."""

    def __init__(
        self,
        *,
        fetcher: Fetcher,
        resolver: Resolver,
        addresses: AddressPolicy,
        canonicaliser: Canonicaliser,
        hosts: HostSettingsTable,
        politeness: PolitenessPolicy,
        clock: Clock,
        robots_agent: str,
        max_redirects: int,
    ) -> None:
        self._fetcher = fetcher
        self._resolver = resolver
        self._addresses = addresses
        self._canonicaliser = canonicaliser
        self._hosts = hosts
        self._politeness = politeness
        self._clock = clock
        self._agent = robots_agent
        self._max_redirects = max_redirects
        self._robots: dict[Origin, RobotsAnswer] = {}
        self._not_before: dict[str, Instant] = {}  # of hosts and of addresses

    async def fetch(self, url: Url) -> SearchAnswer | NoAnswer:
        """Fetch a page; see `seed.search.Fetch`. Never raises for what the server does."""
        page = self._canonicaliser.canonicalise(url)
        for _ in range(self._max_redirects + 1):
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
            location = _target(outcome)
            if location is None:
                return SearchAnswer(outcome.status, payload(outcome).body, outcome.headers.get("content-type"))
            page = self._canonicaliser.canonicalise(location, page.url)
        return NoAnswer("too_many_redirects")

    async def wait_until_clear(self) -> None:
        """Wait until every contacted host may be contacted again: the crawl that follows does not know about them."""
        until = max(self._not_before.values(), default=_NEVER)
        await asyncio.sleep(max(0.0, min(until - self._clock.now(), LONGEST_WAIT)))

    async def _robots_of(self, page: Canonical) -> RobotsAnswer | NoAnswer:
        known = self._robots.get(page.origin)
        if known is not None:
            return known
        outcome = await self._request(parse_canonical(Url(page.origin + "/robots.txt"), page.host), None)
        for _ in range(MAX_REDIRECTS):
            if isinstance(outcome, NoAnswer) or (location := _target(outcome)) is None:
                break
            target = self._canonicaliser.canonicalise(location, outcome.url)
            if not isinstance(target, Canonical):
                break
            outcome = await self._request(target, None)
        if isinstance(outcome, NoAnswer):
            return outcome
        answer = rules_from_answer(
            outcome.status,
            payload(outcome).body,
            agent=self._agent,
            now=self._clock.now(),
            redirects_exhausted=status_class(outcome.status) is StatusClass.REDIRECT,
        )
        self._robots[page.origin] = answer
        return answer

    async def _request(self, page: Canonical, crawl_delay: Seconds | None) -> Response | NoAnswer:
        """Send one request, after the gap due since the last one."""
        settings = self._hosts.for_host(page.host)
        address = await self._address_of(page)
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
        begun = self._clock.monotonic()
        options = settings.options_for(page.origin, page.port)
        outcome = await self._fetcher.fetch(Request(page.url, page.host, page.port, address, options=options))
        now, took = self._clock.now(), Seconds(self._clock.monotonic() - begun)
        if not isinstance(outcome, Failed) or outcome.contacted:
            contact = Contact(now, took, crawl_delay, requested_wait(outcome, now), settings.min_delay)
            self._not_before[page.host] = next_contact(self._politeness, contact)
            self._not_before[address] = next_contact_of_address(self._politeness, contact)
        if isinstance(outcome, Failed):
            return NoAnswer(outcome.failure.value, outcome.detail)
        return outcome

    async def _address_of(self, page: Canonical) -> str | NoAnswer:
        """The address to dial; empty for a host behind a proxy, which resolves the name itself."""
        if self._hosts.for_host(page.host).proxied:
            return ""
        found = await self._resolver.resolve(page.host)
        if not isinstance(found, Addresses):
            return NoAnswer(found.failure.value, str(page.host))
        chosen = next((address for address in found.addresses if self._addresses.may_dial(address)), None)
        if chosen is None:
            return NoAnswer(Failure.BLOCKED_ADDRESS.value, ", ".join(found.addresses))
        return chosen


def _target(response: Response) -> str | None:
    """The target of a redirect; None for every other response."""
    redirected = status_class(response.status) is StatusClass.REDIRECT
    return location_of(response.headers) if redirected else None
