"""Plans the next visit after each visit; conditional requests for known pages.

Everything known about a URL or a host is in its row; the planner caches host data, and holds the current
recrawl threshold (the price). The policies in `recrawl.policies` are pure.
"""

import re
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from gossamer.model.batch import Batch
from gossamer.model.http_dates import http_date
from gossamer.model.outcome import Response
from gossamer.model.settlement import MAX_VALIDATOR_CHARS, Capture, Settlement
from gossamer.model.states import UrlState
from gossamer.model.task import HostRecord, PreviousVisit, Visit
from gossamer.model.units import DAY, HostId, HostKey, Instant, Seconds
from gossamer.recrawl.change_hints import (
    HUB_WEIGHT,
    NO_HINT,
    ChangeHint,
    HostChangeHistory,
    age_of,
    is_hub,
    judge,
    judge_not_modified,
    kept_field,
)
from gossamer.recrawl.due import DueDates, HostBacklogs
from gossamer.recrawl.estimate import USUAL, Estimate, HostRates, Verdict, verdict_on
from gossamer.recrawl.policy import EMPTY_MEMORY, Memory, RecrawlPolicy, RecrawlSettings, Visited
from gossamer.recrawl.price import LATE, PRICE, Price, price_text, share_of_refresh, value_of_new
from gossamer.recrawl.rules import NEVER_AGAIN, PageFacts, PageStatus, RecrawlRules, Ruling, page_status, prior_of

PROBE: Final = 10
"""Every tenth visit is unconditional, to detect servers that always answer 304."""

_PLAIN = re.compile(rf"[ -~]{{1,{MAX_VALIDATOR_CHARS}}}").fullmatch


def conditions_for(before: PreviousVisit | None, *, unreliable_validators: bool) -> tuple[tuple[str, str], ...]:
    """The conditional header fields of a request. Empty if we have no complete document, or with
    `unreliable_validators`: those of the host stayed the same when documents changed."""
    if (
        before is None
        or unreliable_validators
        or not before.has_document
        or not before.whole
        or before.visits % PROBE == PROBE - 1
    ):
        return ()
    fields = []
    if before.etag is not None and _PLAIN(before.etag):
        fields.append(("If-None-Match", before.etag))
    if before.last_modified is not None and _PLAIN(before.last_modified):
        date = http_date(before.last_modified, before.at)
        if date is not None and date <= before.at:
            fields.append(("If-Modified-Since", before.last_modified))
    return tuple(fields)


def has_same_validators(before: PreviousVisit, etag: str | None, modified: str | None) -> bool:
    """Whether the validators of a response say that the document is the one we have."""
    if etag is not None and before.etag is not None:
        return etag == before.etag
    return etag is None and before.etag is None and modified is not None and modified == before.last_modified


_MOST_FIRST = 10_000
_LATE = 1 + LATE
_PAGE = PageStatus.PAGE
_NO_RATES = HostRates()
_RETURN_LATER = frozenset({"redirect_loop", "too_many_redirects"})  # permanent failures


class Planned(NamedTuple):
    """The next visit of a URL, if any, and what is stored until then."""

    at: Instant | None
    gap: float | None = None
    rate_shape: float | None = None
    rate_span: float | None = None
    signature: bytes | None = None  # the signature to keep, if not that of this visit
    noise: bool = False  # only clocks, tokens or advertisements differ


NEVER: Final = Planned(None)


class RecrawlPlanner:
    """Plans the next visit of every visited URL. Owned by the event loop; does no IO."""

    def __init__(
        self,
        settings: RecrawlSettings,
        policy: RecrawlPolicy,
        rules: RecrawlRules,
        price: Price,
        importance: Callable[[float], float] = lambda priority: 1.0,
    ) -> None:
        """`importance` maps a priority to an importance; 1 is average."""
        self._policy = policy
        self._importance = importance
        self._hosts: dict[HostId, HostChangeHistory] = {}
        self.backlogs = HostBacklogs(Instant(price.stepped * DAY))
        self._priced_hosts = self.backlogs.prices.hosts
        self.dates = DueDates(policy, rules, price, self.backlogs, importance, self._hosts)
        self._configure(settings, rules)
        self._changed: dict[HostId, HostChangeHistory] = {}
        self._ids: dict[HostKey, HostId] = {}  # of hosts with a back queue
        self._names: dict[HostId, HostKey] = {}
        self._first: dict[tuple[Estimate, float], float] = {}  # cached gaps after a first visit, at the current price
        self.price = price
        self._saved_price = ""

    def _configure(self, settings: RecrawlSettings, rules: RecrawlRules) -> None:
        self._rules = self.dates.rules = rules
        self._default_ruling = None if rules.rules else rules.ruling(PageFacts("", ""))  # for pages, without user rules
        self._default_gap = Seconds(settings.interval)
        self._moves_price = settings.budget is not None and self._policy.moved_by_price

    def reconfigure(
        self, settings: RecrawlSettings, policy: RecrawlPolicy, rules: RecrawlRules, opening: float
    ) -> None:
        """Change the settings. Existing plans stay, and so does the policy, unless `policy` can continue with what it
        has stored. `opening` is the price without a budget."""
        if policy.memory_format == self._policy.memory_format:
            self._policy = self.dates.policy = policy
        self._configure(settings, rules)
        if settings.budget is None:
            self.price.price = opening
        self.price.change_budget(settings.budget or self.price.budget)
        self._first.clear()

    # --- hosts ------------------------------------------------------------------------------------

    def host_loaded(self, record: HostRecord) -> None:
        """A host has got a back queue; this is what the store remembers."""
        self._ids[record.host] = record.host_id
        self._names[record.host_id] = record.host
        if record.change_history:
            known = self._hosts[record.host_id] = HostChangeHistory.from_text(record.change_history)
            self.backlogs.prices.restore(record.host_id, known.price)

    def host_retired(self, host_id: HostId) -> None:
        """It has given that up, and everything of it is committed."""
        self._hosts.pop(host_id, None)
        self.backlogs.drop_host(host_id)
        if (host := self._names.pop(host_id, None)) is not None:
            self._ids.pop(host, None)

    def trusts_reports_of(self, host: HostKey) -> bool | None:
        """Whether a report of a change by a sitemap or feed is trusted for this host. None: the host is not in memory,
        so its row decides (`dates`)."""
        if not self._policy.estimates_rates or (host_id := self._ids.get(host)) is None:
            return None if self._policy.estimates_rates else False
        return host_id in self._hosts and self._hosts[host_id].recall > 0

    def refresh_share(self, discovery_floor: float, refresh_floor: float) -> float:
        """The share of visits for due URLs while new ones wait too. A policy without visit values takes the maximum."""
        new = value_of_new(USUAL, 1.0) if self._policy.estimates_rates else 0.0
        return share_of_refresh(
            new=new, due=self.price.price, discovery_floor=discovery_floor, refresh_floor=refresh_floor
        )

    def _host(self, host_id: HostId) -> HostChangeHistory:
        known = self._hosts.get(host_id)
        if known is None:
            known = self._hosts[host_id] = HostChangeHistory()
        self._changed[host_id] = known
        return known

    @property
    def by_price(self) -> bool:
        """Whether plans depend on the price of a visit."""
        return self._policy.moved_by_price

    def on_postponed(self, gaps: Sequence[tuple[float | None, float | None]]) -> None:
        """The store postponed visits. `gaps`: seconds, before and after; None if the plan is unchanged."""
        for before, after in gaps:
            if before and after:
                self.price.on_replanned(before / DAY, after / DAY)

    @property
    def moves_price(self) -> bool:
        """Whether the price of a visit follows a budget."""
        return self._moves_price

    def before_commit(self, batch: Batch, now: Instant, waiting: int) -> None:
        """Add what was learned to a batch before its commit. `waiting`: URLs never visited so far."""
        if self._changed:
            own = self.backlogs.prices.price_for
            batch.change_histories = {
                host_id: known.to_text(own(host_id, 0.0)) for host_id, known in self._changed.items()
            }
            self._changed.clear()
        if self._moves_price and batch.settlements:
            before = self.price.price
            if self.price.step(now / DAY, 1.0 + max(0, waiting) / max(1, self.price.pages)) != before:
                self._first.clear()
        text = price_text(self.price, len(self.backlogs.prices))
        if text != self._saved_price:
            self._saved_price = batch.facts[PRICE] = text

    # --- requests ---------------------------------------------------------------------------------

    def conditions(self, visit: Visit) -> tuple[tuple[str, str], ...]:
        """The conditional header fields for a visit."""
        known = self._hosts.get(visit.host_id)
        return conditions_for(
            visit.task.previous, unreliable_validators=known is not None and known.stale_validators > 0
        )

    # --- outcomes ---------------------------------------------------------------------------------

    def settle_not_modified(self, visit: Visit, response: Response, now: Instant, revisits: bool) -> Settlement:
        """The server answered 304: the stored result stays."""
        before = visit.task.previous
        assert before is not None  # otherwise the request was unconditional
        capture = Capture(response, b"") if revisits else None
        return self.settle_unchanged(visit, before, response, now, capture)

    def settle_unchanged(
        self, visit: Visit, before: PreviousVisit, response: Response, now: Instant, capture: Capture | None
    ) -> Settlement:
        """The document is the same as before."""
        headers, task = response.headers, visit.task
        modified = headers.get("last-modified")
        known = self._host(visit.host_id)
        if response.status == 304:
            judge_not_modified(known, task, before, modified, now)
        else:
            judge(known, task, before, modified, now, changed=False)
        planned = self.plan(visit, _PAGE, now, before.mime, changed=False)
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
            etag=kept_field(headers.get("etag")),
            last_modified=kept_field(modified),
            capture=capture,
            planned_gap=planned.gap,
            rate_shape=planned.rate_shape,
            rate_span=planned.rate_span,
            kept=True,
        )

    def plan_document(
        self,
        visit: Visit,
        response: Response,
        now: Instant,
        mime: str | None,
        digest: bytes,
        signature: bytes | None,
        near_duplicate: bool = False,
    ) -> Planned:
        """The plan after a document that is new or differs from the previous one."""
        before = visit.task.previous
        standing = PageStatus.NEAR_DUPLICATE if near_duplicate else _PAGE
        if before is None or not before.has_document:
            said = NO_HINT
            if (known := self._hosts.get(visit.host_id)) is not None:
                said = ChangeHint(age_of(known, visit.task, response.headers.get("last-modified"), now))
            return self.plan(visit, standing, now, mime, said=said)
        assert before.digest is not None
        verdict = verdict_on((before.digest, before.signature), (digest, signature))
        changed = verdict is Verdict.CHANGED
        headers, known = response.headers, self._host(visit.host_id)
        modified = headers.get("last-modified")
        if changed and has_same_validators(before, headers.get("etag"), modified):
            known.stale_validators += 1
        said = judge(known, visit.task, before, modified, now, changed=changed)
        planned = self.plan(visit, standing, now, mime, changed=changed, said=said)
        return planned._replace(signature=before.signature, noise=True) if verdict is Verdict.NOISE else planned

    def plan_settlement(self, visit: Visit, settlement: Settlement) -> Settlement:
        """Add the date of the next visit to the outcome of any other visit."""
        state, before = settlement.state, visit.task.previous
        if settlement.kept or state is UrlState.QUEUED:
            return settlement
        if before is not None and before.has_document and state in (UrlState.DEAD, UrlState.EXCLUDED):
            return self._keep_previous(visit, before, settlement)
        if state is UrlState.REDIRECT or state is UrlState.MISSING or state is UrlState.GONE:
            standing = page_status(state, settlement.status, near_duplicate=False)
            planned = self._without_document(visit, standing, settlement)
            return settlement._replace(available_at=planned.at, planned_gap=planned.gap)
        self._update_demand(before, None)
        return settlement

    def plan_no_visit(self, visit: Visit) -> Planned:
        """Plan no further visit."""
        self._update_demand(visit.task.previous, None)
        return NEVER

    def _keep_previous(self, visit: Visit, before: PreviousVisit, settlement: Settlement) -> Settlement:
        """A stored page could not be fetched. The stored result stays; unless forbidden, the page is tried again later,
        with increasing gaps."""
        if settlement.state is UrlState.EXCLUDED and settlement.reason != "domain_limit":
            self._update_demand(before, None)
            return settlement
        if settlement.reason in _RETURN_LATER:
            self._update_demand(before, None)
            return settlement
        longest = self._ruling(visit, before.mime, _PAGE).longest
        gap = min(max(2 * (before.planned_gap or 0.0), self._default_gap), longest)
        at: Instant | None = Instant(settlement.at + gap)
        if settlement.state is UrlState.EXCLUDED:
            at, gap = None, 0.0
        self._update_demand(before, gap or None)
        return settlement._replace(
            state=before.state, available_at=at, planned_gap=gap or None, tries=0, status=None, kept=True
        )

    # --- plans ------------------------------------------------------------------------------------

    def plan(
        self,
        visit: Visit,
        standing: PageStatus,
        now: Instant,
        mime: str | None,
        *,
        changed: bool | None = None,
        said: ChangeHint = NO_HINT,
    ) -> Planned:
        """When a page is visited next. `changed` is None if there is nothing to compare with."""
        task = visit.task
        before = task.previous
        ruling = self._default_ruling
        if ruling is None or standing is not _PAGE:
            ruling = self._ruling(visit, mime, standing)
        if ruling.fixed == NEVER_AGAIN:
            return self.plan_no_visit(visit)
        if changed is None or before is None:
            return self._after_first(visit, ruling, now, mime, said.modified)
        known = self._host(visit.host_id)
        price, gap = self.price.price, before.planned_gap
        if gap and (now - before.at > _LATE * gap or visit.host_id in self._priced_hosts):
            price = self._price_at(visit, before, gap, now, known.rates.pages)
        prior = self._policy.prior(known.rates, self._default_gap)
        if task.changefreq is not None:
            prior = prior_of(task.changefreq, prior)
        hub = is_hub(task, mime)
        terms = self._rules.terms(
            ruling,
            importance=HUB_WEIGHT if hub else self._importance(task.priority),
            price=price,
            prior=prior,
            recall=0.0 if task.modified is None else known.recall,
            hub=hub,
        )
        previous_shape, previous_span = before.rate_shape or 0.0, before.rate_span or 0.0
        since = now - before.at
        modified, flagged_after = said
        visited = Visited(now, Seconds(since if since > 0 else 0.0), changed, modified, flagged_after)
        next_visit, memory, _ = self._policy.after(
            visited, Memory(previous_shape, previous_span, before.visits, before.changes), terms
        )
        shape, span, _, _ = memory
        if self._policy.estimates_rates and shape > 0:
            known.rates = known.rates.updated(
                (previous_shape, previous_span) if previous_shape > 0 else None, (shape, span)
            )
        gap = next_visit - now
        self._update_demand(before, gap)
        return Planned(next_visit, gap, shape or None, span or None)

    def _price_at(self, visit: Visit, before: PreviousVisit, gap: float, now: Instant, pages: int) -> float:
        """The price of a visit to this host. After failed tries, lateness says nothing about the host's backlog."""
        usual, host_id = self.price.price, visit.host_id
        if visit.task.tries or not self.by_price:
            return self.backlogs.prices.price_for(host_id, usual)
        return self.backlogs.update_price(host_id, now=now, before=before.at, gap=gap, usual=usual, pages=pages)

    def _ruling(self, visit: Visit, mime: str | None, standing: PageStatus) -> Ruling:
        return self._rules.ruling(PageFacts(visit.host, visit.task.url, mime or "", standing))

    def _after_first(
        self, visit: Visit, ruling: Ruling, now: Instant, mime: str | None, changed_at: Instant | None
    ) -> Planned:
        """Hot: the same is known about most pages of a first crawl, so the result is cached."""
        host_id, task = visit.host_id, visit.task
        known = self._hosts.get(host_id)
        prior = self._policy.prior(_NO_RATES if known is None else known.rates, self._default_gap)
        if task.changefreq is not None:
            prior = prior_of(task.changefreq, prior)
        hub = is_hub(task, mime)
        importance = HUB_WEIGHT if hub else round(self._importance(task.priority), 2)
        shared = ruling is self._default_ruling and self._policy.estimates_rates and changed_at is None
        shared = shared and not hub and host_id not in self._priced_hosts
        gap = self._first.get((prior, importance)) if shared else None
        shape = span = None
        if gap is None:
            price = self.backlogs.prices.price_for(host_id, self.price.price)
            terms = self._rules.terms(ruling, importance=importance, price=price, prior=prior, hub=hub)
            plan = self._policy.after(Visited(now, changed_at=changed_at), EMPTY_MEMORY, terms)
            gap, shape, span = plan.gap(now), plan.memory.rate_shape or None, plan.memory.rate_span or None
            if changed_at is not None and self._policy.estimates_rates and shape and span:
                learning = self._host(host_id)
                learning.rates = learning.rates.updated(None, Estimate(shape, span))
            if shared:
                if len(self._first) > _MOST_FIRST:
                    self._first.clear()
                self._first[prior, importance] = gap
        self._update_demand(task.previous, gap)
        return Planned(Instant(now + gap), gap, shape, span)

    def _without_document(self, visit: Visit, standing: PageStatus, settlement: Settlement) -> Planned:
        """For URLs without a document: the gap set by a rule, by the retry policy, or the default for the status."""
        ruling = self._ruling(visit, settlement.mime, standing)
        gap: float | None = ruling.fixed
        if ruling.rule == standing.value and settlement.available_at is not None:
            gap = settlement.available_at - settlement.at
        elif ruling.rule == standing.value and standing is PageStatus.GONE:
            gap = None  # not visited again, unless a user's rule says so
        if gap is None or gap == NEVER_AGAIN:
            return self.plan_no_visit(visit)
        self._update_demand(visit.task.previous, gap)
        return Planned(Instant(settlement.at + gap), gap)

    def _update_demand(self, before: PreviousVisit | None, gap: float | None) -> None:
        was = None if before is None else before.planned_gap
        self.price.on_planned(None if was is None else was / DAY, None if gap is None else gap / DAY)
