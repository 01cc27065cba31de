"""Fetching robots.txt, from the host itself or from where it is redirected to (RFC 9309, 2.3.1.2).

Each request is a contact. So one visit makes one request and its URL returns to its queue; the next visit follows the
next redirect, or requests the page.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from gossamer.crawl.visit.host_context import Hop, HostContext, HostContexts, HostHealth
from gossamer.crawl.visit.request import Requester, Route
from gossamer.crawl.visit.settle import CrawlState
from gossamer.fetch.dns.resolver import ResolveLater
from gossamer.fetch.http.body import Payload, payload
from gossamer.fetch.http.headers import location_of, requested_wait
from gossamer.fetch.robots import MAX_REDIRECTS, RobotsAnswer, RobotsPolicy, max_age_of, rules_from_answer
from gossamer.filter.canonical import Canonical, Canonicaliser
from gossamer.frontier.breaker import HostFailures
from gossamer.frontier.cross_host import ASK_AGAIN
from gossamer.frontier.decisions import WaitUntil
from gossamer.frontier.retries import RETRY_RULES, StatusClass, status_class
from gossamer.model.batch import RobotsRecord
from gossamer.model.loads import HostLoaded
from gossamer.model.outcome import Failed, Failure, FetchOutcome, Response, Truncation
from gossamer.model.task import Visit
from gossamer.model.units import HostId, HostKey, Instant, Origin, Seconds, Url

UNREACHABLE = "robots_unreachable"
_KEPT_BYTES = 512_000
_NO_ROW = 1 << 62  # journal numbers of hosts that have no row


class HostHolds(Protocol):
    """Contacts of hosts that other workers own (`crawl.member.host_holds`)."""

    def owns_host(self, host: HostKey) -> bool: ...

    async def obtain(self, host: HostKey) -> bool:
        """Whether a host may be contacted now: it is this worker's, or its owner leaves it alone. If not, ask again."""
        ...

    def may_start(self, host: HostKey) -> bool:
        """The same, for a request that starts in this turn of the loop."""
        ...

    def give_back(self, host: HostKey, rest: Seconds) -> None:
        """The contact has ended, and requires this rest."""
        ...


@dataclass(frozen=True, slots=True)
class RobotsSettings:
    """How robots.txt is requested and read."""

    agent: str  # the product token that its groups are matched with
    policy: RobotsPolicy
    max_crawl_delay: Seconds  # hosts that ask for a longer Crawl-delay are not crawled


class RobotsFetcher:
    """Requests robots.txt and keeps the rules in the host context and in the store."""

    def __init__(
        self,
        state: CrawlState,
        host_contexts: HostContexts,
        health: HostHealth,
        requester: Requester,
        *,
        canonicaliser: Canonicaliser,
        settings: RobotsSettings,
        find_host: Callable[[HostKey], Awaitable[HostLoaded | None]],
        on_sitemaps: Callable[[Visit, Origin, Sequence[str]], None] = lambda visit, origin, lines: None,
        holds: HostHolds | None = None,
    ) -> None:
        """`on_sitemaps` is called with the `Sitemap:` lines of every file that is parsed. `holds`: where workers share
        the crawl."""
        self._frontier = state.frontier
        self._host_contexts = host_contexts
        self._requester = requester
        self._health = health
        self._store = state.store
        self._counters = state.counters
        self._canonicaliser = canonicaliser
        self._clock = state.clock
        self._agent, self._policy = settings.agent, settings.policy
        self._max_crawl_delay = settings.max_crawl_delay
        self._find_host = find_host
        self._on_sitemaps = on_sitemaps
        self._holds = holds

    async def fetch(self, visit: Visit, context: HostContext, origin: Origin, route: Route) -> str | None:
        """Request it from the host of the visit. Returns None if the URL is back in its queue, or the reason for which
        the host is given up; then the visit is over, and the caller settles its URL."""
        hop = context.hops.pop(origin, None) or Hop(Url(origin + "/robots.txt"), origin, visit.host, 0)
        outcome = await self._requester.send_robots_request(
            visit.host_id, visit.host, visit.last_took, route, hop.url, hop.origin
        )
        now = self._clock.now()
        self._counters.count(self._store.batch, "robots_fetched")
        if self._requester.try_other_address(visit.host, route, outcome, now):
            context.hops[origin] = hop
            self._requester.finish_unreached(visit, route, now)
            return None
        wait = requested_wait(outcome, now)
        if self._follow_redirect(context, origin, hop, outcome):
            self._requester.finish(visit, context, route, outcome, now, None, wait, again=True)
            return None
        given_up = self._conclude(visit, context, origin, outcome, now, own=True)
        answer = context.robots[origin]
        delay = answer.rules.crawl_delay if answer.rules is not None else None
        if delay is not None and delay > self._max_crawl_delay:
            delay = None  # nothing of the host is fetched, so its URLs need not wait to be excluded
        self._requester.finish(visit, context, route, outcome, now, delay, wait, again=given_up is None)
        return given_up

    async def fetch_redirected(self, visit: Visit, context: HostContext, origin: Origin, hop: Hop) -> str | None:
        """Request it from the other host that it was redirected to; returns as `fetch`. That needs no rules, but the
        gaps of that host and its address, and an address that may be dialled."""
        holds = self._holds
        if holds is not None and not await holds.obtain(hop.host):
            self._postpone(visit, Instant(self._clock.now() + ASK_AGAIN))
            return None
        row = await self._find_host(hop.host)
        route = await self._requester.route_to(hop.host, visit.address)
        now = self._clock.now()
        if holds is not None and not holds.may_start(hop.host):
            self._postpone(visit, Instant(now + ASK_AGAIN))
            return None
        if isinstance(route, ResolveLater) and not route.blames_host:
            self._postpone(visit, route.until)
            return None
        if isinstance(route, Failed):
            return self._on_unreachable(visit, context, origin, route, now)
        record = row.record if row is not None else None
        known = (None, Instant(0.0), 0.0) if record is None else (record.host_id, record.next_contact, record.last_took)
        # The date of a host that its owner holds is the end of the hold.
        rests_until = known[1] if holds is None or holds.owns_host(hop.host) else Instant(0.0)
        turn = self._frontier.cross_host.begin(visit, hop.host, known[0], rests_until, route.address, now)
        if isinstance(turn, WaitUntil):
            self._postpone(visit, turn.when)
            return None
        if not turn:
            return None  # its address is busy; the URL is back in its queue
        outcome = await self._fetch_from_other_host(visit, hop, known[0], known[2], route, row)
        now = self._clock.now()
        del context.hops[origin]
        if self._requester.try_other_address(hop.host, route, outcome, now):
            context.hops[origin] = hop
        elif not self._follow_redirect(context, origin, hop, outcome):
            given_up = self._conclude(visit, context, origin, outcome, now, own=False)
            self._frontier.finish(visit, None, now, again=given_up is None)
            return given_up
        self._frontier.finish(visit, None, now, again=True)
        return None

    async def _fetch_from_other_host(
        self, visit: Visit, hop: Hop, host_id: HostId | None, last_took: float, route: Route, row: HostLoaded | None
    ) -> FetchOutcome:
        # A host without a row is recorded under a number that no row has: after a crash at least the contact of its
        # address is known.
        number = host_id if host_id is not None else HostId(_NO_ROW | visit.host_id)
        outcome = await self._requester.send_robots_request(number, hop.host, last_took, route, hop.url, hop.origin)
        now = self._clock.now()
        self._counters.count(self._store.batch, "robots_fetched")
        delay = self._host_contexts.longest_crawl_delay(row.robots) if row is not None else None
        contact = self._requester.contact_ended(number, hop.host, outcome, now, delay, requested_wait(outcome, now))
        until = self._frontier.cross_host.end(visit, hop.host, contact, now)
        self._requester.record_end(number, hop.host, route, contact, until, None)
        if self._holds is not None:
            self._holds.give_back(hop.host, Seconds(max(0.0, until - now)))
        return outcome

    def _postpone(self, visit: Visit, until: Instant) -> None:
        self._frontier.delay(visit.host_id, until)
        self._frontier.finish(visit, None, self._clock.now(), again=True)

    def _follow_redirect(self, context: HostContext, origin: Origin, hop: Hop, outcome: FetchOutcome) -> bool:
        """Whether to follow a redirect; then its target is kept in the context."""
        target = redirect_of_robots(outcome, hop.url, hop.number, self._canonicaliser)
        if target is None:
            return False
        context.hops[origin] = Hop(target.url, target.origin, target.host, hop.number + 1)
        return True

    def _on_unreachable(
        self, visit: Visit, context: HostContext, origin: Origin, failed: Failed, now: Instant
    ) -> str | None:
        """The other host cannot be reached; the next attempt starts at the host itself."""
        del context.hops[origin]
        given_up = self._conclude(visit, context, origin, failed, now, own=False)
        self._frontier.finish(visit, None, now, again=given_up is None)
        return given_up

    def _conclude(
        self, visit: Visit, context: HostContext, origin: Origin, outcome: FetchOutcome, now: Instant, *, own: bool
    ) -> str | None:
        """Keep the rules that the last response means. `own`: it came from the host itself. Returns the reason if the
        host is given up."""
        if isinstance(outcome, Failed):
            self._counters.count(self._store.batch, "error:" + outcome.failure.value)
        wait = requested_wait(outcome, now)
        answer, body = answer_of(outcome, wait, now, self._agent, context.robots.get(origin), self._policy)
        given_up = False
        if answer.unreachable_since is None:
            context.trouble = None
        elif answer.closed and own and isinstance(outcome, Failed) and _is_hopeless(outcome.failure, context.trouble):
            given_up = True
            self._health.give_up_now(context, outcome.failure.value, now)
            answer = replace(answer, expires_at=now)
        else:
            never = (
                own and isinstance(outcome, Failed) and all(known.rules is None for known in context.robots.values())
            )
            given_up = self._health.record_failure(
                context, self._reason(outcome), now, unreached=True, asked=wait, unanswered=never
            )
            assert context.trouble is not None
            if not given_up and (answer.closed or isinstance(outcome, Failed)):
                self._frontier.delay(visit.host_id, context.trouble.until)
            answer = replace(answer, expires_at=self._retry_at(answer, context.trouble.until))
        context.robots[origin] = answer
        if answer.unreachable_since is None and answer.rules is not None:
            self._on_sitemaps(visit, origin, answer.rules.sitemaps)
        self._store.batch.robots.append(
            RobotsRecord(
                origin,
                visit.host_id,
                outcome.status if isinstance(outcome, Response) and answer.unreachable_since is None else None,
                now,
                answer.expires_at,
                body[:_KEPT_BYTES] if answer.unreachable_since is None else b"",
                answer.unreachable_since,
            )
        )
        return context.trouble.reason if given_up and answer.closed and context.trouble is not None else None

    @staticmethod
    def _reason(outcome: FetchOutcome) -> str:
        """The reason for which a file could not be fetched."""
        refused = isinstance(outcome, Failed) and outcome.failure is Failure.TLS_PROTOCOL
        return Failure.TLS_PROTOCOL.value if refused else UNREACHABLE

    def _retry_at(self, answer: RobotsAnswer, until: Instant) -> Instant:
        """When to request the file again: after the rest of the host, but old rules expire no later than usual."""
        if answer.closed:
            return until
        return min(until, Instant(answer.fetched_at + self._policy.longest_kept))


def redirect_of_robots(
    outcome: FetchOutcome, url: Url, followed: int, canonicaliser: Canonicaliser
) -> Canonical | None:
    """Where a robots.txt, requested at `url` after `followed` redirects, is to be requested next; None if this response
    decides."""
    if not isinstance(outcome, Response) or status_class(outcome.status) is not StatusClass.REDIRECT:
        return None
    location = location_of(outcome.headers)
    if location is None or followed >= MAX_REDIRECTS:
        return None
    target = canonicaliser.canonicalise(location, url)
    return target if isinstance(target, Canonical) and target.url.startswith("http") else None


def answer_of(
    outcome: FetchOutcome,
    wait: Seconds | None,
    now: Instant,
    agent: str,
    previous: RobotsAnswer | None,
    policy: RobotsPolicy,
) -> tuple[RobotsAnswer, bytes]:
    """What the last response to a request for robots.txt means, and its body. `wait`: its Retry-After.

    A file that arrived in part only, or cannot be decoded, has not been received: its rules are unknown.
    """
    status, body, max_age, truncated = None, b"", None, False
    if isinstance(outcome, Response):
        received = payload(outcome)
        status, body, truncated = outcome.status, received.body, received.truncated is not None
        if 200 <= status < 300 and not _is_usable(received):
            status, body = None, b""
        max_age = max_age_of(outcome.headers.get("cache-control", ""))
    answer = rules_from_answer(
        status,
        body,
        agent=agent,
        now=now,
        truncated=truncated,
        max_age=max_age,
        retry_after=wait,
        redirects_exhausted=status is not None and status_class(status) is StatusClass.REDIRECT,
        previous=previous,
        policy=policy,
    )
    return answer, body


def _is_usable(received: Payload) -> bool:
    """Whether this is the whole file, or its beginning up to the size that is parsed. A declared coding that the file
    does not have is ignored."""
    if received.truncated not in (None, Truncation.LENGTH):
        return False
    return not received.bad_encoding or b"user-agent" in received.body.lower()


def _is_hopeless(failure: Failure, before: HostFailures | None) -> bool:
    """Whether another request would fail in the same way. A server that refuses TLS gets two: all its URLs would fail
    like its robots.txt."""
    if failure is Failure.TLS_PROTOCOL:
        return before is not None and before.reason == failure.value
    return RETRY_RULES[failure].max_tries == 1
