"""One visit: the rules, the address, robots.txt, the request, and the disposition of the response."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from gossamer.config.hosts import HostSettingsTable
from gossamer.config.overrides import HOST_DROPPED
from gossamer.crawl.document.admission import TOO_LONG, Admission
from gossamer.crawl.trap_accounts import TrapAccounts
from gossamer.crawl.visit.disposition import Disposition, FailureScope
from gossamer.crawl.visit.host_context import PAUSED_LOOK, HostContext, HostContexts, HostHealth, is_current
from gossamer.crawl.visit.request import Requester, Route
from gossamer.crawl.visit.robots import RobotsFetcher
from gossamer.crawl.visit.settle import CrawlState, Settler
from gossamer.crawl.visit.sitemap_guess import SitemapGuesser
from gossamer.extract.content_types import UNWANTED_TYPE
from gossamer.fetch.dns.resolver import ResolveLater
from gossamer.fetch.http.headers import location_of, requested_wait
from gossamer.fetch.robots import RobotsAnswer, path_of
from gossamer.filter.canonical import Canonical, Refusal, parse_canonical
from gossamer.frontier.retries import RETRY_RULES, SERVER_ERROR, RetryRule, StatusClass, status_class
from gossamer.model.formats import abbreviated, long_link
from gossamer.model.outcome import Failed, Failure, Response, Truncation
from gossamer.model.settlement import Document
from gossamer.model.states import UrlState
from gossamer.model.task import Candidate, Visit
from gossamer.model.units import Fingerprint, Instant, Seconds
from gossamer.recrawl.planner import RecrawlPlanner

# Looking up a member costs as much as a call, and these are used after every request.
_DOCUMENT, _REDIRECT, _RETRY = StatusClass.DOCUMENT, StatusClass.REDIRECT, StatusClass.RETRY
_RATE_LIMITED, _DISCONNECT, _QUEUED = StatusClass.RATE_LIMITED, Truncation.DISCONNECT, UrlState.QUEUED
_OWN = FailureScope.OWN

_MAX_DETAIL = 200  # characters of a header field that are kept


@dataclass(frozen=True, slots=True)
class VisitLimits:
    max_redirects: int = 10
    max_per_domain: int | None = None
    max_crawl_delay: Seconds = Seconds(3600.0)
    revisits: bool = True  # write a record for every page that has not changed


@dataclass(frozen=True, slots=True)
class VisitRules:
    """What decides whether a URL may be visited, and how."""

    limits: VisitLimits
    admission: Admission
    hosts: HostSettingsTable
    trap_accounts: TrapAccounts | None


@dataclass(frozen=True, slots=True)
class VisitOutcomes:
    """What receives the outcome of a visit."""

    disposition: Disposition
    planner: RecrawlPlanner
    settler: Settler
    on_document: Callable[[Document], None]


class Visitor:
    """Performs visits. Its only state are the limits in force; decisions are pure functions of other modules."""

    def __init__(
        self,
        state: CrawlState,
        host_contexts: HostContexts,
        health: HostHealth,
        requester: Requester,
        robots_fetcher: RobotsFetcher,
        guesser: SitemapGuesser,
        *,
        rules: VisitRules,
        outcomes: VisitOutcomes,
        redirects_to: Callable[[int, int], Awaitable[list[Fingerprint]]],
    ) -> None:
        """`redirects_to` returns the URLs whose redirects led to a URL, as `TaskSource` does."""
        self._frontier = state.frontier
        self._store = state.store
        self._counters = state.counters
        self._clock = state.clock
        self._host_contexts = host_contexts
        self._health = health
        self._requester = requester
        self._robots_fetcher = robots_fetcher
        self._guesser = guesser
        self._limits = rules.limits
        self._admission = rules.admission
        self._hosts = rules.hosts
        self._overrides = rules.hosts.overrides
        self._trap_accounts = rules.trap_accounts
        self._disposition = outcomes.disposition
        self._planner = outcomes.planner
        self._settle = outcomes.settler.settle
        self._on_document = outcomes.on_document
        self._redirects_to = redirects_to

    def change_limits(self, limits: VisitLimits) -> None:
        self._limits = limits

    async def visit(self, visit: Visit) -> None:
        """Perform a visit: it ends with a settlement, a document, or the URL back in its queue."""
        host_id, host, task = visit.host_id, visit.host, visit.task
        context = self._host_contexts[host_id]
        overrides = self._overrides
        if (overrides.paused or overrides.dropped) and self._hold_back(visit, context):
            return
        reason = self._admission.rules_of(task).may_enter(task.url, host, task.depth)
        if reason is not None:  # the rules have changed since it was admitted
            self._exclude(visit, reason)
            return
        accounts = self._trap_accounts
        if accounts is not None and (cut := accounts.cut_for(visit)) is not None:
            self._exclude(visit, cut.reason, cut.detail)
            return
        if self._exclude_over_limit(visit):
            return
        now = self._clock.now()
        if context.trouble is not None and self._health.is_given_up(context, now):
            self._give_up(visit, context.trouble.reason, now)
            return
        canonical = parse_canonical(task.url, host)
        origin = canonical.origin
        if context.hops and (hop := context.hops.get(origin)) is not None and hop.host != host:
            reason = await self._robots_fetcher.fetch_redirected(visit, context, origin, hop)
            if reason is not None:
                self._settle(visit, self._disposition.give_up(host_id, task, reason, self._clock.now()))
            return
        route = await self._requester.route_to(host, visit.address)
        now = self._clock.now()
        if isinstance(route, ResolveLater) and not route.blames_host:  # nor is the URL to blame
            self._frontier.delay(host_id, route.until)
            self._frontier.finish(visit, None, now, again=True)
        elif isinstance(route, Failed):
            self._on_no_route(visit, context, route, now)
        elif self._frontier.enter_address(visit, route.address, now):  # otherwise the URL is back in its queue
            answer = context.robots.get(origin)
            if answer is None or not is_current(answer, now):
                reason = await self._robots_fetcher.fetch(visit, context, origin, route)
                if reason is not None:
                    self._settle(visit, self._disposition.give_up(host_id, task, reason, self._clock.now()))
            elif answer.closed:
                # The rules are unknown until the next request for robots.txt: all URLs of the host wait.
                self._frontier.delay(host_id, answer.expires_at)
                self._frontier.finish(visit, None, now, again=True)
            else:
                await self._fetch_page(visit, context, canonical, route, answer, now)

    def _hold_back(self, visit: Visit, context: HostContext) -> bool:
        """Whether the host is paused or dropped; then the visit is over."""
        if visit.host in self._overrides.dropped:
            self._exclude(visit, HOST_DROPPED)
            return True
        if visit.host in self._overrides.paused:
            context.held_at = now = self._clock.now()
            self._frontier.delay(visit.host_id, Instant(now + PAUSED_LOOK))
            self._frontier.finish(visit, None, now, again=True)
            return True
        return False

    def _exclude_over_limit(self, visit: Visit) -> bool:
        """Exclude the URL if its domain has used up its page requests. Returns whether it did."""
        cap = self._limits.max_per_domain
        if cap is None or self._frontier.domains[visit.domain_id].visits < cap:
            return False
        self._exclude(visit, "domain_limit", f"{cap} page requests to its domain")
        return True

    # --- pages -----------------------------------------------------------------------------------

    async def _fetch_page(
        self, visit: Visit, context: HostContext, page: Canonical, route: Route, answer: RobotsAnswer, now: Instant
    ) -> None:
        assert answer.rules is not None
        verdict = answer.verdict(path_of(page.url))
        if not verdict.allowed:
            line = f"line {verdict.line_number}: {verdict.line}" if verdict.line else None
            self._exclude(visit, "robots_denied", line)
            return
        crawl_delay = answer.rules.crawl_delay
        if crawl_delay is not None and crawl_delay > self._limits.max_crawl_delay:
            self._exclude(visit, "crawl_delay_too_long", f"Crawl-delay: {crawl_delay:g}")
            return
        if self._exclude_over_limit(visit):  # other hosts of the domain may have used it up during the lookup
            return
        if (guess := self._guesser.due(visit, context, page.origin, answer, now)) is not None:
            await self._guesser.request(visit, context, page.origin, guess, route, crawl_delay)
            return
        self._frontier.count_visit(visit)
        self._store.batch.page_requests[visit.domain_id] += 1
        wants = None if visit.task.sitemap else self._hosts.for_host(visit.host).wants
        requester = self._requester
        conditions = self._planner.conditions(visit) if visit.task.previous is not None else ()
        outcome = await requester.send(
            visit.host_id, visit.host, visit.last_took, route, page.url, page.origin, wants, headers=conditions
        )
        now = self._clock.now()
        if requester.try_other_address(visit.host, route, outcome, now):
            self._frontier.count_visit(visit, -1)
            self._store.batch.page_requests[visit.domain_id] -= 1
            requester.finish_unreached(visit, route, now)
            return
        wait = requested_wait(outcome, now)
        if isinstance(outcome, Failed):
            host_verdict = self._judge(visit, context, outcome.failure.value, now, RETRY_RULES[outcome.failure])
            requester.finish(visit, context, route, outcome, now, crawl_delay, wait)
            self._settle(
                visit,
                self._disposition.on_failure(visit.host_id, visit.task, outcome, now, host_verdict),
                requested=True,
            )
            return
        kind = status_class(outcome.status)
        host_verdict = _OWN
        if kind is _RETRY:
            host_verdict = self._judge(visit, context, "server_error", now, SERVER_ERROR)
        elif kind is not _RATE_LIMITED:
            context.trouble = None
        requester.finish(visit, context, route, outcome, now, crawl_delay, wait)
        self._counters.count(self._store.batch, "fetched")
        self._counters.count(self._store.batch, "bytes", len(outcome.head) + len(outcome.wire_body))
        self._counters.count(self._store.batch, f"status:{outcome.status // 100}xx")
        context.rate_limited = context.rate_limited + 1 if kind is _RATE_LIMITED else 0
        if (
            kind is _DOCUMENT
            and not outcome.wire_body  # of an unwanted type, it was not read
            and wants is not None
            and wants.judge_head(outcome.status, outcome.headers) is False
        ):
            declared = outcome.headers.get("content-type", "")[:_MAX_DETAIL]
            unwanted = self._disposition.exclude(visit.host_id, visit.task, UNWANTED_TYPE, now, declared)
            self._settle(visit, unwanted._replace(status=outcome.status, took=outcome.took), requested=True)
        elif kind is _DOCUMENT:
            if outcome.truncated is not _DISCONNECT or not self._retry_truncated(visit, outcome, now):
                self._on_document(Document(visit, outcome, now))
        elif kind is _REDIRECT:
            await self._redirect(visit, outcome, now)
        elif kind is StatusClass.NOT_MODIFIED and visit.task.previous is not None:
            self._counters.count(self._store.batch, "not_modified")
            kept = self._planner.settle_not_modified(visit, outcome, now, self._limits.revisits)
            self._settle(visit, kept, counted=True, requested=True)
        else:
            settlement = self._disposition.on_bad_status(
                visit.host_id, visit.task, outcome, wait, context.rate_limited, now, host_verdict
            )
            self._settle(visit, settlement, requested=True)

    def _retry_truncated(self, visit: Visit, response: Response, now: Instant) -> bool:
        """Whether a truncated body gets another attempt. After the last one, the part that arrived is kept."""
        cut = Failed(Failure.INCOMPLETE_BODY, f"{len(response.wire_body)} bytes", response.took, contacted=True)
        settlement = self._disposition.on_failure(visit.host_id, visit.task, cut, now, FailureScope.OWN)
        if settlement.state is _QUEUED:
            self._settle(visit, settlement, requested=True)
        return settlement.state is _QUEUED

    async def _redirect(self, visit: Visit, response: Response, now: Instant) -> None:
        location = location_of(response.headers)
        if location is None:  # then its body is the document
            self._on_document(Document(visit, response, now, "redirect_no_location"))
            return
        target = self._admission.admit_redirect(visit.task, location)
        if isinstance(target, Refusal):
            reason = "redirect_bad_scheme" if target.reason == "bad_scheme" else target.reason
            self._counters.count(self._store.batch, "excluded:" + reason)
            settlement = self._disposition.on_redirect(visit.host_id, visit.task, response, target.shown, now, reason)
            if reason == TOO_LONG:
                settlement = settlement._replace(
                    redirect_to=abbreviated(target.shown), long_links=(long_link(location),)
                )
            self._settle(visit, settlement, counted=True, requested=True)
        elif target.url == visit.task.url or await self._came_from(visit, target):
            self._settle(
                visit,
                self._disposition.give_up(visit.host_id, visit.task, "redirect_loop", now, response, target.url),
                requested=True,
            )
        elif visit.task.hops >= self._limits.max_redirects:
            self._settle(
                visit,
                self._disposition.give_up(visit.host_id, visit.task, "too_many_redirects", now, response, target.url),
                requested=True,
            )
        else:
            batch = self._store.batch
            if isinstance(target, Candidate):
                batch.candidates.append(target)
            if self._trap_accounts is not None:
                self._trap_accounts.on_redirect(visit, target.url, target.host, isinstance(target, Candidate))
            if (link := self._admission.redirect_link(visit, target)) is not None:
                batch.links.append(link)
            self._settle(
                visit,
                self._disposition.on_redirect(visit.host_id, visit.task, response, target.url, now),
                requested=True,
            )

    async def _came_from(self, visit: Visit, target: Candidate | Canonical) -> bool:
        """Whether a redirect of the target led here."""
        if isinstance(target, Candidate) or visit.task.hops == 0:
            return False
        return self._admission.fingerprint_of(target.url, target.host) in await self._redirects_to(
            visit.task.url_id, self._limits.max_redirects
        )

    # --- endings ---------------------------------------------------------------------------------

    def _on_no_route(self, visit: Visit, context: HostContext, failed: Failed, now: Instant) -> None:
        """The host was not contacted: its name does not resolve, or not to an address that may be dialled."""
        if failed.failure is Failure.BLOCKED_ADDRESS:
            self._exclude(visit, Failure.BLOCKED_ADDRESS.value, failed.detail)
            return
        host_verdict = self._judge(visit, context, failed.failure.value, now, RETRY_RULES[failed.failure])
        until = self._frontier.finish(visit, None, now)
        self._requester.record_failures(visit, context, until)
        self._settle(visit, self._disposition.on_failure(visit.host_id, visit.task, failed, now, host_verdict))

    def _judge(
        self, visit: Visit, context: HostContext, reason: str, now: Instant, rule: RetryRule
    ) -> FailureScope | Instant:
        """Record a failure of the host, and return what it means for the URL: its own attempts decide, it is given up
        with its host, or it waits until the returned time, and so does the host."""
        if not rule.blames_host:
            return FailureScope.OWN
        unreached = not rule.costs_try
        # A URL that fails repeatedly says more about itself than about its host.
        counts = unreached or visit.task.tries == 0 or self._health.is_open(context)
        if counts and self._health.record_failure(context, reason, now, unreached=unreached):
            return FailureScope.GIVEN_UP
        if context.trouble is None or not (unreached or self._health.is_open(context)):
            return FailureScope.OWN
        self._frontier.delay(visit.host_id, context.trouble.until)
        return context.trouble.until

    def _give_up(self, visit: Visit, reason: str, now: Instant) -> None:
        """Settle a URL as dead because its host is given up."""
        self._frontier.finish(visit, None, now)
        self._settle(visit, self._disposition.give_up(visit.host_id, visit.task, reason, now))

    def _exclude(self, visit: Visit, reason: str, detail: str | None = None) -> None:
        now = self._clock.now()
        self._frontier.finish(visit, None, now)
        self._settle(visit, self._disposition.exclude(visit.host_id, visit.task, reason, now, detail))
