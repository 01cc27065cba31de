"""One request to a host: address, contact journal, politeness audit, and the end of the contact."""

import asyncio
from collections.abc import Coroutine
from typing import Any, NamedTuple, Protocol

from gossamer.config.hosts import HostSettingsTable
from gossamer.crawl.observers import CrawlObserver
from gossamer.crawl.visit.host_context import HostContext
from gossamer.crawl.visit.settle import CrawlState
from gossamer.fetch.dns.address_choice import UNREACHABLE_FAILURES, AddressChoice
from gossamer.fetch.dns.cache import Addresses, StoredAnswer
from gossamer.fetch.dns.resolver import ResolveLater, Resolver
from gossamer.fetch.http.proxies import Proxies
from gossamer.fetch.ports import Fetcher, Request, WantedBodies
from gossamer.frontier.politeness import Contact, PolitenessPolicy, gap_after
from gossamer.model.batch import Batch, Committed, HostClock
from gossamer.model.outcome import Failed, Failure, FetchOutcome
from gossamer.model.task import Visit
from gossamer.model.units import HostId, HostKey, Instant, Origin, Seconds, Url
from gossamer.observe.audit import PolitenessAudit
from gossamer.store.ports import ContactJournal

ROBOTS_TIMEOUT = Seconds(20.0)
"""Seconds for the whole exchange of a robots.txt."""
LOOK_UP_PATIENCE = Seconds(0.3)
"""Seconds that a visit waits for a name server. Most answer at once; a silent one must not block the slots."""
LOOK_AGAIN = Seconds(0.5)
"""Seconds until the visit comes back to look for the answer in the cache."""
ROBOTS_BYTES = 512_000 + 65_536
"""Bytes of a robots.txt that are read: what is parsed, and room for its transfer coding."""
_DEFAULT_PORTS = {"http": 80, "https": 443, "ftp": 21}


class Route(NamedTuple):
    """The addresses of a host and the one to dial. Behind a proxy no address is known (`found` is None); then `address`
    is a name that is unique to the host and is never dialled."""

    found: Addresses | None
    address: str


class ContactPermit(Protocol):
    """Whether hosts may be contacted, where workers share a crawl (`cluster.lease`)."""

    async def wait_for_permit(self) -> None:
        """Wait until a contact may start, which must then start in the same turn of the loop."""
        ...

    async def send(self, sending: Coroutine[Any, Any, FetchOutcome]) -> FetchOutcome:
        """Await a request, which is cut off when the permit ends."""
        ...


class Requester(CrawlObserver):
    """Sends requests. `open_contacts` are those on the wire, by host, as the contact journal needs them: when each
    started, how long the host took the last time, and the address.

    Contacts are not visits: a visit has none while it looks for its address, and the host of a contact need not be that
    of its visit (`frontier.cross_host`).
    """

    def __init__(
        self,
        state: CrawlState,
        *,
        resolver: Resolver,
        address_choice: AddressChoice,
        fetcher: Fetcher,
        journal: ContactJournal,
        audit: PolitenessAudit,
        politeness: PolitenessPolicy,
        hosts: HostSettingsTable,
        permit: ContactPermit | None = None,
    ) -> None:
        self._permit = permit
        self._frontier = state.frontier
        self._resolver = resolver
        self._address_choice = address_choice
        self._fetcher = fetcher
        self._journal = journal
        self._audit = audit
        self._store = state.store
        self._politeness = politeness
        self._clock = state.clock
        self._hosts = hosts
        self._counters = state.counters
        self._proxies = Proxies()
        self.open_contacts: dict[HostId, tuple[Instant, float, str]] = {}
        self.slowest: dict[str, float] = {}  # the slowest hosts, with the seconds of their last response

    @property
    def proxy_failing(self) -> bool:
        """Whether visits wait for a proxy that is down."""
        return self._proxies.failing

    def before_commit(self, batch: Batch, now: Instant) -> None:
        """Every contact that has ended is in the batch; the next file of the journal starts with those in flight."""
        self._journal.turn_over([(host_id, *contact) for host_id, contact in self.open_contacts.items()])

    def committed(self, committed: Committed) -> None:
        self._journal.forget()

    # --- route ---------------------------------------------------------------------------------------

    async def route_to(self, host: HostKey, last: str | None) -> Route | Failed:
        """The route to a host that was last reached at `last`, or why there is none. A request must be sent in the same
        turn of the loop."""
        route = await self._find_route(host, last)
        if self._permit is not None:
            await self._permit.wait_for_permit()
        return route

    async def _find_route(self, host: HostKey, last: str | None) -> Route | Failed:
        proxy = self._hosts.for_host(host).options.proxy
        if proxy is not None:
            until = self._proxies.wait_for(proxy, self._clock.now())
            if until is not None:
                return ResolveLater(Failure.PROXY_FAILED, "its proxy is down", Seconds(0.0), False, until)
            return Route(None, f"proxy:{host}")
        found = self._resolver.cached(host) or await self._look_up(host)
        if isinstance(found, Failed):
            return found
        address = self._address_choice.choose(found, last, self._clock.now())
        if address is None:
            return Failed(Failure.BLOCKED_ADDRESS, ", ".join(found.addresses), Seconds(0.0), contacted=False)
        return Route(found, address)

    async def _look_up(self, host: HostKey) -> Addresses | Failed:
        """The addresses of a host, or why there are none; `ResolveLater` if the answer is not there within
        `LOOK_UP_PATIENCE`. The lookup then goes on in the background."""
        if not self._resolver.is_resolving(host):
            try:
                async with asyncio.timeout(LOOK_UP_PATIENCE):
                    return await self._resolver.resolve(host)
            except TimeoutError:
                pass
        later = Instant(self._clock.now() + LOOK_AGAIN)
        return ResolveLater(Failure.DNS_TIMEOUT, f"{host} is being looked up", LOOK_UP_PATIENCE, False, later)

    # --- request and response ------------------------------------------------------------------------

    def send(
        self,
        host_id: HostId,
        host: HostKey,
        last_took: float,
        route: Route,
        url: Url,
        origin: Origin,
        wants: WantedBodies | None = None,
        body_bytes: int | None = None,
        headers: tuple[tuple[str, str], ...] = (),
    ) -> Coroutine[Any, Any, FetchOutcome]:
        """Record a contact and send its request; to be awaited at once. The caller must report its end in the same turn
        of the loop: with `finish`, `finish_unreached`, or `record_end` for a cross-host request."""
        started = self._clock.now()
        address = route.address
        self.open_contacts[host_id] = (started, last_took, address)
        self._journal.started(host_id, started, last_took, address)
        self._audit.on_request_start(host, address, started)
        settings, port = self._hosts.for_host(host), port_of(origin)
        options = settings.options if settings.elsewhere is None else settings.options_for(origin, port)
        patience = None
        if route.found is None:
            address = ""  # the name that replaces it is never dialled
        else:
            patience = self._address_choice.connect_timeout(route.found, address, started)
        sending = self._fetcher.fetch(Request(url, host, port, address, headers, options, wants, patience, body_bytes))
        return sending if self._permit is None else self._permit.send(sending)

    async def send_robots_request(
        self,
        host_id: HostId,
        host: HostKey,
        last_took: float,
        route: Route,
        url: Url,
        origin: Origin,
        body_bytes: int = ROBOTS_BYTES,
    ) -> FetchOutcome:
        """The same for a robots.txt, or a guessed sitemap: with its own timeout, and no more bytes than are parsed."""
        return await within_robots_timeout(
            self.send(host_id, host, last_took, route, url, origin, body_bytes=body_bytes)
        )

    def try_other_address(self, host: HostKey, route: Route, outcome: FetchOutcome, now: Instant) -> bool:
        """Whether the visit is to be repeated because only its address failed and the host has others to dial, or
        because its proxy failed; then it waits for the proxy."""
        if route.found is None:
            proxy = self._hosts.for_host(host).options.proxy
            if proxy is None or not self._proxies.on_outcome(proxy, host, outcome, now):
                return False
            self._counters.count(self._store.batch, "error:" + Failure.PROXY_FAILED.value)
            return True
        if not (isinstance(outcome, Failed) and outcome.failure in UNREACHABLE_FAILURES):
            self._address_choice.on_reached(route.address)
            return False
        self._address_choice.on_unreachable(route.address, now)
        if self._address_choice.has_alternative(route.found, route.address, now):
            return True
        self._resolver.forget(host)  # it may have moved: resolve it again before the next attempt
        return False

    def finish_unreached(self, visit: Visit, route: Route, now: Instant) -> None:
        """End a visit without a connection: the host was not contacted, and the URL returns to its queue."""
        until = self._frontier.finish(visit, None, now, again=True)
        self._journal.finished(visit.host_id, until, visit.last_took, route.address)
        del self.open_contacts[visit.host_id]
        self._audit.on_request_end(visit.host, route.address, now, Seconds(0.0), contacted=False)

    def record_failures(self, visit: Visit, context: HostContext, until: Instant) -> None:
        """Store the failures of a host that was not contacted: it may lose its back queue before it is given up."""
        if context.trouble is not None:
            self._store.batch.hosts[visit.host_id] = HostClock(
                visit.host_id,
                until,
                visit.last_took,
                visit.address,
                context.rest_reason,
                failures=context.trouble.to_text(),
            )

    def contact_ended(
        self,
        host_id: HostId,
        host: HostKey,
        outcome: FetchOutcome,
        now: Instant,
        crawl_delay: Seconds | None,
        wait: Seconds | None,
    ) -> Contact:
        """The contact that has just ended, as the politeness rules need it."""
        if outcome.repeats:
            self._audit.on_repeats(host, outcome.repeats, now)
        took = time_taken(outcome, self.open_contacts[host_id][0], now)
        return Contact(now, took, crawl_delay, wait, self._hosts.for_host(host).min_delay)

    def finish(
        self,
        visit: Visit,
        context: HostContext,
        route: Route,
        outcome: FetchOutcome,
        now: Instant,
        crawl_delay: Seconds | None,
        wait: Seconds | None,
        *,
        again: bool = False,
    ) -> None:
        """End the contact of a visit. A rest longer than the gap (`Frontier.delay`) must have been set before."""
        contact = self.contact_ended(visit.host_id, visit.host, outcome, now, crawl_delay, wait)
        until = self._frontier.finish(visit, contact, now, again=again)
        self.record_end(visit.host_id, visit.host, route, contact, until, context)

    def record_end(
        self,
        host_id: HostId,
        host: HostKey,
        route: Route,
        contact: Contact,
        until: Instant,
        context: HostContext | None,
    ) -> None:
        """Record the end of a contact and the rest of its host `until` then. `context` is None if the host has none."""
        address, took = route.address, contact.took
        self._journal.finished(host_id, until, took, address)
        del self.open_contacts[host_id]
        self._audit.on_request_end(
            host,
            address,
            contact.finished,
            took,
            contact.crawl_delay,
            contact.retry_after,
            min_delay=contact.min_delay,
        )
        gap, term = gap_after(self._politeness, contact)
        reason, trouble = term.value, None
        if context is not None:
            trouble = context.trouble.to_text() if context.trouble is not None else ""
            if until > contact.finished + gap:
                reason = context.rest_reason
        self._store.batch.hosts[host_id] = HostClock(
            host_id, until, took, address, reason, _to_be_kept(route.found, context), trouble
        )
        self._store.nudge()
        self._keep_slowest(host, took)

    def _keep_slowest(self, host: str, took: float) -> None:
        slowest = self.slowest
        if len(slowest) >= 5 and host not in slowest:
            quickest = min(slowest, key=slowest.__getitem__)
            if slowest[quickest] >= took:
                return
            del slowest[quickest]
        slowest[host] = took


def _to_be_kept(found: Addresses | None, context: HostContext | None) -> str | None:
    """A DNS answer that is not in the store yet, as it is stored."""
    if found is None or found.stale or (context is not None and context.resolved_until == found.expires):
        return None
    if context is not None:
        context.resolved_until = found.expires
    return StoredAnswer(found.addresses, found.expires).to_text()


async def within_robots_timeout(sending: Coroutine[Any, Any, FetchOutcome]) -> FetchOutcome:
    """The outcome of a request for robots.txt."""
    try:
        async with asyncio.timeout(ROBOTS_TIMEOUT):
            return await sending
    except TimeoutError:
        return Failed(Failure.TOTAL_TIMEOUT, "robots.txt took too long", ROBOTS_TIMEOUT, contacted=True)


def time_taken(outcome: FetchOutcome, started: Instant, now: Instant) -> Seconds:
    """How long a host took, by our own clock from before the request was sent: a fetcher that does not count the time
    of connecting would make the gap, a multiple of it, too short."""
    return Seconds(max(outcome.took, now - started))


def port_of(origin: Origin) -> int:
    """The port of an origin."""
    authority = origin.partition("//")[2]
    port = authority.rpartition(":")[2] if not authority.endswith("]") else ""
    if port.isdigit() and ":" in authority:
        return int(port)
    return _DEFAULT_PORTS[origin.partition(":")[0]]
