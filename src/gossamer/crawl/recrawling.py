"""After a visit: when is the next? And of a URL that was visited before: how is it asked, and what has changed?

All that is known of a URL stands in its row, and of a host in its row; what is here is a copy for those that are in
memory, and the price of a visit. `recrawl` has the policies, which are pure.
"""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, NamedTuple

from gossamer.crawl.recrawl_rules import Gaps, RecrawlRules
from gossamer.fetch.http.headers import http_date
from gossamer.frontier.turns import Visit
from gossamer.model.outcome import Response
from gossamer.model.states import UrlState
from gossamer.model.task import Before, HostRecord, Task
from gossamer.model.units import HostId, Instant, Seconds
from gossamer.recrawl.estimate import Estimate
from gossamer.recrawl.policies.optimal import Optimal
from gossamer.recrawl.policy import DAY, NOTHING, Memory, RecrawlPolicy, Terms, Visited
from gossamer.recrawl.price import Price
from gossamer.recrawl.prior import HostRates
from gossamer.sections import RecrawlSection
from gossamer.store.changes import Batch, Capture, Settlement

PROBE: Final = 10
"""Every so many visits a page is asked for without conditions: a server that always says 304 is found out."""

PRICE: Final = "recrawl"
"""The fact of a crawl's database that has the price and the demand which it steers (`PriceState`)."""

REFRESHING: Final = "refreshing"
"""The counter of URLs that are queued again and of which a document is stored."""

_MINUTE = 60.0  # a Last-Modified that is younger may be the time of the answer
_PLAIN = re.compile(r"[ -~]{1,512}").fullmatch
_POLICED = (UrlState.STORED, UrlState.DUPLICATE)
_RETURN_LATER = frozenset({"redirect_loop", "too_many_redirects"})  # what is dead in itself, not for now


class Planned(NamedTuple):
    """The next visit of a URL, if it gets one, and what is written down until then."""

    at: Instant | None
    gap: float | None = None
    one: float | None = None
    two: float | None = None


NEVER: Final = Planned(None)


@dataclass(slots=True)
class HostChanging:
    """How the pages of a host change, and whether what its server says of that is true."""

    rates: HostRates = HostRates()
    lies: int = 0  # documents that changed under a validator that did not
    moving: int = 0  # dates of modification that changed while the document did not

    def to_text(self) -> str:
        return json.dumps([self.lies, self.moving, *self.rates])

    @staticmethod
    def from_text(text: str) -> "HostChanging":
        """What an earlier version reckoned with otherwise is learnt anew."""
        lies, moving, *rates = json.loads(text)
        return HostChanging(HostRates(*rates) if len(rates) == len(HostRates._fields) else HostRates(), lies, moving)


_UNKNOWN_HOST: Final = HostChanging()


class Recrawling:
    """Plans the next visit of everything that is visited. Owned by the event loop; does no IO."""

    def __init__(
        self,
        wishes: RecrawlSection,
        policy: RecrawlPolicy,
        rules: RecrawlRules,
        price: Price,
        importance: Callable[[float], float] = lambda priority: 1.0,
    ) -> None:
        """`importance` makes one of a priority: 1 is usual."""
        self._policy = policy
        self._rules = rules
        self._usual = Seconds(wishes.interval)
        self._moves = wishes.budget is not None and policy.moved_by_price
        self._importance = importance
        self._hosts: dict[HostId, HostChanging] = {}
        self._changed: dict[HostId, HostChanging] = {}
        self._first: dict[tuple[Estimate, float], float] = {}  # gaps after a first visit, at this price
        self.price = price
        self._told = ""

    # --- hosts ------------------------------------------------------------------------------------

    def begin(self, record: HostRecord) -> None:
        """A host has got a back queue; this is what the store remembers."""
        if record.changing:
            self._hosts[record.host_id] = HostChanging.from_text(record.changing)

    def end(self, host_id: HostId) -> None:
        """It has given that up, and everything of it is committed."""
        self._hosts.pop(host_id, None)

    def _host(self, host_id: HostId) -> HostChanging:
        known = self._hosts.get(host_id)
        if known is None:
            known = self._hosts[host_id] = HostChanging()
        self._changed[host_id] = known
        return known

    def hand_over(self, batch: Batch, now: Instant, waiting: int) -> None:
        """Put what was learnt into a batch that is about to be committed. `waiting`: URLs never visited so far."""
        if self._changed:
            batch.changing = {host_id: known.to_text() for host_id, known in self._changed.items()}
            self._changed.clear()
        if self._moves and batch.settlements:
            before = self.price.price
            if self.price.step(now / DAY, max(0, waiting)) != before:
                self._first.clear()
        told = price_text(self.price)
        if told != self._told:
            self._told = batch.facts[PRICE] = told

    # --- asking -----------------------------------------------------------------------------------

    def conditions(self, visit: Visit) -> tuple[tuple[str, str], ...]:
        """The fields by which a server may answer that nothing has changed."""
        before = visit.task.before
        if before is None or not before.has_document or not before.whole:
            return ()
        if before.visits % PROBE == PROBE - 1 or self._hosts.get(visit.host_id, _UNKNOWN_HOST).lies:
            return ()
        fields = []
        if before.etag is not None and _PLAIN(before.etag):
            fields.append(("If-None-Match", before.etag))
        if before.last_modified is not None and _PLAIN(before.last_modified):
            date = http_date(before.last_modified, before.at)
            if date is not None and date <= before.at:
                fields.append(("If-Modified-Since", before.last_modified))
        return tuple(fields)

    # --- what has come of it ----------------------------------------------------------------------

    def not_modified(self, visit: Visit, response: Response, now: Instant, revisits: bool) -> Settlement:
        """The server says that nothing has changed: what is on record stays."""
        before = visit.task.before
        assert before is not None  # or it would not have been asked so
        capture = Capture(response, b"") if revisits else None
        return self.unchanged(visit, before, response, now, capture)

    def unchanged(
        self, visit: Visit, before: Before, response: Response, now: Instant, capture: Capture | None
    ) -> Settlement:
        """The document is what it was."""
        headers, task = response.headers, visit.task
        modified = headers.get("last-modified")
        if response.status != 304 and modified is not None and before.last_modified not in (None, modified):
            self._host(visit.host_id).moving += 1
        planned = self.plan(visit, before.state, now, before.mime, changed=False)
        return Settlement(
            visit.host_id,
            task.url_id,
            task.front,
            before.state,
            now,
            available_at=planned.at,
            reason=before.reason,
            status=response.status,
            took=response.took,
            etag=_kept(headers.get("etag")),
            last_modified=_kept(modified),
            capture=capture,
            planned=planned.gap,
            one=planned.one,
            two=planned.two,
            kept=True,
        )

    def document(
        self,
        visit: Visit,
        state: UrlState,
        response: Response,
        now: Instant,
        mime: str | None,
        digest: bytes,
        signature: bytes | None,
    ) -> Planned:
        """The plan after a document that is new, or not what it was."""
        before = visit.task.before
        if before is None or not before.has_document:
            return self.plan(visit, state, now, mime)
        # Where the text is the same, what differs is a clock, a token or an advertisement.
        changed = digest != before.digest and (signature is None or signature != before.signature)
        headers = response.headers
        if changed and _same(before, headers.get("etag"), headers.get("last-modified")):
            self._host(visit.host_id).lies += 1
        modified: Instant | None = None
        text = headers.get("last-modified")
        if changed and text is not None and not self._hosts.get(visit.host_id, _UNKNOWN_HOST).moving:
            date = http_date(text, now)
            modified = date if date is not None and before.at < date < now - _MINUTE else None
        return self.plan(visit, state, now, mime, changed=changed, modified=modified)

    def settled(self, visit: Visit, settlement: Settlement) -> Settlement:
        """What came of any other visit, with the date of the next one."""
        state, before = settlement.state, visit.task.before
        if settlement.kept or state is UrlState.QUEUED:
            return settlement
        if before is not None and before.has_document and state in (UrlState.DEAD, UrlState.EXCLUDED):
            return self._stays(visit, before, settlement)
        if state is UrlState.REDIRECT or state is UrlState.MISSING or state is UrlState.GONE:
            given = None if settlement.available_at is None else Seconds(settlement.available_at - settlement.at)
            planned = self._by_rule(visit, state, settlement.at, settlement.mime, given)
            return settlement._replace(available_at=planned.at, planned=planned.gap)
        self._demand(before, None)
        return settlement

    def _stays(self, visit: Visit, before: Before, settlement: Settlement) -> Settlement:
        """A page that we have could not be asked for. What we have stays; if it is not forbidden, it is asked for again
        later, and later each time."""
        if settlement.state is UrlState.EXCLUDED and settlement.reason != "domain_limit":
            self._demand(before, None)
            return settlement
        if settlement.reason in _RETURN_LATER:
            self._demand(before, None)
            return settlement
        gaps = self._rules.of(visit.host, visit.task.url, before.mime, before.state)
        gap = min(max(2 * (before.planned or 0.0), self._usual), gaps.longest)
        at: Instant | None = Instant(settlement.at + gap)
        if settlement.state is UrlState.EXCLUDED:
            at, gap = None, 0.0
        self._demand(before, gap or None)
        return settlement._replace(
            state=before.state, available_at=at, planned=gap or None, tries=0, status=None, kept=True
        )

    # --- plans ------------------------------------------------------------------------------------

    def plan(
        self,
        visit: Visit,
        state: UrlState,
        now: Instant,
        mime: str | None,
        *,
        changed: bool | None = None,
        modified: Instant | None = None,
    ) -> Planned:
        """When a URL that came to `state` is visited next. `changed` is None where there is nothing to compare with."""
        task, before = visit.task, visit.task.before
        if state not in _POLICED:
            return self._by_rule(visit, state, now, mime, self._usual if state is UrlState.REDIRECT else None)
        gaps = self._rules.of(visit.host, task.url, mime, state) if self._rules else self._rules.usual
        if gaps.never:
            self._demand(before, None)
            return NEVER
        if changed is None or before is None:
            return self._after_first(visit, gaps, now)
        known = self._host(visit.host_id)
        terms = self._terms(task, known.rates.prior(), gaps)
        memory = Memory(before.one or 0.0, before.two or 0.0, before.visits, before.changes)
        visited = Visited(now, Seconds(max(0.0, now - before.at)), changed, modified)
        plan = self._policy.after(visited, memory, terms)
        one, two = plan.memory.one, plan.memory.two
        if isinstance(self._policy, Optimal) and one > 0:
            was = Estimate(memory.one, memory.two) if memory.one > 0 else None
            known.rates = known.rates.learnt(was, Estimate(one, two))
        gap = gaps.fixed if gaps.fixed is not None else plan.gap(now)
        self._demand(before, gap)
        return Planned(Instant(now + gap), gap, one or None, two or None)

    def _after_first(self, visit: Visit, gaps: Gaps, now: Instant) -> Planned:
        """Hot: of most pages of a first crawl the same is known, so the same follows."""
        task = visit.task
        one = two = None
        if gaps.fixed is not None:
            gap: float = gaps.fixed
        elif isinstance(self._policy, Optimal) and gaps.rule is None:
            known = self._hosts.get(visit.host_id)
            prior = _UNKNOWN_HOST.rates.prior() if known is None else known.rates.prior()
            importance = round(self._importance(task.priority), 2)
            found = self._first.get((prior, importance))
            if found is None:
                terms = self._terms(task, prior, gaps)._replace(importance=importance)
                found = self._policy.after(Visited(now), NOTHING, terms).gap(now)
                if len(self._first) > 10_000:
                    self._first.clear()
                self._first[prior, importance] = found
            gap = found
        else:
            prior = self._hosts.get(visit.host_id, _UNKNOWN_HOST).rates.prior()
            plan = self._policy.after(Visited(now), NOTHING, self._terms(task, prior, gaps))
            gap, one, two = plan.gap(now), plan.memory.one or None, plan.memory.two or None
        self._demand(task.before, gap)
        return Planned(Instant(now + gap), gap, one, two)

    def _by_rule(self, visit: Visit, state: UrlState, now: Instant, mime: str | None, usual: Seconds | None) -> Planned:
        """For what has no document: the gap that a rule says, or the usual one; None: it is not asked for again."""
        gaps = self._rules.of(visit.host, visit.task.url, mime, state) if self._rules else self._rules.usual
        gap = gaps.fixed if gaps.fixed is not None else usual
        if gap is None or gaps.never:
            self._demand(visit.task.before, None)
            return NEVER
        self._demand(visit.task.before, gap)
        return Planned(Instant(now + gap), gap)

    def _terms(self, task: Task, prior: Estimate, gaps: Gaps) -> Terms:
        return Terms(
            self._importance(task.priority), self.price.price, prior, 0.0, self._usual, gaps.shortest, gaps.longest
        )

    def _demand(self, before: Before | None, gap: float | None) -> None:
        was = None if before is None or before.planned is None else before.planned / DAY
        self.price.plan(was, None if gap is None else gap / DAY)


def price_text(price: Price) -> str:
    """What must survive of the price."""
    return f"{price.price!r} {price.demand!r} {price.pages}"


def price_from(text: str | None, budget: float | None, opening: float, now: Instant) -> Price:
    """The price as it was, or the one to begin with. Without a budget it stays that one."""
    value, demand, pages = opening, 0.0, 0
    if text:
        before, asked, planned = text.split()
        demand, pages = float(asked), int(planned)
        value = float(before) if budget is not None else opening
    return Price(budget or 1.0, value, now=now / DAY, demand=demand, pages=pages)


def _same(before: Before, etag: str | None, modified: str | None) -> bool:
    """Whether a server says of another document that it is the same one."""
    if etag is not None and before.etag is not None:
        return etag == before.etag
    return etag is None and before.etag is None and modified is not None and modified == before.last_modified


def _kept(value: str | None) -> str | None:
    return value if value is not None and len(value) <= 512 else None
