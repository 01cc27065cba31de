"""One visit: address, robots.txt, fetch; then the answer goes to whom it concerns."""

from collections.abc import Callable
from dataclasses import dataclass

from gossamer.clock import Clock
from gossamer.crawl.hosts import HostWishes, Wants
from gossamer.crawl.intake import Intake
from gossamer.crawl.landing import Landing
from gossamer.crawl.notes import HostNotes, Notes, is_current
from gossamer.crawl.ports import Contacts
from gossamer.crawl.reading import Document
from gossamer.crawl.tally import Tally
from gossamer.extract.kinds import UNWANTED_TYPE
from gossamer.fetch.dns.cache import Addresses
from gossamer.fetch.dns.policy import AddressPolicy
from gossamer.fetch.dns.resolver import Resolver
from gossamer.fetch.http.body import payload
from gossamer.fetch.http.headers import retry_after
from gossamer.fetch.http.ports import Fetcher, Request
from gossamer.fetch.robots import RobotsAnswer, RobotsPolicy, max_age_of, path_of, rules_from_answer
from gossamer.filter.canonical import Canonical, Canonicaliser, Refusal, taken_apart
from gossamer.frontier.frontier import Frontier
from gossamer.frontier.politeness import Contact, PolitenessPolicy, gap_after
from gossamer.frontier.retries import StatusClass, status_class
from gossamer.frontier.turns import Visit
from gossamer.model.outcome import Failed, Failure, FetchOutcome, Response
from gossamer.model.states import UrlState
from gossamer.model.task import Candidate
from gossamer.model.units import HostId, HostKey, Instant, Origin, Seconds, Url
from gossamer.observe.audit import PolitenessAudit
from gossamer.store.changes import HostClock, RobotsRecord, Settlement
from gossamer.store.thread import StoreThread

MAX_ROBOTS_REDIRECTS = 5
_MAX_DETAIL = 200  # characters of a header field that are worth keeping
_DEFAULT_PORTS = {"http": 80, "https": 443, "ftp": 21}


@dataclass(frozen=True, slots=True)
class VisitLimits:
    max_redirects: int = 10
    max_per_domain: int | None = None
    max_crawl_delay: Seconds = Seconds(3600.0)
    max_robots_tries: int = 3


class Visitor:
    """Performs visits. Owns nothing but what is in flight; every decision is somebody else's pure function."""

    def __init__(
        self,
        *,
        frontier: Frontier,
        notes: Notes,
        resolver: Resolver,
        addresses: AddressPolicy,
        fetcher: Fetcher,
        journal: Contacts,
        audit: PolitenessAudit,
        store: StoreThread,
        tally: Tally,
        intake: Intake,
        canonicaliser: Canonicaliser,
        landing: Landing,
        politeness: PolitenessPolicy,
        clock: Clock,
        robots_agent: str,
        robots_policy: RobotsPolicy,
        limits: VisitLimits,
        hosts: HostWishes,
        on_document: Callable[[Document], None],
    ) -> None:
        self._frontier = frontier
        self._notes = notes
        self._resolver = resolver
        self._addresses = addresses
        self._fetcher = fetcher
        self._journal = journal
        self._audit = audit
        self._store = store
        self._tally = tally
        self._intake = intake
        self._canonicaliser = canonicaliser
        self._landing = landing
        self._politeness = politeness
        self._clock = clock
        self._agent = robots_agent
        self._robots_policy = robots_policy
        self._limits = limits
        self._hosts = hosts
        self._on_document = on_document
        self.open_contacts: dict[HostId, tuple[Instant, float, str]] = {}
        self.slowest: dict[str, float] = {}

    async def visit(self, visit: Visit) -> None:
        """See a visit through: to a settlement, a document, or back into its queue."""
        notes = self._notes[visit.host_id]
        reason = self._intake.rules.may_enter(visit.task.url, visit.host, visit.task.depth)
        if reason is not None:  # the rules were changed after it entered
            self._exclude(visit, reason)
            return
        if self._over_its_cap(visit):
            return
        if self._hosts.of(visit.host).proxied:
            address = _behind_proxy(visit.host)
        else:
            found = self._resolver.cached(visit.host) or await self._resolver.resolve(visit.host)
            if isinstance(found, Failed):
                self._no_contact(visit, notes, found)
                return
            chosen = self._choose(found, visit.address)
            if chosen is None:
                self._exclude(visit, Failure.BLOCKED_ADDRESS.value, ", ".join(found.addresses))
                return
            address = chosen
        now = self._clock.now()
        if not self._frontier.enter_address(visit, address, now):
            return  # its address is busy; the frontier has taken the visit back
        canonical = taken_apart(visit.task.url, visit.host)
        answer = notes.robots.get(canonical.origin)
        if answer is None or not is_current(answer, now):
            await self._ask_robots(visit, notes, canonical, address, answer)
        elif answer.closed:
            # Rules unknown until it is asked again: the host's URLs wait.
            self._frontier.delay(visit.host_id, answer.expires_at)
            self._frontier.finish(visit, None, now, again=True)
        else:
            await self._fetch_page(visit, notes, canonical, address, answer)

    def _over_its_cap(self, visit: Visit) -> bool:
        """Exclude the visit if its domain has had as many page requests as it may have."""
        cap = self._limits.max_per_domain
        if cap is None or self._frontier.domains[visit.domain_id].visits < cap:
            return False
        self._exclude(visit, "domain_limit", f"{cap} page requests to its domain")
        return True

    def _choose(self, found: Addresses, last: str | None) -> str | None:
        """The address to dial: the last one while it is still good (its connection may be open), else the first
        that the policy permits."""
        may_dial = self._addresses.may_dial
        if last is not None and last in found.addresses and may_dial(last):
            return last
        return next((address for address in found.addresses if may_dial(address)), None)

    # --- pages -----------------------------------------------------------------------------------

    async def _fetch_page(
        self, visit: Visit, notes: HostNotes, page: Canonical, address: str, answer: RobotsAnswer
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
        if self._over_its_cap(visit):  # other hosts of its domain may have been quicker while we looked it up
            return
        self._frontier.count_visit(visit)
        self._store.batch.accesses[visit.domain_id] += 1
        wants = self._hosts.of(visit.host).wants
        outcome = await self._contact(visit, page.url, page.origin, address, wants)
        now = self._clock.now()
        wait = self._retry_after(outcome, now)
        self._finish(visit, address, outcome, now, crawl_delay, wait)
        if isinstance(outcome, Failed):
            self._failed(visit, notes, outcome, now)
            return
        notes.failures = 0
        self._tally.count(self._store.batch, "fetched")
        self._tally.count(self._store.batch, "bytes", len(outcome.head) + len(outcome.wire_body))
        self._tally.count(self._store.batch, f"status:{outcome.status // 100}xx")
        kind = status_class(outcome.status)
        notes.rate_limited = notes.rate_limited + 1 if kind is StatusClass.RATE_LIMITED else 0
        if kind is StatusClass.DOCUMENT and wants is not None and not wants(outcome.status, outcome.headers):
            declared = outcome.headers.get("content-type", "")[:_MAX_DETAIL]
            unwanted = self._landing.excluded(visit.host_id, visit.task, UNWANTED_TYPE, now, declared)
            self._settle(unwanted._replace(status=outcome.status, took=outcome.took))
        elif kind is StatusClass.DOCUMENT:
            self._on_document(Document(visit, outcome, now))
        elif kind is StatusClass.REDIRECT:
            self._redirect(visit, outcome, now)
        else:
            landed = self._landing.bad_status(visit.host_id, visit.task, outcome, wait, notes.rate_limited, now)
            self._settle(landed)

    def _redirect(self, visit: Visit, response: Response, now: Instant) -> None:
        location = response.headers.get("location")
        if location is None:
            self._settle(self._landing.dead(visit.host_id, visit.task, "redirect_no_location", now, response))
            return
        target = self._intake.redirect(visit.task, location)
        if isinstance(target, Refusal):
            reason = "redirect_bad_scheme" if target.reason == "bad_scheme" else target.reason
            self._tally.count(self._store.batch, "excluded:" + reason)
            self._settle(
                self._landing.redirected(visit.host_id, visit.task, response, target.shown, now, reason), counted=True
            )
        elif target.url == visit.task.url:
            self._settle(self._landing.dead(visit.host_id, visit.task, "redirect_loop", now, response, target.url))
        elif visit.task.hops >= self._limits.max_redirects:
            self._settle(self._landing.dead(visit.host_id, visit.task, "too_many_redirects", now, response, target.url))
        else:
            batch = self._store.batch
            if isinstance(target, Candidate):
                batch.candidates.append(target)
            if (link := self._intake.redirect_link(visit, target)) is not None:
                batch.links.append(link)
            self._settle(self._landing.redirected(visit.host_id, visit.task, response, target.url, now))

    # --- robots.txt ------------------------------------------------------------------------------

    async def _ask_robots(
        self, visit: Visit, notes: HostNotes, page: Canonical, address: str, previous: RobotsAnswer | None
    ) -> None:
        """Ask for robots.txt first; the page comes after the gap that this contact costs."""
        origin = page.origin
        now = self._clock.now()
        if notes.robots_tries >= self._limits.max_robots_tries:
            self._frontier.finish(visit, None, now)
            self._settle(self._landing.dead(visit.host_id, visit.task, "robots_unreachable", now))
            return
        url, at, hops = notes.redirected.pop(origin, (Url(origin + "/robots.txt"), origin, 0))
        outcome = await self._contact(visit, url, at, address)
        now = self._clock.now()
        self._tally.count(self._store.batch, "robots_fetched")
        if (
            isinstance(outcome, Response)
            and status_class(outcome.status) is StatusClass.REDIRECT
            and hops < MAX_ROBOTS_REDIRECTS
        ):
            target = self._canonicaliser.canonicalise(outcome.headers.get("location", ""), url)
            if isinstance(target, Canonical) and target.host == visit.host:
                notes.redirected[origin] = (target.url, target.origin, hops + 1)
                self._finish(visit, address, outcome, now, None, None, again=True)
                return
        wait = self._retry_after(outcome, now)
        status = outcome.status if isinstance(outcome, Response) else None
        body = payload(outcome).body if isinstance(outcome, Response) else b""
        max_age = max_age_of(outcome.headers.get("cache-control", "")) if isinstance(outcome, Response) else None
        answer = rules_from_answer(
            status,
            body,
            agent=self._agent,
            now=now,
            max_age=max_age,
            retry_after=wait,
            # Too many, or to another host, whose politeness is not ours to spend here: as if there were no file.
            redirects_exhausted=status is not None and status_class(status) is StatusClass.REDIRECT,
            previous=previous,
            policy=self._robots_policy,
        )
        notes.robots[origin] = answer
        delay = answer.rules.crawl_delay if answer.rules is not None else None
        if answer.closed:
            notes.robots_tries += 1
            self._frontier.delay(visit.host_id, answer.expires_at)
        else:
            notes.robots_tries = 0
            self._store.batch.robots.append(
                RobotsRecord(origin, visit.host_id, status, now, answer.expires_at, body[:512_000])
            )
        if isinstance(outcome, Failed):
            self._tally.count(self._store.batch, "error:" + outcome.failure.value)
        self._finish(visit, address, outcome, now, delay, wait, again=True)

    # --- contacts --------------------------------------------------------------------------------

    async def _contact(
        self, visit: Visit, url: Url, origin: Origin, address: str, wants: Wants | None = None
    ) -> FetchOutcome:
        """One request, noted before it is sent. The caller reports its end with `_finish`, in the same breath."""
        wish = self._hosts.of(visit.host)
        started = self._clock.now()
        self.open_contacts[visit.host_id] = (started, visit.last_took, address)
        self._journal.started(visit.host_id, started, visit.last_took, address)
        self._audit.request_starts(visit.host, address, started)
        dialled = "" if wish.proxied else address
        return await self._fetcher.fetch(
            Request(url, visit.host, port_of(origin), dialled, options=wish.options, wants=wants)
        )

    def _finish(
        self,
        visit: Visit,
        address: str,
        outcome: FetchOutcome,
        now: Instant,
        crawl_delay: Seconds | None,
        wait: Seconds | None,
        *,
        again: bool = False,
    ) -> None:
        # By our own watch, from before the request was sent: a fetcher that leaves out its connecting may leave out a
        # moment of the host's work too, of which the host is owed a multiple.
        took = Seconds(max(outcome.took, now - self.open_contacts[visit.host_id][0]))
        min_delay = self._hosts.of(visit.host).min_delay
        contact = Contact(now, took, crawl_delay, wait, min_delay)
        until = self._frontier.finish(visit, contact, now, again=again)
        self._journal.finished(visit.host_id, until, took, address)
        del self.open_contacts[visit.host_id]
        self._audit.request_ended(visit.host, address, now, took, crawl_delay, wait, min_delay=min_delay)
        gap, term = gap_after(self._politeness, contact)
        reason = term.value if until <= now + gap else "failures, or rules out of reach"
        self._store.batch.hosts[visit.host_id] = HostClock(visit.host_id, until, took, address, reason)
        self._store.nudge()
        self._note_slowest(visit.host, took)

    def _note_slowest(self, host: str, took: float) -> None:
        slowest = self.slowest
        if len(slowest) >= 5 and host not in slowest:
            quickest = min(slowest, key=slowest.__getitem__)
            if slowest[quickest] >= took:
                return
            del slowest[quickest]
        slowest[host] = took

    def _retry_after(self, outcome: FetchOutcome, now: Instant) -> Seconds | None:
        if isinstance(outcome, Failed) or "retry-after" not in outcome.headers or outcome.status < 400:
            return None
        return retry_after(outcome.headers["retry-after"], now)

    # --- endings ---------------------------------------------------------------------------------

    def _no_contact(self, visit: Visit, notes: HostNotes, failed: Failed) -> None:
        """The host saw nothing of us (its name did not resolve)."""
        now = self._clock.now()
        self._frontier.finish(visit, None, now)
        self._failed(visit, notes, failed, now)

    def _failed(self, visit: Visit, notes: HostNotes, failed: Failed, now: Instant) -> None:
        notes.failures += 1
        rest = self._landing.host_rest(failed.failure, notes.failures)
        if rest is not None:
            self._frontier.delay(visit.host_id, Instant(now + rest))
        self._settle(self._landing.failed(visit.host_id, visit.task, failed, now))

    def _exclude(self, visit: Visit, reason: str, detail: str | None = None) -> None:
        now = self._clock.now()
        self._frontier.finish(visit, None, now)
        self._settle(self._landing.excluded(visit.host_id, visit.task, reason, now, detail))

    def _settle(self, settlement: Settlement, *, counted: bool = False) -> None:
        """Hand a settlement to the open batch, and count it."""
        batch = self._store.batch
        batch.settle(settlement)
        if settlement.reason is not None and not counted:
            kind = "excluded:" if settlement.state is UrlState.EXCLUDED else "error:"
            self._tally.count(batch, kind + settlement.reason)
        self._tally.moved(UrlState.QUEUED.word, settlement.state.word)
        self._store.nudge()


def _behind_proxy(host: HostKey) -> str:
    """What stands for the address of a host that only its proxy knows: shared with nobody, and never dialled."""
    return f"proxy:{host}"


def port_of(origin: Origin) -> int:
    """The port that an origin means."""
    authority = origin.partition("//")[2]
    port = authority.rpartition(":")[2] if not authority.endswith("]") else ""
    if port.isdigit() and ":" in authority:
        return int(port)
    return _DEFAULT_PORTS[origin.partition(":")[0]]
