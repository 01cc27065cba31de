"""Sitemaps and feeds in a crawl: which are asked for, and how what they list enters (ADR 14).

A sitemap is a URL of the task table like any other, and visited like any other. What it lists goes into the store a
few hundred URLs at a time, each lot when the one before is committed; the sitemap is settled with the last of them. So
neither the event loop nor a commit is held for long, and a crash in the middle costs a second visit and loses nothing.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from gossamer.config.sections import SitemapsSection
from gossamer.crawl.counters import Counters
from gossamer.crawl.document.admission import Admission
from gossamer.crawl.document.processor import DecodedDocument
from gossamer.extract.page_meta import DirectivesFor
from gossamer.extract.sitemaps import (
    GZIP_MARK,
    Entry,
    Fault,
    ListKind,
    Outcome,
    ReadLimits,
    is_feed,
    is_sitemap,
    read_list,
)
from gossamer.filter.canonical import Canonical, Refusal
from gossamer.model.batch import HintRecord, SitemapName, SitemapRecord
from gossamer.model.document import ProcessedDocument
from gossamer.model.loads import SitemapFacts
from gossamer.model.outcome import Truncation
from gossamer.model.settlement import PageLinks
from gossamer.model.task import Candidate, Via, Visit
from gossamer.model.units import Fingerprint, HostId, HostKey, Instant, Origin, Url
from gossamer.store.threads import WriterThread

LOT: Final = 1_000
"""URLs that are handed to the store before its commit is waited for: some tens of milliseconds of a commit."""

MAX_LEVELS: Final = 5
"""Indexes within indexes; a sitemap that robots.txt names is the first level."""
MAX_FILES: Final = 1_000
"""Sitemaps of one host."""
MAX_URLS: Final = 1_000_000
"""URLs that the sitemaps of one host list."""

STEP: Final = 256
"""URLs that are let in at a time: some milliseconds of the event loop."""

SITEMAP_LIMIT: Final = "sitemap_limit"
_FEED_ENTRIES: Final = 5_000  # as many as a page has links
_NO_PAGES: Final = frozenset({"self", "edit", "edit-media", "hub", "search", "image", "service.post", "service.edit"})


LoadFacts = Callable[[int, HostId], Awaitable[SitemapFacts]]
"""By the sitemap and its host."""


class _Lot(NamedTuple):
    """What is to be handed to the store together."""

    candidates: list[Candidate]
    hints: list[HintRecord]
    names: list[SitemapName]


@dataclass(slots=True)
class _Course:
    """One list while it is read."""

    opened: DecodedDocument
    base: str
    facts: SitemapFacts
    room: int  # entries that its host may still list
    excluded: Counter[str] = field(default_factory=Counter)
    lot: _Lot = field(default_factory=lambda: _Lot([], [], []))
    links: dict[Fingerprint, HostKey] = field(default_factory=dict)  # of a feed
    listed: int = 0


class ListRead(NamedTuple):
    """What a list came to, to be committed with its settlement."""

    candidates: list[Candidate]
    links: PageLinks | None
    excluded: Counter[str]
    outcome: Outcome | None

    def added_to(self, read: ProcessedDocument) -> ProcessedDocument:
        """The same document with what it lists."""
        settlement = read.settlement
        if self.outcome is not None and self.outcome.fault is not None and settlement.reason is None:
            fault, detail = self.outcome.fault, self.outcome.detail
            if settlement.truncated == Truncation.LENGTH.value and fault is Fault.BAD_XML:
                fault = Fault.LIMIT  # it was we who cut it
            settlement = settlement._replace(reason=fault.value, detail=detail)
        return ProcessedDocument(settlement, self.candidates, self.links, read.excluded + self.excluded, read.previous)


class Sitemaps:
    """Offers the sitemaps that robots.txt files name, and reads lists. Owned by the event loop."""

    def __init__(
        self,
        *,
        admission: Admission,
        store: WriterThread,
        counters: Counters,
        settings: SitemapsSection,
        agent: str,
        load_facts: LoadFacts,
        believes: Callable[[HostKey], bool | None] = lambda host: False,
    ) -> None:
        """`believes`: whether a page of a host has changed if a list says so."""
        self._admission = admission
        self._store = store
        self._counters = counters
        self._settings = settings
        self._limits = ReadLimits()
        self._agent = agent
        self._load_facts = load_facts
        self._believes = believes
        self._one_at_a_time = asyncio.Lock()

    # --- which ---------------------------------------------------------------------------------------

    def named(self, visit: Visit, origin: Origin, lines: Sequence[str]) -> None:
        """The robots.txt of an origin is known; these are its `Sitemap:` lines. They stand at the depth of the URL for
        which it was asked: where the host begins."""
        if not self._settings.enabled:
            return
        if not lines and self._settings.well_known:
            lines = ("/sitemap.xml",)
        batch = self._store.batch
        for line in lines[:MAX_FILES]:
            target = self._admission.canonical(line, f"{origin}/robots.txt")
            if isinstance(target, Refusal):
                self._counters.count(batch, "excluded:" + target.reason)
                continue
            excluded: Counter[str] = Counter()
            (fp,), candidates = self._admit_files(visit, [target], 1, excluded)
            batch.candidates += candidates
            batch.sitemap_names.append(SitemapName(target.host, fp, visit.host))
            for reason, n in excluded.items():
                self._counters.count(batch, "excluded:" + reason, n)

    def _admit_files(
        self, visit: Visit, targets: Sequence[Canonical], level: int, excluded: Counter[str]
    ) -> tuple[list[Fingerprint], list[Candidate]]:
        found_on = visit.task.url_id if level > 1 else 0
        return self._admission.admit(
            targets, visit.task.depth, Via.SITEMAP, found_on, excluded, sitemap=level, rules=self._admission.file_rules
        )

    # --- reading -------------------------------------------------------------------------------------

    def is_list(self, opened: DecodedDocument) -> bool:
        """Whether a document lists URLs: a sitemap that was named as one, or by its type or first element a list."""
        document = opened.document
        if not 200 <= document.response.status < 300 or opened.payload.unknown_coding:
            return False
        if document.visit.task.sitemap:
            return True
        content_type = document.response.headers.get("content-type")
        if content_type is None or ("xml" not in content_type and "rss" not in content_type):
            return False
        start = opened.payload.body
        return is_feed(content_type, start) or (self._settings.enabled and is_sitemap(content_type, start))

    async def read(self, opened: DecodedDocument) -> ListRead:
        """Read a list and let in what it lists, all but the last lot: that is the caller's, to be committed with the
        settlement."""
        visit, response = opened.document.visit, opened.document.response
        headers = response.headers
        robots_tag = headers.get("x-robots-tag")
        if robots_tag is not None and DirectivesFor(self._agent, robots_tag).directives().nofollow:
            return ListRead([], None, Counter(), None)
        feed = not visit.task.sitemap and is_feed(headers.get("content-type"), opened.payload.body)
        async with AsyncExitStack() as stack:
            facts = SitemapFacts((), 0, 0)
            if not feed:
                # One after the other, and when all is committed: or the counts of a host would not be what they are.
                await stack.enter_async_context(self._one_at_a_time)
                await self._store.until_committed()
                facts = await self._load_facts(visit.task.url_id, visit.host_id)
            room = _FEED_ENTRIES if feed else max(0, MAX_URLS - facts.listed)
            course = _Course(opened, self._base(visit.task.url, headers.get("content-location")), facts, room)
            outcome = await self._read(course)
            if not feed:
                self._note(visit, outcome, course)
        batch = self._store.batch
        batch.hints += course.lot.hints
        batch.sitemap_names += course.lot.names
        links = None
        if feed and course.links:
            links = PageLinks(visit.task.url_id, visit.domain_id, list(course.links), list(course.links.values()))
        return ListRead(course.lot.candidates, links, course.excluded, outcome)

    def _base(self, url: Url, content_location: str | None) -> str:
        """What relative references are read against."""
        if content_location is None:
            return url
        said = self._admission.canonical(content_location, url)
        return url if isinstance(said, Refusal) else said.url

    async def _read(self, course: _Course) -> Outcome:
        payload = course.opened.payload
        # What was not unpacked to its end, for its size alone, is unpacked here in slices.
        packed = payload.truncated is not None and payload.entity[:2] == GZIP_MARK
        body = payload.entity if packed else payload.body
        content_type = course.opened.document.response.headers.get("content-type")
        reading = read_list(body, course.opened.document.finished, content_type=content_type, limits=self._limits)
        while True:
            try:
                kind, entries = next(reading)
            except StopIteration as end:
                outcome: Outcome = end.value
                return outcome
            await asyncio.sleep(0)
            for start in range(0, len(entries), STEP):
                self._take(course, kind, entries[start : start + STEP])
                await asyncio.sleep(0)
            if len(course.lot.candidates) + len(course.lot.hints) >= LOT and kind.is_sitemap:
                await self._hand_over(course)

    async def _hand_over(self, course: _Course) -> None:
        """Commit what has been found so far, and wait until it is."""
        batch, lot = self._store.batch, course.lot
        batch.candidates += lot.candidates
        batch.hints += lot.hints
        batch.sitemap_names += lot.names
        self._counters.count(batch, "sitemap_urls", len(lot.candidates))
        course.lot = _Lot([], [], [])
        self._store.nudge()
        await self._store.until_committed()

    def _note(self, visit: Visit, outcome: Outcome, course: _Course) -> None:
        batch = self._store.batch
        self._counters.count(batch, "sitemaps")
        self._counters.count(batch, "sitemap_urls", len(course.lot.candidates))
        if outcome.dropped:
            course.excluded[SITEMAP_LIMIT] += outcome.dropped
        batch.sitemaps.append(
            SitemapRecord(visit.task.url_id, visit.host_id, outcome.kind.value, course.listed, outcome.dropped)
        )

    # --- what is listed ------------------------------------------------------------------------------

    def _take(self, course: _Course, kind: ListKind, entries: list[Entry]) -> None:
        """Let in what a slice of the list has given."""
        if kind is ListKind.INDEX:
            self._take_files(course, entries)
            return
        room = max(0, course.room - course.listed)
        if len(entries) > room:
            course.excluded[SITEMAP_LIMIT] += len(entries) - room
            entries = entries[:room]
        course.listed += len(entries)
        visit = course.opened.document.visit
        url_id = visit.task.url_id
        targets, said = self._targets(course, entries)
        sitemap = kind.is_sitemap
        via = Via.SITEMAP if sitemap else Via.LINK
        prints, candidates = self._admission.admit(targets, visit.task.depth + 1, via, url_id, course.excluded)
        dates: dict[Fingerprint, Entry] = {}
        hints = course.lot.hints
        for target, entry, fp in zip(targets, said, prints, strict=True):
            if not sitemap and fp != visit.task.fingerprint:
                course.links[fp] = target.host
            if entry is None or fp in dates:
                continue
            dates[fp] = entry
            if sitemap or entry.lastmod is not None:
                believed = entry.lastmod is not None and self._believes(target.host)
                hints.append(
                    HintRecord(target.host, fp, url_id, entry.lastmod, entry.changefreq, entry.priority, believed)
                )
        course.lot.candidates.extend(
            c._replace(modified=dates[c.fingerprint].lastmod) if c.fingerprint in dates else c for c in candidates
        )

    def _targets(self, course: _Course, entries: list[Entry]) -> tuple[list[Canonical], list[Entry | None]]:
        """The URLs of a slice, and beside each the entry if the list may speak for it. Refusals are counted."""
        visit = course.opened.document.visit
        base, excluded = course.base, course.excluded
        canonical = self._admission.canonical
        targets: list[Canonical] = []
        said: list[Entry | None] = []
        for entry in entries:
            others = [link.href for link in entry.related if link.rel not in _NO_PAGES and link.href != entry.url]
            for number, href in enumerate([entry.url, *others]):
                if href is None:
                    continue
                target = canonical(href, base)
                if isinstance(target, Refusal):
                    excluded[target.reason] += 1
                    continue
                # A sitemap speaks for its own host, and for hosts whose robots.txt names it ("Cross submits").
                its_own = target.host == visit.host or target.host in course.facts.named_by
                targets.append(target)
                said.append(entry if number == 0 and its_own else None)
        return targets, said

    def _take_files(self, course: _Course, entries: list[Entry]) -> None:
        """The sitemaps that an index lists: one level further down, and no further than the last."""
        visit = course.opened.document.visit
        level = max(1, visit.task.sitemap) + 1
        room = max(0, MAX_FILES - course.facts.files - course.listed)
        if level > MAX_LEVELS:
            room = 0
        course.excluded[SITEMAP_LIMIT] += max(0, len(entries) - room)
        targets: list[Canonical] = []
        dates: list[Instant | None] = []
        for entry in entries[:room]:
            target = None if entry.url is None else self._admission.canonical(entry.url, course.base)
            if isinstance(target, Refusal):
                course.excluded[target.reason] += 1
            elif target is not None:
                targets.append(target)
                dates.append(entry.lastmod)
        course.listed += len(targets)
        prints, candidates = self._admit_files(visit, targets, level, course.excluded)
        course.lot.candidates.extend(candidates)
        course.lot.hints.extend(
            HintRecord(target.host, fp, visit.task.url_id, date, None, None, self._believes(target.host))
            for target, fp, date in zip(targets, prints, dates, strict=True)
            if date is not None
        )
        course.lot.names.extend(
            SitemapName(target.host, fp, host)
            for target, fp in zip(targets, prints, strict=True)
            for host in course.facts.named_by
        )
