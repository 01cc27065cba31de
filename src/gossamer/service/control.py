"""Whoever steers a running crawl: every change that the service makes, each on record before it is acknowledged.

Lives on the crawl's event loop. A change is put into the crawl's open batch, like everything else that is to be
stored; the answer waits for the commit.
"""

import asyncio
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from typing import NamedTuple

from gossamer.config.load import Config, shape_of
from gossamer.config.policies import canonicaliser_for, politeness_for
from gossamer.crawl.run.session import Session
from gossamer.crawl.visit.host_settings import HOST_DROPPED
from gossamer.fetch.dns.policy import AddressPolicy
from gossamer.filter.canonical import Canonical, Refusal, refusal
from gossamer.filter.rules import EntryRules
from gossamer.model.batch import BulkChange, Committed, SeedRecord
from gossamer.model.states import UrlState, meaning_of
from gossamer.model.units import HostKey, Seconds, Url
from gossamer.reports.ports import CrawlReader
from gossamer.reports.records import DeadFilter, ExcludedUrl
from gossamer.seed.lists import with_scheme
from gossamer.service.overrides import FACT, Limits, Overrides
from gossamer.store.table.bulk_changes import DROPPED, MOST

LIMIT_REASONS = ("depth_limit", "url_too_long", "excluded_domain")
"""Why limits exclude: what returns when they are lifted."""
WHERE = "POST /seed/urls"
_NOT_TEXT = re.compile("[\\x00-\\x1f\\x7f\\ud800-\\udfff]").search


class Answered(NamedTuple):
    """What became of one seed: `accepted`, `known` or `refused`."""

    given: str
    status: str
    url: str | None = None
    reason: str | None = None

    @property
    def meaning(self) -> str | None:
        """The reason in words."""
        return None if self.reason is None else meaning_of(self.reason)


class Unavailable(Exception):
    """No change can be taken now, and why. Nothing was acknowledged."""

    def __init__(self, why: str = "the store is not available") -> None:
        super().__init__(why)


class Control:
    """Steers one crawl. `config` is the configuration without what was ordered."""

    def __init__(self, opened: Session, config: Config, orders: Overrides, *, patience: float) -> None:
        """`patience`: seconds to wait for a commit."""
        self._opened = opened
        self._base = config
        self._orders = orders
        self._patience = patience
        self._canonicaliser = canonicaliser_for(config)
        self._addresses = AddressPolicy(allow_private=config.allow_private, allowed_networks=config.allow_networks)
        self._changing = asyncio.Lock()  # rules and orders change one at a time
        self.changes = 0  # of the configuration or the orders
        crawl = opened.crawl
        crawl.controls.paused |= orders.paused_hosts
        crawl.controls.dropped |= orders.dropped_hosts
        crawl.engine.paused = orders.paused

    @property
    def config(self) -> Config:
        """The configuration as it holds now."""
        return self._orders.applied_to(self._base)

    @property
    def orders(self) -> Overrides:
        return self._orders

    @property
    def available(self) -> bool:
        """Whether changes can be taken."""
        return self._opened.crawl.store.failing is None and not self._opened.crawl.engine.stopping

    # --- seeds -----------------------------------------------------------------------------------

    async def add_seeds(self, texts: Sequence[str], patience: float | None = None) -> list[Answered]:
        """Let URLs in as seeds, in the words of a caller. One answer for each, in order. Raises Unavailable; then none
        is acknowledged, though some may be on record. `patience`: seconds to wait for a store that is slow."""
        self._must_be_available()
        crawl = self._opened.crawl
        found = [self._read(text) for text in texts]
        hosts = frozenset(each.host for each in found if not isinstance(each, Refusal))
        rules = self._rules_with_seeds(hosts)
        answers: list[Answered | None] = []
        entering: dict[Url, SeedRecord] = {}
        candidates = []
        for text, each in zip(texts, found, strict=True):
            if isinstance(each, Refusal):
                given = text.encode("utf-8", "replace").decode()  # what was no UTF-8 is told as question marks
                answers.append(Answered(given, "refused", None, each.reason))
                continue
            reason = self._reason_against(each.url, each.host, rules)
            if reason is not None:
                answers.append(Answered(text, "refused", each.url, reason))
                continue
            if each.url not in entering:
                entering[each.url] = SeedRecord(each.url, each.host, text.strip(), WHERE)
                candidates.append(crawl.admission.seed(each.url, each.host))
            answers.append(None)
        new: frozenset[Url] = frozenset()
        if entering:
            self._widen({record.host for record in entering.values()})
            batch = crawl.store.batch
            batch.seeds += entering.values()
            batch.candidates += candidates
            new = (await self._committed(patience)).new_seeds
        told: set[str] = set()
        for at, (each, answer) in enumerate(zip(found, answers, strict=True)):
            if answer is None and not isinstance(each, Refusal):
                fresh = each.url in new and each.url not in told
                told.add(each.url)
                answers[at] = Answered(texts[at], "accepted" if fresh else "known", each.url)
        return [answer for answer in answers if answer is not None]

    def _read(self, text: str) -> Canonical | Refusal:
        """The URL that a caller means. Line ends within one are not passed over, as those of a page's links are: who
        sends them means no URL, or no good."""
        if _NOT_TEXT(text):
            return refusal("bad_url", text)
        return self._canonicaliser.canonicalise(with_scheme(text.strip()))

    def _reason_against(self, url: Url, host: HostKey, rules: EntryRules) -> str | None:
        address = host.strip("[]")
        if host == "localhost" or host.endswith(".localhost"):
            address = "127.0.0.1"
        literal = host.startswith("[") or address.replace(".", "").isdigit()
        if literal and not self._addresses.may_dial(address):
            return "blocked_address"
        return rules.may_enter(url, host, 0)

    def _rules_with_seeds(self, hosts: Iterable[HostKey]) -> EntryRules:
        """The rules once these hosts belong to the crawl, if its scope says so; the same if that changes nothing."""
        current = self._opened.crawl.admission.rules
        scope = current.scope.with_seeds(hosts)
        return current if scope is current.scope else replace(current, scope=scope)

    def _widen(self, hosts: set[HostKey]) -> None:
        crawl = self._opened.crawl
        crawl.scope_seeds.update(hosts)
        rules = self._rules_with_seeds(hosts)
        if rules is not crawl.admission.rules:
            crawl.admission.change_rules(rules)

    # --- limits ----------------------------------------------------------------------------------

    async def take(self, config: Config) -> int:
        """Go by another configuration, as `gossamer crawl` does on SIGHUP: its rules of entry and what it wishes for
        single hosts. What was ordered stays above it. Returns how many URLs came back. Raises ConfigError or
        Unavailable; then nothing was changed."""
        async with self._changing:
            self._must_be_available()
            before, self._base = self._base, config
            try:
                self._opened.crawl.change_rules(self.config)
            except BaseException:
                self._base = before
                raise
            await self._keep()
            return await self._give_back(LIMIT_REASONS)

    async def set_limits(self, limits: Limits) -> int:
        """Hold every URL to these limits from now on, queued ones too, and give back what only the old ones kept out.
        Returns how many came back. Raises ConfigError; then nothing was changed."""
        async with self._changing:
            self._must_be_available()
            before, self._orders.limits = self._orders.limits, limits
            try:
                self._opened.crawl.change_rules(self.config)
            except BaseException:
                self._orders.limits = before
                raise
            await self._keep()
            self._opened.log.event(
                "limits.changed",
                excluded_domains=len(limits.excluded_domains),
                depth=limits.depth,
                url_bytes=limits.url_bytes,
            )
            return await self._give_back(LIMIT_REASONS)

    async def _give_back(self, reasons: tuple[str, ...], host: HostKey | None = None) -> int:
        """Queue what was excluded for these reasons and may enter now."""
        admission = self._opened.crawl.admission
        pages, files = admission.rules, admission.file_rules

        def returning(after: Iterator[list[ExcludedUrl]]) -> list[int] | None:
            chunk = next(after, None)
            if chunk is None:
                return None
            return [
                number
                for number, url, host, depth, sitemap in chunk
                if (files if sitemap else pages).may_enter(url, host, depth) is None
            ]

        done = 0
        with closing(await self._open_reader()) as reader:
            chunks = reader.dead_letters.excluded(reasons, host)
            while (ids := await asyncio.to_thread(returning, chunks)) is not None:
                done += await self._order(ids, UrlState.EXCLUDED, UrlState.QUEUED, reasons)
        return done

    # --- hosts -----------------------------------------------------------------------------------

    async def pause_host(self, host: HostKey) -> None:
        async with self._changing:
            self._must_be_available()
            self._opened.crawl.controls.pause(host)
            self._orders.paused_hosts.add(host)
            await self._keep()
            self._opened.log.event("host.paused", host=host)

    async def resume_host(self, host: HostKey) -> int:
        """Crawl the host again as any other. Returns how many URLs came back."""
        async with self._changing:
            self._must_be_available()
            dropped = self._opened.crawl.controls.resume(host)
            self._orders.paused_hosts.discard(host)
            self._orders.dropped_hosts.discard(host)
            await self._keep()
            self._opened.log.event("host.resumed", host=host)
            return await self._give_back((HOST_DROPPED,), host) if dropped else 0

    async def drop_host(self, host: HostKey) -> None:
        """Exclude the host's URLs when their turn comes, until it is resumed."""
        async with self._changing:
            self._must_be_available()
            self._opened.crawl.controls.drop(host)
            self._orders.paused_hosts.discard(host)
            self._orders.dropped_hosts.add(host)
            await self._keep()
            self._opened.log.event("host.dropped", host=host)

    def least_delay(self, host: HostKey) -> float:
        """The delay that the configuration asks for: no order goes below it."""
        return politeness_for(self._base, host).min_delay

    async def delay_host(self, host: HostKey, seconds: float | None) -> None:
        """Leave the host alone for at least so long after each answer; None: as the configuration says."""
        async with self._changing:
            self._must_be_available()
            ordered = self._opened.crawl.controls.delays
            self._orders.delays.pop(host, None)
            ordered.pop(host, None)
            if seconds is not None:
                self._orders.delays[host] = ordered[host] = Seconds(seconds)
            await self._keep()
            self._opened.log.event("host.delayed", host=host, delay_s=seconds)

    # --- dead letters ----------------------------------------------------------------------------

    async def requeue_dead(self, wanted: DeadFilter, urls: Sequence[str] | None = None) -> int:
        return await self._dead(wanted, urls, UrlState.QUEUED, None)

    async def drop_dead(self, wanted: DeadFilter, urls: Sequence[str] | None = None) -> int:
        return await self._dead(wanted, urls, UrlState.EXCLUDED, DROPPED)

    async def _dead(self, wanted: DeadFilter, urls: Sequence[str] | None, to: UrlState, because: str | None) -> int:
        self._must_be_available()
        done, after = 0, 0
        with closing(await self._open_reader()) as reader:
            letters = reader.dead_letters
            if urls is not None:
                ids = await asyncio.to_thread(letters.ids_of, self._canonical(urls))
                return await self._order(ids, UrlState.DEAD, to, (), because)
            # As many as there are now: what dies again meanwhile is not asked a second time, since rows only grow.
            while ids := await asyncio.to_thread(letters.ids, wanted, after=after, most=MOST):
                after = ids[-1]
                done += await self._order(ids, UrlState.DEAD, to, (), because)
        return done

    def _canonical(self, urls: Sequence[str]) -> list[str]:
        found = (self._canonicaliser.canonicalise(with_scheme(url.strip())) for url in urls)
        return [each.url for each in found if not isinstance(each, Refusal)]

    # --- the crawl -------------------------------------------------------------------------------

    async def pause(self, paused: bool) -> None:
        """Start no visits, or start them again."""
        async with self._changing:
            self._must_be_available()
            self._orders.paused = paused
            self._opened.crawl.engine.pause(paused)
            await self._keep()
            if paused:
                self._opened.log.event("crawl.paused")
            else:
                self._opened.log.event("crawl.resumed")

    # --- commits ---------------------------------------------------------------------------------

    async def _open_reader(self) -> CrawlReader:
        return await asyncio.to_thread(self._opened.crawl.open_reader)

    def _must_be_available(self) -> None:
        if self._opened.crawl.engine.stopping:
            raise Unavailable("the service is stopping")
        if not self.available:
            raise Unavailable

    async def _order(
        self, ids: Sequence[int], state: UrlState, to: UrlState, reasons: tuple[str, ...], because: str | None = None
    ) -> int:
        done = 0
        for at in range(0, len(ids), MOST):
            order = BulkChange(tuple(ids[at : at + MOST]), state, to, reasons, because)
            self._opened.crawl.store.batch.bulk_changes.append(order)
            await self._committed()
            done += order.changed
        return done

    async def _keep(self) -> None:
        self.changes += 1
        facts = self._opened.crawl.store.batch.facts
        facts[FACT] = self._orders.to_text()
        facts["options"] = json.dumps(shape_of(self.config))  # so that `gossamer crawl` goes on by the same limits
        await self._committed()

    async def _committed(self, patience: float | None = None) -> Committed:
        """Wait until everything so far is on record. Raises Unavailable if that takes too long."""
        store = self._opened.crawl.store
        committed = await store.try_to_commit_within(self._patience, patience or self._patience)
        if committed is None:
            raise Unavailable
        return committed
