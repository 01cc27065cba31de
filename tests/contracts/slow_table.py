"""The task table as the store keeps it, slow and obvious: what every commit must leave behind, and report."""

import math
from collections import Counter
from dataclasses import dataclass, field
from itertools import count

from gossamer.frontier.orderings import Ordering
from gossamer.model.batch import Batch, Linked, Moved
from gossamer.model.facts import BIRTH_CREDIT, UrlFacts, credit_per_link
from gossamer.model.settlement import PageLinks
from gossamer.model.states import UrlState
from tests.backends.table_store import domain_of

Key = tuple[str, int]  # domain and fingerprint


@dataclass(slots=True)
class Row:
    url_id: int
    host_id: int
    url: str
    depth: int
    front: int
    place: float
    priority: float
    available_at: float | None
    state: UrlState = UrlState.QUEUED
    links: int = 0
    links_from_others: int = 0
    credit: int = BIRTH_CREDIT
    visits: int = 0
    changes: int = 0
    digest: bytes | None = None
    link_sum: int = 0
    steps: int = 0
    ordinal: int = 0

    @property
    def facts(self) -> UrlFacts:
        counts = (self.links, self.links_from_others, self.credit, self.visits, self.changes)
        near = (self.link_sum, self.steps, self.ordinal)
        return UrlFacts(self.url_id, self.url, self.depth, *counts, *near)  # type: ignore[arg-type]


@dataclass(slots=True)
class Report:
    number: int = 0
    touched: dict[tuple[int, int], float] = field(default_factory=dict)
    moved: list[Moved] = field(default_factory=list)
    linked: list[Linked] = field(default_factory=list)


class SlowTable:
    def __init__(self, ordering: Ordering, targets_at_once: int, now: float) -> None:
        self.ordering = ordering
        self.enough = targets_at_once
        self.at_once = ordering.by_score and not ordering.defers_links
        self.foresees = ordering.moved_by_links and not self.at_once
        self.rows: dict[Key, Row] = {}
        self.known: Counter[int] = Counter()  # URLs by host
        self.hosts: dict[str, int] = {}
        self.domains: dict[str, int] = {}
        self.domain_links: Counter[str] = Counter()
        self.domain_others: Counter[str] = Counter()
        self.domain_visits: Counter[str] = Counter()
        self.fronts: dict[tuple[int, int], float] = {}
        self.pages: dict[int, list[int]] = {}  # the link graph
        self.pending: list[tuple[PageLinks, set[int], dict[str, int]]] = []
        self.ids = count(1)
        self.number = 0
        self.stamp = 0.0
        self.open(now)

    def by_id(self, url_id: int) -> Row:
        return next(row for row in self.rows.values() if row.url_id == url_id)

    def by_date(self, front: int) -> bool:
        return front > 0 or not self.ordering.by_score

    def open(self, now: float) -> None:
        """At a start; what a crash left uncounted is counted."""
        self.ids = count(max((row.url_id for row in self.rows.values()), default=0) + 1)
        dates = [at for (_, front), at in self.fronts.items() if self.by_date(front) and at <= now]
        self.stamp = max(dates, default=0.0)
        self.counted_at = now
        if self.pending:
            self.stamp = math.nextafter(max(self.stamp, now), math.inf)
            self.count_pending(Report())

    def close(self) -> None:
        self.count_pending(Report())

    def fail(self, batch: Batch, now: float) -> None:
        """A commit that was rolled back: only dates and ids are used up."""
        self.stamp = math.nextafter(max(self.stamp, now), math.inf)
        for _ in batch.candidates:
            next(self.ids)

    def commit(self, batch: Batch, now: float) -> Report:
        self.stamp = math.nextafter(max(self.stamp, now), math.inf)
        self.number += 1
        report = Report(self.number)
        ignored: list[int] = []  # hosts of candidates that were known
        for candidate in batch.candidates:
            url_id = next(self.ids)
            domain = domain_of(candidate.host)[0]
            self.domains.setdefault(domain, len(self.domains) + 1)
            host_id = self.hosts.setdefault(candidate.host, len(self.hosts) + 1)
            if (domain, candidate.fingerprint) in self.rows:
                ignored.append(host_id)
                continue
            source = next((row for row in self.rows.values() if row.url_id == candidate.found_on), None)
            steps = source.steps + 1 if source is not None and source.host_id == host_id else 0
            # One that was known already counts until the commit is over: its number is not used again.
            ordinal = self.known[host_id] + sum(other == host_id for other in ignored)
            facts = UrlFacts(url_id, candidate.url, candidate.depth, steps=steps, ordinal=ordinal)
            finder = next((page for page in reversed(batch.links) if page.url_id == candidate.found_on), None)
            if finder is not None and finder.fingerprints and self.foresees:
                part = credit_per_link(self.by_id(finder.url_id).credit, len(finder.fingerprints))
                is_other = self.domains[domain] != finder.domain_id
                facts = facts._replace(links=1, links_from_others=int(is_other), credit=BIRTH_CREDIT + part)
                facts = facts._replace(link_sum=2**20 // len(finder.fingerprints))
            front, priority, place = self.ordering.standing(facts)
            place = self.stamp if place is None else place
            row = Row(url_id, host_id, candidate.url, candidate.depth, front, place, priority, self.stamp)
            row.steps, row.ordinal = steps, ordinal
            self.known[host_id] += 1
            self.rows[domain, candidate.fingerprint] = row
            self.touch(report, host_id, front, place)
        for done in batch.settlements:
            row = self.by_id(done.url_id)
            row.state, row.available_at = done.state, done.available_at
            if done.state is UrlState.QUEUED:
                row.front = 1 if self.ordering.by_score else row.front
                row.place = row.available_at = max(done.available_at or 0.0, self.stamp)
                self.touch(report, row.host_id, row.front, row.place)
            if done.status is not None:
                row.visits += 1
                if row.visits > 1 and None not in (done.digest, row.digest) and done.digest != row.digest:
                    row.changes += 1
                row.digest = done.digest
        for domain_id, n in batch.page_requests.items():
            self.domain_visits[next(d for d, i in self.domains.items() if i == domain_id)] += n
        for page in batch.links:
            self.take(page)
        waiting = sum(sum(domains.values()) for _, _, domains in self.pending)
        if self.at_once or waiting >= self.enough or (waiting and now - self.counted_at >= 20.0):
            self.counted_at = now
            self.count_pending(report)
        for host_id, not_before in batch.retired:
            self.retire(host_id, not_before, report)
        return report

    def take(self, page: PageLinks) -> None:
        """Remember what is to be counted: what of the page is new, and how many targets are in known domains."""
        before = set(self.pages.get(page.url_id, []))
        self.pages[page.url_id] = list(page.fingerprints)
        known = [domain_of(host)[0] for host in page.hosts]
        self.pending.append((page, before, Counter(domain for domain in known if domain in self.domains)))

    def count_pending(self, report: Report) -> None:
        pending, self.pending = self.pending, []
        changed: dict[int, Row] = {}
        links_before = {row.url_id: row.links for row in self.rows.values()}
        links: Counter[str] = Counter()
        others: Counter[str] = Counter()
        for page, before, domains in pending:
            source = self.by_id(page.url_id)
            part = credit_per_link(source.credit, len(page.fingerprints)) if page.fingerprints else 0
            source.credit = 0
            changed[source.url_id] = source
            for fingerprint, host in zip(page.fingerprints, page.hosts, strict=True):
                domain = domain_of(host)[0]
                if domain not in domains:
                    continue
                is_other = self.domains[domain] != page.domain_id
                fresh = fingerprint not in before
                links[domain] += fresh
                others[domain] += fresh and is_other
                row = self.rows.get((domain, fingerprint))
                if row is not None:
                    row.links += fresh
                    row.links_from_others += fresh and is_other
                    row.credit += part
                    if fresh:
                        row.link_sum += 2**20 // len(page.fingerprints)
                        steps = source.steps + 1 if row.host_id == source.host_id else 0
                        row.steps = row.steps if row.visits else min(row.steps, steps)
                    changed[row.url_id] = row
        self.domain_links.update(links)
        self.domain_others.update(others)
        report.linked = [Linked(self.domains[domain], n, others[domain]) for domain, n in links.items() if n]
        if self.ordering.moved_by_links:
            if not self.ordering.by_score:
                changed = {n: row for n, row in changed.items() if self.is_looked_at(row, links_before[n])}
            report.moved = [move for row in changed.values() if (move := self.move(row)) is not None]

    @staticmethod
    def is_looked_at(row: Row, links: int) -> bool:
        """By class: after its first link, whenever there are many more than before."""
        return row.links > 1 and any(links < 2**n <= row.links for n in range(20))

    def move(self, row: Row) -> Moved | None:
        front, priority, place = self.ordering.standing(row.facts)
        if row.state is not UrlState.QUEUED:
            return None
        if self.ordering.by_score:
            if row.front == 1:
                if row.priority == priority:
                    return None
            elif row.place == place:
                return None
            else:
                assert place is not None
                row.place = place
        else:
            if front >= row.front or row.place > self.stamp:
                return None
            row.front = front
            row.place = row.available_at = self.stamp
        row.priority = priority
        self.enter(row.host_id, row.front, row.place)
        return Moved(row.host_id, row.url_id, row.front, row.place, row.priority)  # type: ignore[arg-type]

    def touch(self, report: Report, host_id: int, front: int, place: float) -> None:
        self.enter(host_id, front, place)
        report.touched[host_id, front] = min(place, report.touched.get((host_id, front), math.inf))

    def enter(self, host_id: int, front: int, place: float) -> None:
        self.fronts[host_id, front] = min(place, self.fronts.get((host_id, front), math.inf))

    def retire(self, host_id: int, not_before: float, report: Report) -> None:
        self.fronts = {queue: at for queue, at in self.fronts.items() if queue[0] != host_id}
        queued = [r for r in self.rows.values() if r.host_id == host_id and r.state is UrlState.QUEUED]
        for row in queued:
            # By score, a host that rests waits for its date, like a URL that does.
            front = 1 if not self.by_date(row.front) and not_before > self.stamp else row.front
            place = max(row.place, self.stamp, not_before) if self.by_date(front) else row.place
            self.touch(report, host_id, front, place)
