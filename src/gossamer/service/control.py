"""Control of a running crawl: every change that the API offers. A change is committed before it is acknowledged.

Runs on the event loop of the crawl. A change is added to the open batch of the crawl, like everything else that is
stored, and the response waits for the commit.
"""

import asyncio
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from typing import NamedTuple

from gossamer.config.load import Config, shape_of
from gossamer.config.overrides import HOST_DROPPED, OVERRIDES_KEY, Limits, Overrides
from gossamer.config.policies import canonicaliser_for, politeness_for
from gossamer.crawl.run.rule_changes import LIMIT_REASONS, exclusions
from gossamer.crawl.run.session import Session
from gossamer.filter.canonical import Canonical, Refusal, refusal
from gossamer.filter.rules import EntryRules
from gossamer.model.batch import BulkChange, Committed, SeedRecord
from gossamer.model.states import UrlState, meaning_of
from gossamer.model.units import HostKey, Seconds, Url
from gossamer.reports.ports import CrawlReader
from gossamer.reports.records import DeadFilter, ExcludedUrl, LimitedUrl
from gossamer.seed.lists import with_scheme
from gossamer.store.table.bulk_changes import DROPPED, MOST

ENFORCEMENT_PATIENCE = 10.0
"""Seconds that a request waits until changed limits are applied to all known URLs; then it says how many are left."""
_SLICE_PATIENCE = 60.0
"""Seconds for one slice: a slow store slows this down instead of ending it."""
_Pairs = list[tuple[int, str]]
WHERE = "POST /seed/urls"
_NOT_TEXT = re.compile("[\\x00-\\x1f\\x7f\\ud800-\\udfff]").search


class SeedResult(NamedTuple):
    """Result for one seed: `accepted`, `known` or `refused`."""

    given: str
    status: str
    url: str | None = None
    reason: str | None = None

    @property
    def meaning(self) -> str | None:
        """The reason as readable text."""
        return None if self.reason is None else meaning_of(self.reason)


class Unavailable(Exception):
    """Changes cannot be made at present; carries the reason. Nothing was acknowledged."""

    def __init__(self, reason: str = "the store is unavailable") -> None:
        super().__init__(reason)


class LimitProgress(NamedTuple):
    """How far changed limits have been applied to the known URLs."""

    excluded: int
    requeued: int
    unchecked: int  # known URLs that were not looked at yet
    rereading: int = 0  # pages that are to be read again for links that were refused


class Control:
    """Makes changes to one crawl."""

    def __init__(self, opened: Session, config: Config, overrides: Overrides, *, patience: float) -> None:
        """`config`: without the overrides. The `overrides` have those of the crawl for hosts. `patience`: seconds to
        wait for a commit."""
        self._opened = opened
        self._base = config
        self._overrides = overrides
        self._patience = patience
        self._canonicaliser = canonicaliser_for(config)
        self._changing = asyncio.Lock()  # one change of rules or overrides at a time
        self._enforcement: asyncio.Task[None] | None = None
        self._is_superseded = False  # other limits are about to be applied
        self._requeued = self._unchecked = 0  # by the last change of limits
        self.changes = 0  # number of changes of the configuration or the overrides
        opened.crawl.engine.pause(overrides.paused)

    @property
    def config(self) -> Config:
        """The current configuration, with the limits that override it."""
        return self._overrides.apply_limits(self._base)

    @property
    def overrides(self) -> Overrides:
        return self._overrides

    @property
    def available(self) -> bool:
        """Whether changes can be made."""
        return self._opened.crawl.store.failing is None and not self._opened.crawl.engine.stopping

    # --- seeds -----------------------------------------------------------------------------------

    async def add_seeds(self, texts: Sequence[str], patience: float | None = None) -> list[SeedResult]:
        """Add seeds given as text. Returns a result for each, in order. Raises Unavailable; then none is acknowledged,
        though some may have been committed. `patience`: seconds to wait for a slow store."""
        self._require_available()
        crawl = self._opened.crawl
        found = [self._read(text) for text in texts]
        hosts = frozenset(each.host for each in found if not isinstance(each, Refusal))
        rules = self._rules_with_seeds(hosts)
        answers: list[SeedResult | None] = []
        entering: dict[Url, SeedRecord] = {}
        candidates = []
        for text, each in zip(texts, found, strict=True):
            if isinstance(each, Refusal):
                given = text.encode("utf-8", "replace").decode()  # invalid UTF-8 is shown as question marks
                answers.append(SeedResult(given, "refused", None, each.reason))
                continue
            reason = self._check(each.url, each.host, rules)
            if reason is not None:
                answers.append(SeedResult(text, "refused", each.url, reason))
                continue
            if each.url not in entering:
                entering[each.url] = SeedRecord(each.url, each.host, text.strip(), WHERE)
                candidates.append(crawl.admission.admit_seed(each.url, each.host))
            answers.append(None)
        new: frozenset[Url] = frozenset()
        if entering:
            self._extend_scope({record.host for record in entering.values()})
            batch = crawl.store.batch
            batch.seeds += entering.values()
            batch.candidates += candidates
            new = (await self._commit(patience)).new_seeds
        accepted: set[str] = set()
        for at, (each, answer) in enumerate(zip(found, answers, strict=True)):
            if answer is None and not isinstance(each, Refusal):
                is_new = each.url in new and each.url not in accepted
                accepted.add(each.url)
                answers[at] = SeedResult(texts[at], "accepted" if is_new else "known", each.url)
        return [answer for answer in answers if answer is not None]

    def _read(self, text: str) -> Canonical | Refusal:
        """The canonical URL of a text. Control characters are refused, not removed as in the links of a page: a client
        that sends them made a mistake or means harm."""
        if _NOT_TEXT(text):
            return refusal("bad_url", text)
        return self._canonicaliser.canonicalise(with_scheme(text.strip()))

    def _check(self, url: Url, host: HostKey, rules: EntryRules) -> str | None:
        if self._opened.crawl.addresses.refused_as(host) is not None:
            return "blocked_address"
        return rules.may_enter(url, host, 0)

    def _rules_with_seeds(self, hosts: Iterable[HostKey]) -> EntryRules:
        """The rules after these hosts are added to the scope; the same object if that changes nothing."""
        current = self._opened.crawl.admission.rules
        scope = current.scope.with_seeds(hosts)
        return current if scope is current.scope else replace(current, scope=scope)

    def _extend_scope(self, hosts: set[HostKey]) -> None:
        crawl = self._opened.crawl
        crawl.scope_seeds.update(hosts)
        rules = self._rules_with_seeds(hosts)
        if rules is not crawl.admission.rules:
            crawl.admission.change_rules(rules)

    # --- limits ----------------------------------------------------------------------------------

    async def reload(self, config: Config) -> None:
        """Apply another configuration, as `gossamer crawl` does on SIGHUP: its rules and its settings for hosts. The
        overrides still take precedence. Raises ConfigError or Unavailable; then nothing was changed."""
        async with self._changing:
            await self._end_enforcement()
            before, self._base = self._base, config
            try:
                self._opened.crawl.change_rules(self.config)
            except BaseException:
                self._base = before
                raise
            self._opened.crawl.change_page_limit(config.max_pages)
            self._start_enforcement()
            await self._save()

    async def set_limits(self, limits: Limits) -> LimitProgress:
        """Apply these limits to all URLs: queued ones become excluded, and URLs that only the old limits excluded are
        requeued. Returns when that is committed, or after some seconds with the progress so far; the rest is then done
        in the background. Raises ConfigError; then nothing was changed."""
        async with self._changing:
            await self._end_enforcement()
            before, self._overrides.limits = self._overrides.limits, limits
            try:
                self._opened.crawl.change_rules(self.config)
            except BaseException:
                self._overrides.limits = before
                raise
            enforcement = self._start_enforcement()
            await self._save()
            self._opened.log.event(
                "limits.changed",
                excluded_domains=len(limits.excluded_domains),
                depth=limits.depth,
                url_bytes=limits.url_bytes,
            )
        counting = asyncio.create_task(self._opened.crawl.engine.readmission.until_counted())
        await asyncio.wait({enforcement, counting}, timeout=ENFORCEMENT_PATIENCE)
        counting.cancel()
        if enforcement.done():
            enforcement.result()
        return self.limit_progress

    @property
    def limit_progress(self) -> LimitProgress:
        """Of the last change of limits."""
        engine = self._opened.crawl.engine
        reread = engine.readmission.counts
        returned, left = (0, 0) if reread is None else (reread.returned, reread.pages - reread.done)
        return LimitProgress(engine.limit_enforcement.excluded, self._requeued + returned, self._unchecked, left)

    async def _end_enforcement(self) -> None:
        """Stop applying the limits that are about to change. On return what they have changed is committed."""
        self._require_available()
        if self._enforcement is not None and not self._enforcement.done():
            self._is_superseded = True
            await asyncio.wait({self._enforcement})
        await self._commit()

    def _start_enforcement(self) -> asyncio.Task[None]:
        """Apply the rules, which have changed just now, to the URLs that are known."""
        crawl = self._opened.crawl
        unfinished = crawl.engine.limit_enforcement.start()
        self._is_superseded, self._requeued, self._unchecked = False, 0, crawl.counters.total["discovered"]
        self._enforcement = task = asyncio.create_task(self._apply_limits(unfinished))
        task.add_done_callback(lambda done: done.cancelled() or done.exception())  # it may have no waiter
        return task

    async def _apply_limits(self, unfinished: frozenset[int]) -> None:
        """Exclude queued URLs and requeue excluded ones as the rules say now, a slice per commit. If the store fails or
        the service stops, the queued URLs that are left are excluded by their visits, as after a restart."""
        crawl = self._opened.crawl
        pages, files = crawl.admission.rules, crawl.admission.file_rules

        def next_changes(windows: Iterator[tuple[list[LimitedUrl], int]]) -> tuple[_Pairs, list[int], int] | None:
            found = next(windows, None)
            if found is None:
                return None
            excluded: _Pairs = []
            allowed: list[int] = []
            for number, url, host, depth, sitemap, state in found[0]:
                reason = (files if sitemap else pages).may_enter(url, host, depth)
                if state != UrlState.QUEUED:
                    if reason is None:
                        allowed.append(number)
                elif reason is not None and reason in LIMIT_REASONS and number not in unfinished:
                    excluded.append((number, reason))
            return excluded, allowed, found[1]

        await self._commit(_SLICE_PATIENCE)  # what the former limits have excluded, so that the reader finds it
        with closing(await self._open_reader()) as reader:
            windows = reader.dead_letters.limited(LIMIT_REASONS)
            while not self._is_superseded and (found := await asyncio.to_thread(next_changes, windows)) is not None:
                excluded, allowed, left = found
                for at in range(0, len(excluded), MOST):
                    self._require_available()
                    crawl.store.batch.bulk_changes += exclusions(excluded[at : at + MOST])
                    await self._commit(_SLICE_PATIENCE)
                self._requeued += await self._change_states(
                    allowed, UrlState.EXCLUDED, UrlState.QUEUED, LIMIT_REASONS, patience=_SLICE_PATIENCE
                )
                self._unchecked = left
        await self._commit(_SLICE_PATIENCE)  # with what was loaded meanwhile

    async def _requeue_allowed(self, reasons: tuple[str, ...], host: HostKey | None = None) -> int:
        """Requeue URLs that were excluded for these reasons and are allowed now."""
        admission = self._opened.crawl.admission
        pages, files = admission.rules, admission.file_rules

        def next_allowed(after: Iterator[list[ExcludedUrl]]) -> list[int] | None:
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
            while (ids := await asyncio.to_thread(next_allowed, chunks)) is not None:
                done += await self._change_states(ids, UrlState.EXCLUDED, UrlState.QUEUED, reasons)
        return done

    # --- hosts -----------------------------------------------------------------------------------

    async def pause_host(self, host: HostKey) -> None:
        async with self._changing:
            self._require_available()
            self._overrides.hosts.pause(host)
            await self._save()
            self._opened.log.event("host.paused", host=host)

    async def resume_host(self, host: HostKey) -> int:
        """Undo a pause or a drop. Returns the number of requeued URLs."""
        async with self._changing:
            self._require_available()
            dropped = self._overrides.hosts.resume(host)
            await self._save()
            self._opened.log.event("host.resumed", host=host)
            return await self._requeue_allowed((HOST_DROPPED,), host) if dropped else 0

    async def drop_host(self, host: HostKey) -> None:
        """Exclude each URL of the host when it would be visited, until the host is resumed."""
        async with self._changing:
            self._require_available()
            self._overrides.hosts.drop(host)
            await self._save()
            self._opened.log.event("host.dropped", host=host)

    def min_delay(self, host: HostKey) -> float:
        """The configured delay, which an override cannot shorten."""
        return politeness_for(self._base, host).min_delay

    async def delay_host(self, host: HostKey, seconds: float | None) -> None:
        """Set the minimum delay after each response of the host; None: as configured."""
        async with self._changing:
            self._require_available()
            self._overrides.hosts.set_delay(host, None if seconds is None else Seconds(seconds))
            await self._save()
            self._opened.log.event("host.delayed", host=host, delay_s=seconds)

    # --- dead letters ----------------------------------------------------------------------------

    async def requeue_dead(self, wanted: DeadFilter, urls: Sequence[str] | None = None) -> int:
        return await self._dead(wanted, urls, UrlState.QUEUED, None)

    async def drop_dead(self, wanted: DeadFilter, urls: Sequence[str] | None = None) -> int:
        return await self._dead(wanted, urls, UrlState.EXCLUDED, DROPPED)

    async def _dead(self, wanted: DeadFilter, urls: Sequence[str] | None, to: UrlState, because: str | None) -> int:
        self._require_available()
        done, after = 0, 0
        with closing(await self._open_reader()) as reader:
            letters = reader.dead_letters
            if urls is not None:
                ids = await asyncio.to_thread(letters.ids_of, self._canonical(urls))
                return await self._change_states(ids, UrlState.DEAD, to, (), because)
            # Ids only grow, so URLs that die again meanwhile are not requeued a second time.
            while ids := await asyncio.to_thread(letters.ids, wanted, after=after, most=MOST):
                after = ids[-1]
                done += await self._change_states(ids, UrlState.DEAD, to, (), because)
        return done

    def _canonical(self, urls: Sequence[str]) -> list[str]:
        found = (self._canonicaliser.canonicalise(with_scheme(url.strip())) for url in urls)
        return [each.url for each in found if not isinstance(each, Refusal)]

    # --- the crawl -------------------------------------------------------------------------------

    async def pause(self, paused: bool) -> None:
        """Start no more visits, or start them again."""
        async with self._changing:
            self._require_available()
            self._overrides.paused = paused
            self._opened.crawl.engine.pause(paused)
            await self._save()
            if paused:
                self._opened.log.event("crawl.paused")
            else:
                self._opened.log.event("crawl.resumed")

    # --- commits ---------------------------------------------------------------------------------

    async def _open_reader(self) -> CrawlReader:
        return await asyncio.to_thread(self._opened.crawl.open_reader)

    def _require_available(self) -> None:
        if self._opened.crawl.engine.stopping:
            raise Unavailable("the service is stopping")
        if not self.available:
            raise Unavailable

    async def _change_states(
        self,
        ids: Sequence[int],
        state: UrlState,
        to: UrlState,
        reasons: tuple[str, ...],
        because: str | None = None,
        patience: float | None = None,
    ) -> int:
        done = 0
        for at in range(0, len(ids), MOST):
            order = BulkChange(tuple(ids[at : at + MOST]), state, to, reasons, because)
            self._opened.crawl.store.batch.bulk_changes.append(order)
            await self._commit(patience)
            done += order.changed
        return done

    async def _save(self) -> None:
        self.changes += 1
        facts = self._opened.crawl.store.batch.facts
        facts[OVERRIDES_KEY] = self._overrides.to_text()
        facts["options"] = json.dumps(shape_of(self.config))  # so that `gossamer crawl` continues with the same limits
        await self._commit()

    async def _commit(self, patience: float | None = None) -> Committed:
        """Wait until the open batch is committed. Raises Unavailable if that takes too long."""
        store = self._opened.crawl.store
        committed = await store.try_to_commit_within(self._patience, patience or self._patience)
        if committed is None:
            raise Unavailable
        return committed
