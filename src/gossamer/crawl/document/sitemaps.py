"""Sitemaps and feeds: which are fetched, and how the URLs that they list are admitted (ADR 14).

A sitemap is a URL of the task table and is visited like any other. The URLs that it lists are committed in lots of up
to a thousand, each after the previous one is committed, and the sitemap is settled with the last lot. So neither the
event loop nor a commit is blocked for long, and a crash costs a second visit and loses nothing.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from gossamer.config.sections import SitemapsSection
from gossamer.crawl.document.admission import Admission
from gossamer.crawl.document.processor import DecodedDocument
from gossamer.crawl.visit.settle import Counters
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
from gossamer.fetch.robots import remembered_answer
from gossamer.filter.canonical import Canonical, Refusal
from gossamer.model.batch import HintRecord, RobotsRecord, SitemapName, SitemapRecord
from gossamer.model.loads import SitemapFacts
from gossamer.model.outcome import Truncation
from gossamer.model.settlement import PageLinks, ProcessedDocument, mask_of
from gossamer.model.task import Candidate, Via, Visit
from gossamer.model.units import Fingerprint, HostId, HostKey, Instant, Origin, Url
from gossamer.store.threads import WriterThread

LOT: Final = 1_000
"""URLs in one lot: some tens of milliseconds of a commit."""

MAX_LEVELS: Final = 5
"""Nested indexes; a sitemap named in robots.txt, or guessed, is level 1."""
MAX_FILES: Final = 1_000
"""Sitemaps of one host."""
MAX_URLS: Final = 1_000_000
"""URLs that the sitemaps of one host list."""

STEP: Final = 256
"""URLs that are admitted at a time: some milliseconds of the event loop."""

SITEMAP_LIMIT: Final = "sitemap_limit"
_FEED_ENTRIES: Final = 5_000  # as many as a page has links
_NO_PAGES: Final = frozenset({"self", "edit", "edit-media", "hub", "search", "image", "service.post", "service.edit"})


LoadFacts = Callable[[int, HostId], Awaitable[SitemapFacts]]
"""By the ids of the sitemap and of its host."""


class _Lot(NamedTuple):
    """What is committed together."""

    candidates: list[Candidate]
    hints: list[HintRecord]
    names: list[SitemapName]


@dataclass(slots=True)
class _ListInProgress:
    """One list while it is parsed."""

    decoded: DecodedDocument
    base: str
    facts: SitemapFacts
    room: int  # URLs that its host may still list
    excluded: Counter[str] = field(default_factory=Counter)
    lot: _Lot = field(default_factory=lambda: _Lot([], [], []))
    links: dict[Fingerprint, HostKey] = field(default_factory=dict)  # of a feed
    listed: int = 0


class ListRead(NamedTuple):
    """The last lot of a list, to be committed with its settlement."""

    candidates: list[Candidate]
    links: PageLinks | None
    excluded: Counter[str]
    outcome: Outcome | None

    def add_to(self, read: ProcessedDocument) -> ProcessedDocument:
        """The processed document with what the list has found."""
        settlement = read.settlement
        if self.outcome is not None and self.outcome.fault is not None and settlement.reason is None:
            fault, detail = self.outcome.fault, self.outcome.detail
            if settlement.truncated == Truncation.LENGTH.value and fault is Fault.BAD_XML:
                fault = Fault.LIMIT  # truncated by us
            settlement = settlement._replace(reason=fault.value, detail=detail)
        if self.excluded:
            settlement = settlement._replace(refused=mask_of(self.excluded))
        return ProcessedDocument(settlement, self.candidates, self.links, read.excluded + self.excluded, read.previous)


class Sitemaps:
    """Admits the sitemaps that robots.txt names, and parses lists. Owned by the event loop."""

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
        """`believes`: whether a page of a host counts as changed if a list says so."""
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

    def on_robots_lines(self, visit: Visit, origin: Origin, lines: Sequence[str]) -> None:
        """Admit the `Sitemap:` lines of the robots.txt of an origin, at the depth of the URL for which it was
        fetched."""
        excluded: Counter[str] = Counter()
        batch = self._store.batch
        batch.candidates += self.admit_robots_lines(visit.host, origin, lines, visit.task.depth, excluded)
        for reason, n in excluded.items():
            self._counters.count(batch, "excluded:" + reason, n)

    def named_in(self, record: RobotsRecord) -> Sequence[str]:
        """The `Sitemap:` lines of a stored robots.txt."""
        answer = remembered_answer(
            record.status, record.body, agent=self._agent, fetched_at=record.fetched_at, expires_at=record.expires_at
        )
        return () if answer.rules is None else answer.rules.sitemaps

    def admit_robots_lines(
        self, host: HostKey, origin: Origin, lines: Sequence[str], depth: int, excluded: Counter[str]
    ) -> list[Candidate]:
        """The candidates among the `Sitemap:` lines of the robots.txt of an origin, for the open batch, which records
        that the host names them. Refusals are counted in `excluded` by reason."""
        candidates: list[Candidate] = []
        for line in lines[:MAX_FILES] if self._settings.enabled else ():
            target = self._admission.canonical(line, f"{origin}/robots.txt")
            if isinstance(target, Refusal):
                excluded[target.reason] += 1
                continue
            (fp,), found = self._admit_files([target], depth, 0, 1, excluded)
            candidates += found
            self._store.batch.sitemap_names.append(SitemapName(target.host, fp, host))
        return candidates

    def on_guessed(self, visit: Visit, target: Canonical) -> None:
        """Admit a sitemap that was found by a guess (`crawl.visit.sitemap_guess`), at the depth of the URL of that
        visit."""
        _, candidates = self._admit_files([target], visit.task.depth, 0, 1, Counter())
        self._store.batch.candidates += candidates

    def _admit_files(
        self, targets: Sequence[Canonical], depth: int, found_on: int, level: int, excluded: Counter[str]
    ) -> tuple[list[Fingerprint], list[Candidate]]:
        return self._admission.admit(
            targets, depth, Via.SITEMAP, found_on, excluded, sitemap=level, rules=self._admission.file_rules
        )

    # --- reading -------------------------------------------------------------------------------------

    def is_list(self, decoded: DecodedDocument) -> bool:
        """Whether a document is a list of URLs: a sitemap that was named as one, or a list by its type or first
        element."""
        document = decoded.document
        if not 200 <= document.response.status < 300 or decoded.payload.unknown_coding:
            return False
        if document.visit.task.sitemap:
            return True
        content_type = document.response.headers.get("content-type")
        if content_type is None or ("xml" not in content_type and "rss" not in content_type):
            return False
        start = decoded.payload.body
        return is_feed(content_type, start) or (self._settings.enabled and is_sitemap(content_type, start))

    async def read(self, decoded: DecodedDocument) -> ListRead:
        """Parse a list and commit its URLs, all but the last lot, which is returned and committed with the
        settlement."""
        visit, response = decoded.document.visit, decoded.document.response
        headers = response.headers
        robots_tag = headers.get("x-robots-tag")
        if robots_tag is not None and DirectivesFor(self._agent, robots_tag).directives().nofollow:
            return ListRead([], None, Counter(), None)
        feed = not visit.task.sitemap and is_feed(headers.get("content-type"), decoded.payload.body)
        async with AsyncExitStack() as stack:
            facts = SitemapFacts((), 0, 0)
            if not feed:
                # One at a time, with everything committed; otherwise the counts of the host would be out of date.
                await stack.enter_async_context(self._one_at_a_time)
                await self._store.until_committed()
                facts = await self._load_facts(visit.task.url_id, visit.host_id)
            room = _FEED_ENTRIES if feed else max(0, MAX_URLS - facts.listed)
            progress = _ListInProgress(
                decoded, self._base(visit.task.url, headers.get("content-location")), facts, room
            )
            outcome = await self._read(progress)
            if not feed:
                self._record(visit, outcome, progress)
        batch = self._store.batch
        batch.hints += progress.lot.hints
        batch.sitemap_names += progress.lot.names
        links = None
        if feed and progress.links:
            links = PageLinks(visit.task.url_id, visit.domain_id, list(progress.links), list(progress.links.values()))
        return ListRead(progress.lot.candidates, links, progress.excluded, outcome)

    def _base(self, url: Url, content_location: str | None) -> str:
        """The base of relative references."""
        if content_location is None:
            return url
        said = self._admission.canonical(content_location, url)
        return url if isinstance(said, Refusal) else said.url

    async def _read(self, progress: _ListInProgress) -> Outcome:
        payload = progress.decoded.payload
        # A body that was too large to be decoded at once is decoded here in slices.
        packed = payload.truncated is not None and payload.entity[:2] == GZIP_MARK
        body = payload.entity if packed else payload.body
        content_type = progress.decoded.document.response.headers.get("content-type")
        reading = read_list(body, progress.decoded.document.finished, content_type=content_type, limits=self._limits)
        while True:
            try:
                kind, entries = next(reading)
            except StopIteration as end:
                outcome: Outcome = end.value
                return outcome
            await asyncio.sleep(0)
            for start in range(0, len(entries), STEP):
                self._admit_entries(progress, kind, entries[start : start + STEP])
                await asyncio.sleep(0)
            if len(progress.lot.candidates) + len(progress.lot.hints) >= LOT and kind.is_sitemap:
                await self._commit_lot(progress)

    async def _commit_lot(self, progress: _ListInProgress) -> None:
        """Commit what has been found so far, and wait for the commit."""
        batch, lot = self._store.batch, progress.lot
        batch.candidates += lot.candidates
        batch.hints += lot.hints
        batch.sitemap_names += lot.names
        self._counters.count(batch, "sitemap_urls", len(lot.candidates))
        progress.lot = _Lot([], [], [])
        self._store.nudge()
        await self._store.until_committed()

    def _record(self, visit: Visit, outcome: Outcome, progress: _ListInProgress) -> None:
        batch = self._store.batch
        self._counters.count(batch, "sitemaps")
        self._counters.count(batch, "sitemap_urls", len(progress.lot.candidates))
        if outcome.dropped:
            progress.excluded[SITEMAP_LIMIT] += outcome.dropped
        batch.sitemaps.append(
            SitemapRecord(visit.task.url_id, visit.host_id, outcome.kind.value, progress.listed, outcome.dropped)
        )

    # --- what is listed ------------------------------------------------------------------------------

    def _admit_entries(self, progress: _ListInProgress, kind: ListKind, entries: list[Entry]) -> None:
        """Admit the URLs of a slice of the list."""
        if kind is ListKind.INDEX:
            self._admit_index(progress, entries)
            return
        room = max(0, progress.room - progress.listed)
        if len(entries) > room:
            progress.excluded[SITEMAP_LIMIT] += len(entries) - room
            entries = entries[:room]
        progress.listed += len(entries)
        visit = progress.decoded.document.visit
        url_id = visit.task.url_id
        targets, said = self._targets(progress, entries)
        sitemap = kind.is_sitemap
        via = Via.SITEMAP if sitemap else Via.LINK
        prints, candidates = self._admission.admit(targets, visit.task.depth + 1, via, url_id, progress.excluded)
        dates: dict[Fingerprint, Entry] = {}
        hints = progress.lot.hints
        for target, entry, fp in zip(targets, said, prints, strict=True):
            if not sitemap and fp != visit.task.fingerprint:
                progress.links[fp] = target.host
            if entry is None or fp in dates:
                continue
            dates[fp] = entry
            if sitemap or entry.lastmod is not None:
                believed = entry.lastmod is not None and self._believes(target.host)
                hints.append(
                    HintRecord(target.host, fp, url_id, entry.lastmod, entry.changefreq, entry.priority, believed)
                )
        progress.lot.candidates.extend(
            c._replace(modified=dates[c.fingerprint].lastmod) if c.fingerprint in dates else c for c in candidates
        )

    def _targets(self, progress: _ListInProgress, entries: list[Entry]) -> tuple[list[Canonical], list[Entry | None]]:
        """The URLs of a slice, each with its entry if the list is authoritative for its host. Refusals are counted."""
        visit = progress.decoded.document.visit
        base, excluded = progress.base, progress.excluded
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
                # A sitemap is authoritative for its own host and for hosts whose robots.txt names it ("cross submits").
                its_own = target.host == visit.host or target.host in progress.facts.named_by
                targets.append(target)
                said.append(entry if number == 0 and its_own else None)
        return targets, said

    def _admit_index(self, progress: _ListInProgress, entries: list[Entry]) -> None:
        """Admit the sitemaps of an index, one level further down, up to the last level."""
        visit = progress.decoded.document.visit
        level = max(1, visit.task.sitemap) + 1
        room = max(0, MAX_FILES - progress.facts.files - progress.listed)
        if level > MAX_LEVELS:
            room = 0
        progress.excluded[SITEMAP_LIMIT] += max(0, len(entries) - room)
        targets: list[Canonical] = []
        dates: list[Instant | None] = []
        for entry in entries[:room]:
            target = None if entry.url is None else self._admission.canonical(entry.url, progress.base)
            if isinstance(target, Refusal):
                progress.excluded[target.reason] += 1
            elif target is not None:
                targets.append(target)
                dates.append(entry.lastmod)
        progress.listed += len(targets)
        task = visit.task
        prints, candidates = self._admit_files(targets, task.depth, task.url_id, level, progress.excluded)
        progress.lot.candidates.extend(candidates)
        progress.lot.hints.extend(
            HintRecord(target.host, fp, visit.task.url_id, date, None, None, self._believes(target.host))
            for target, fp, date in zip(targets, prints, dates, strict=True)
            if date is not None
        )
        progress.lot.names.extend(
            SitemapName(target.host, fp, host)
            for target, fp in zip(targets, prints, strict=True)
            for host in progress.facts.named_by
        )
