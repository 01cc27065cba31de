"""Counts links: how many lead to each URL and domain, and the credit that flows along them.

Hot: benchmarks/bench_store.py.

Under an ordering by score, links are counted in the commit that brings them. Otherwise they wait in the table
`uncounted` until there are many, or some seconds have passed: the links of a site repeat from page to page, and merged
they cost a fraction. They leave that table in the transaction that counts them, so a crash neither loses nor doubles
one; whatever it leaves there is counted on opening, by the same code.
"""

import sqlite3
from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

from gossamer.backends.sqlite.hosts import HostRows
from gossamer.backends.sqlite.link_pages import (
    LinkedPage,
    fingerprint_bytes,
    fingerprints_from,
    pages_bytes,
    pages_from,
)
from gossamer.backends.sqlite.moves import Moves
from gossamer.backends.sqlite.rows import read_rows, write_rows
from gossamer.clock import Clock
from gossamer.model.facts import credit_handed_on
from gossamer.store.changes import Linked, Moved, PageLinks
from gossamer.store.ports import Prioritiser

TARGETS_AT_ONCE = 20_000
SECONDS_AT_MOST = 10.0

_Key = tuple[int, int]  # domain and fingerprint: a URL's identity


class LinkNews(NamedTuple):
    """What counting has changed."""

    moved: list[Moved]
    linked: list[Linked]


class LinkCounts:
    """Stores the links of pages and counts them, within the writer's transactions."""

    def __init__(
        self,
        db: sqlite3.Connection,
        sql: Mapping[str, str],
        hosts: HostRows,
        prioritiser: Prioritiser,
        clock: Clock,
        targets_at_once: int,
    ) -> None:
        self._db = db
        self._sql = sql
        self._hosts = hosts
        self._at_once = prioritiser.by_score
        self._moves = Moves(db, sql, prioritiser)
        self._clock = clock
        self._enough = targets_at_once
        self._counted_at = clock.monotonic()
        self._waiting = 0  # targets in `uncounted`
        self.look()

    def look(self) -> None:
        """See what is in the table: at the start, and after a transaction was rolled back."""
        self._waiting = self._db.execute(self._sql["uncounted_targets"]).fetchone()[0]

    def take(self, pages: list[PageLinks], stamp: float) -> LinkNews:
        """Store the links of pages; count them, now or later. In the order of the pages: what the first hands on to
        the second, the second hands on."""
        found = self._store(pages) if pages else []
        if self._at_once:
            return self._count(found, stamp) if found else LinkNews([], [])
        targets = sum(len(page.prints) for page in found)
        if found:
            self._db.execute(self._sql["put_off"], (targets, pages_bytes(found)))
            self._waiting += targets
        seconds = self._clock.monotonic() - self._counted_at
        if self._waiting >= self._enough or (self._waiting and seconds >= SECONDS_AT_MOST):
            return self.count_waiting(stamp)
        return LinkNews([], [])

    def count_waiting(self, stamp: float) -> LinkNews:
        """Count everything that was put off."""
        stored = self._db.execute(self._sql["uncounted_pages"]).fetchall()
        self._db.execute(self._sql["all_counted"])
        self._waiting = 0
        self._counted_at = self._clock.monotonic()
        return self._count([page for (pages,) in stored for page in pages_from(pages)], stamp)

    def _store(self, pages: list[PageLinks]) -> list[LinkedPage]:
        """Put the pages into the link graph; returns what is to be counted of them."""
        earlier = {
            url_id: bytes.fromhex(targets)
            for url_id, targets in read_rows(self._db, self._sql["links_of"], [(page.url_id,) for page in pages])
        }
        found, rows = [], []
        for url_id, domain_id, prints, hosts in pages:
            stored = fingerprint_bytes(prints)
            rows.append((url_id, stored))
            targets, fresh = prints, len(prints)
            domains = self._hosts.domains_of(hosts)
            if 0 in domains:
                kept = [(p, d) for p, d in zip(prints, domains, strict=True) if d]
                targets, domains, fresh = [p for p, _ in kept], [d for _, d in kept], len(kept)
            if url_id in earlier:
                before = set(fingerprints_from(earlier[url_id]))
                kept = sorted(zip(targets, domains, strict=True), key=lambda target: target[0] in before)
                fresh = sum(1 for target in targets if target not in before)
                targets, domains = [p for p, _ in kept], [d for _, d in kept]
            earlier[url_id] = stored
            found.append(LinkedPage(url_id, domain_id, len(prints), fresh, targets, domains))
        write_rows(self._db, self._sql["save_links"], rows)
        return found

    def _count(self, pages: list[LinkedPage], stamp: float) -> LinkNews:
        links, others, credit = self._merged(pages)
        rows = [(*key, links[key], others[key], gained) for key, gained in credit.items() if gained or links[key]]
        write_rows(self._db, self._sql["count_links"], rows)
        linked = self._count_domains(links, others)
        return LinkNews(self._moves.after(credit, stamp), linked)

    def _merged(self, pages: list[LinkedPage]) -> tuple[Counter[_Key], Counter[_Key], dict[_Key, int]]:
        """What is to be added to each target: links, links from other domains, credit. A page's own credit goes down
        to nothing. All keys are in the last of the three."""
        ids = {page.url_id for page in pages}
        rows = read_rows(self._db, self._sql["credits_of"], [(url_id,) for url_id in ids])
        own = {url_id: ((domain_id, fingerprint), credit) for url_id, domain_id, fingerprint, credit in rows}
        links: Counter[_Key] = Counter()
        others: Counter[_Key] = Counter()
        gained: dict[_Key, int] = {}
        for url_id, domain_id, parts, fresh, prints, domains in pages:
            part = 0
            if url_id in own:
                page, stored = own[url_id]
                if parts:
                    part = credit_handed_on(stored + gained.get(page, 0), parts)
                gained[page] = -stored
            keys = list(zip(domains, prints, strict=True))
            for key in keys:
                gained[key] = gained.get(key, 0) + part
            if fresh < len(keys):
                del keys[fresh:]
            links.update(keys)
            if domains.count(domain_id) < len(domains):
                others.update([key for key in keys if key[0] != domain_id])
        return links, others, gained

    def _count_domains(self, links: Counter[_Key], others: Counter[_Key]) -> list[Linked]:
        of_domain: Counter[int] = Counter()
        from_others: Counter[int] = Counter()
        for (domain_id, _), n in links.items():
            of_domain[domain_id] += n
        for (domain_id, _), n in others.items():
            from_others[domain_id] += n
        linked = [Linked(domain_id, n, from_others[domain_id]) for domain_id, n in of_domain.items()]
        write_rows(self._db, self._sql["count_domain_links"], linked)
        return linked
