"""Resolves host names: cache, lookups in flight, backoff and circuit breaker (ADR 9)."""

import asyncio
import ipaddress
import random
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from gossamer.clock import Clock
from gossamer.fetch.dns.backoff import BackoffRules, BreakerRules, NameBackoff, ResolverBreaker
from gossamer.fetch.dns.cache import DNS_ERRORS, Absence, Addresses, CacheLimits, DnsCache, StoredAnswer
from gossamer.fetch.dns.cares import Found
from gossamer.fetch.dns.lookup import Lookups
from gossamer.model.formats import is_dns_name
from gossamer.model.outcome import Failed, Failure
from gossamer.model.units import Domain, HostKey, Instant, Seconds
from gossamer.sketch import Durations

ANSWER_TIME = Seconds(5.0)
MAX_LOOKUPS = 2048
"""Names looked up at the same time. Further ones are postponed: a slow name server must not fill memory."""
_CANARIES = 4
# A working resolver has the answer to a probe in its cache. Waiting for it delays a visit.
_PROBE_PATIENCE = Seconds(1.0)
_ROOT = HostKey(".")  # has no address, and every working resolver knows it


@dataclass(frozen=True, slots=True)
class ResolverRules:
    """How long answers are waited for and kept, and what happens when there are none."""

    answer_time: Seconds = ANSWER_TIME
    max_lookups: int = MAX_LOOKUPS
    cache: CacheLimits = CacheLimits()
    backoff: BackoffRules = BackoffRules()
    breaker: BreakerRules = BreakerRules()


_DEFAULT_RULES = ResolverRules()


@dataclass(frozen=True, slots=True)
class ResolveLater(Failed):
    """Nothing is known and no query was sent: try again at `until`. Must not count as a try of the URL.

    Either the resolver itself is down, or this name (or its whole domain) failed recently and is in backoff; then the
    host is to blame.
    """

    until: Instant
    blames_host: bool = field(default=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class _Postponed:
    failure: Failure
    until: Instant
    blames_host: bool = False


@dataclass(frozen=True, slots=True)
class ResolverStatistics:
    """Counts since the start; `failing`, `servers_avoided` and `lookups_in_flight` are current."""

    queries: int = 0  # both families counted
    hits: int = 0
    negative_hits: int = 0
    stale_served: int = 0
    failures: int = 0
    postponed: int = 0
    probes: int = 0
    breaker_opened: int = 0
    cached_hosts: int = 0
    servers_avoided: int = 0
    lookups_in_flight: int = 0
    failing: bool = False


class Resolver:
    """Resolves hosts, caching positive and negative answers; one lookup serves all callers that wait for the same host.

    `nameservers` are "ADDRESS", "ADDRESS:PORT" or "[IPV6]:PORT", tried in turn; None means the system's. `chance`
    is the random generator that spreads the times of retries. `domain_of` gives a host's registrable domain; without
    it there is no backoff by domain. `on_outage` is called with True when no name server answers, and with False when
    one does again. Belongs to one event loop.
    """

    def __init__(
        self,
        nameservers: Sequence[str] | None,
        clock: Clock,
        rules: ResolverRules = _DEFAULT_RULES,
        *,
        chance: random.Random | None = None,
        domain_of: Callable[[HostKey], Domain] | None = None,
        on_outage: Callable[[bool], None] = lambda failing: None,
    ) -> None:
        self._lookups = Lookups(nameservers, clock, rules.answer_time)
        self._clock = clock
        self._cache = DnsCache(rules.cache)
        self._literal_holds = rules.cache.ceiling
        self._chance = chance or random.Random(0)
        self._domain_of = domain_of
        self._breaker = ResolverBreaker(rules.breaker)
        self._on_outage = on_outage
        self._outage = False  # as last reported
        self._pause = rules.breaker.pause
        self._max_lookups = rules.max_lookups
        self._backoff = NameBackoff(rules.backoff, self._chance)
        self._in_flight: dict[HostKey, asyncio.Task[Addresses | Absence | _Postponed]] = {}
        self._probing: asyncio.Task[bool] | None = None
        self._canaries: deque[HostKey] = deque(maxlen=_CANARIES)  # names that were answered, used for probes
        self.times = Durations()  # of lookups, answered or not
        self._hits = self._negative_hits = self._stale_served = self._failures = self._postponed = self._probes = 0

    def cached(self, host: HostKey) -> Addresses | None:
        """The addresses if they are cached, without waiting. None means nothing about the host."""
        entry = self._cache.look_up(host, self._clock.now())
        if isinstance(entry, Addresses):
            self._hits += 1
            self._stale_served += entry.stale
            return entry
        return None

    async def resolve(self, host: HostKey) -> Addresses | ResolveLater | Failed:
        """The addresses of a host, or why there are none. Cancelling one caller does not affect the others."""
        now = self._clock.now()
        begun = self._clock.monotonic()
        known = self._cache.look_up(host, now)
        if isinstance(known, Addresses):
            self._hits += 1
            self._stale_served += known.stale
            return known
        if isinstance(known, Absence):
            self._negative_hits += 1
            if known.failure in DNS_ERRORS:
                return self._later(host, _Postponed(known.failure, known.expires, True), begun)
            return self._failed(host, known.failure, begun)
        own = _literal_address(host)
        if isinstance(own, str):
            return self._cache.store_addresses(host, (own,), self._literal_holds, now)
        if isinstance(own, Failure):
            return self._failed(host, own, begun)
        task = self._in_flight.get(host)
        if task is None:
            known_now = self._without_lookup(host, now)
            if isinstance(known_now, Addresses):
                self._stale_served += 1
                return known_now
            if known_now is not None:
                return self._later(host, known_now, begun)
            task = asyncio.get_running_loop().create_task(self._look_up(host))
            self._in_flight[host] = task
            task.add_done_callback(lambda _task: self._in_flight.pop(host, None))
        outcome = await asyncio.shield(task)
        if isinstance(outcome, Addresses):
            self._stale_served += outcome.stale
            return outcome
        if isinstance(outcome, _Postponed):
            return self._later(host, outcome, begun)
        return self._failed(host, outcome.failure, begun)

    def is_resolving(self, host: HostKey) -> bool:
        """Whether a lookup of the host is in flight. Its answer will be cached even if no caller waits for it."""
        return host in self._in_flight

    def forget(self, host: HostKey) -> None:
        """The address did not answer: look the host up again before the next try."""
        self._cache.forget(host)

    def last_good(self, host: HostKey) -> StoredAnswer | None:
        """The last good answer for a host, to be stored across restarts."""
        return self._cache.last_good(host)

    def restore(self, host: HostKey, stored: StoredAnswer) -> None:
        """Restore what `last_good` returned before a restart. An expired answer is used while DNS is down."""
        self._cache.restore(host, stored, self._clock.now())

    async def close(self) -> None:
        """Stop all lookups. Callers that still wait are cancelled."""
        tasks: list[asyncio.Task[object]] = [*self._in_flight.values()]
        if self._probing is not None:
            tasks.append(self._probing)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._lookups.close()

    def statistics(self) -> ResolverStatistics:
        return ResolverStatistics(
            queries=self._lookups.queries,
            hits=self._hits,
            negative_hits=self._negative_hits,
            stale_served=self._stale_served,
            failures=self._failures,
            postponed=self._postponed,
            probes=self._probes,
            breaker_opened=self._breaker.opened,
            cached_hosts=len(self._cache),
            servers_avoided=self._lookups.count_avoided(),
            lookups_in_flight=len(self._in_flight),
            failing=not self._breaker.is_closed,
        )

    # --- without a lookup ------------------------------------------------------------------------

    def _without_lookup(self, host: HostKey, now: Instant) -> Addresses | _Postponed | None:
        """The result for a name that may not be looked up now; None if it may be."""
        if len(self._in_flight) >= self._max_lookups:
            return self._cache.stale(host, now) or _Postponed(Failure.DNS_TIMEOUT, self._a_little_later(now))
        if self._breaker.is_closed:
            until = self._backoff.domain_blocked_until(self._domain(host), now)
            if until is None:
                return None
            return self._cache.stale(host, now) or _Postponed(Failure.DNS_TIMEOUT, until, True)
        if now >= self._breaker.until:
            return None  # a probe is due, and this name is part of it
        return self._cache.stale(host, now) or _Postponed(Failure.DNS_TIMEOUT, self._after_the_next_probe(now))

    def _after_the_next_probe(self, now: Instant) -> Instant:
        """When to try again while the resolver is down; spread over time."""
        return self._a_little_later(Instant(min(max(self._breaker.until, now), now + self._pause)))

    def _a_little_later(self, when: Instant) -> Instant:
        return Instant(when + self._pause * (0.25 + 0.75 * self._chance.random()))

    def _later(self, host: HostKey, postponed: _Postponed, begun: float) -> ResolveLater:
        self._postponed += 1
        took = Seconds(self._clock.monotonic() - begun)
        detail, blames_host = f"lookup of {host} postponed", postponed.blames_host
        return ResolveLater(postponed.failure, detail, took, False, postponed.until, blames_host=blames_host)

    def _failed(self, host: HostKey, failure: Failure, begun: float) -> Failed:
        took = Seconds(self._clock.monotonic() - begun)
        return Failed(failure, f"cannot resolve {host}", took, contacted=False)

    # --- lookups ---------------------------------------------------------------------------------

    async def _look_up(self, host: HostKey) -> Addresses | Absence | _Postponed:
        """Look a host up, and determine what is at fault if there is no answer."""
        if not self._breaker.is_closed and not await self._is_working(host):
            now = self._clock.now()
            return self._cache.stale(host, now) or _Postponed(Failure.DNS_TIMEOUT, self._after_the_next_probe(now))
        asked = self._clock.now()
        look_up = await self._lookups.look_up(host)
        now = self._clock.now()
        self.times.note_seconds(now - asked)
        result = look_up.result
        if look_up.answered:
            self._breaker.on_answer(now)
            self._report_outage()
        else:
            self._breaker.on_no_answer(now, unreachable=look_up.unreachable)
            self._report_outage()
            if not self._breaker.is_closed and not await self._is_working(None):
                now = self._clock.now()
                assert isinstance(result, Failure)
                return self._cache.stale(host, now) or _Postponed(result, self._after_the_next_probe(now))
            now = self._clock.now()
        if asked < self._breaker.recovered_at and isinstance(result, Failure) and result in DNS_ERRORS:
            # The resolver was down during the lookup and has recovered, so the name is not to blame. The answer to one
            # of its two queries may have arrived after that, with the other one lost.
            return self._cache.stale(host, now) or _Postponed(result, self._after_the_next_probe(now))
        domain = self._domain(host)
        if isinstance(result, Found):
            self._backoff.on_success(host, domain)
            if host not in self._canaries:
                self._canaries.append(host)
            return self._cache.store_addresses(host, result.addresses, result.ttl, now)
        self._failures += 1
        if result in DNS_ERRORS:
            return self._cache.store_failure(host, result, self._backoff.on_failure(host, domain, now), now)
        self._backoff.on_success(host, domain)
        return self._cache.store_absence(host, result, now)

    async def _is_working(self, host: HostKey | None) -> bool:
        """Whether the resolver answers after all, within `_PROBE_PATIENCE`. One probe serves all callers."""
        task = self._probing
        if task is None:
            if not self._breaker.take_probe(self._clock.now()):
                return self._breaker.is_closed
            task = self._probing = asyncio.get_running_loop().create_task(self._probe(host))
            task.add_done_callback(self._probe_ended)
        done, _ = await asyncio.wait((task,), timeout=_PROBE_PATIENCE)
        return bool(done) and task.result()

    async def _probe(self, host: HostKey | None) -> bool:
        """Look up a name that was answered before, and the requested one; any answer will do."""
        self._probes += 1
        # A different one each time: a name that was answered once may no longer exist.
        self._canaries.rotate(1)
        names = {self._canaries[0] if self._canaries else _ROOT, host or _ROOT}
        look_ups = await asyncio.gather(*(self._lookups.look_up(name) for name in names))
        now = self._clock.now()
        answered = any(look_up.answered for look_up in look_ups)
        if answered:
            self._breaker.on_answer(now)
        else:
            self._breaker.on_probe_failure(now)
            self._lookups.reload()
        self._report_outage()
        return answered

    def _report_outage(self) -> None:
        if self._breaker.confirmed is not self._outage:
            self._outage = self._breaker.confirmed
            self._on_outage(self._outage)

    def _probe_ended(self, _task: asyncio.Task[bool]) -> None:
        self._probing = None

    def _domain(self, host: HostKey) -> Domain | None:
        return self._domain_of(host) if self._domain_of is not None else None


def _literal_address(host: HostKey) -> str | Failure | None:
    """The address of a host that is an address itself or `localhost` (RFC 6761, 6.3); a failure for a name that cannot
    exist; None if it must be looked up."""
    if host == "localhost" or host.endswith(".localhost"):
        return "127.0.0.1"
    # Names have a letter after their last dot: a host that ends in a number is an address (WHATWG URL).
    if host[-1:].isdigit() or host[-1:] == "]":
        try:
            return str(ipaddress.ip_address(host.strip("[]")))
        except ValueError:
            pass
    return None if is_dns_name(host) else Failure.BAD_URL
