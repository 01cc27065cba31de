"""A crawl in miniature for workers to share: its web, its tables and statements, and a judge who sees everything."""

import random
import threading
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from gossamer.cluster.handover import RestPolicy
from gossamer.cluster.lease import Lease, LeaseTerms
from gossamer.model.units import Epoch, Seconds

TERMS = LeaseTerms(Seconds(0.8))
WAITING = Seconds(2.0)
"""`TERMS.waiting` of the server, whose time passes also while the test does not run."""
GAP = Seconds(0.12)
"""After an ordinary contact of a host."""
ADDRESS_GAP = Seconds(0.02)
LONGEST_GAP = Seconds(1.5 * TERMS.ttl)
"""After a slow one, of the host and of its address: longer than it takes until a worker is declared dead."""
POLICY = RestPolicy(LONGEST_GAP, TERMS.ttl)
ROUNDING = 1e-5
"""Dates are seconds since 1970 in floating point."""

SCHEMA = """
CREATE TABLE urls (part smallint NOT NULL, id bigint PRIMARY KEY);
CREATE TABLE queue (part smallint NOT NULL, url_id bigint NOT NULL, PRIMARY KEY (part, url_id));
CREATE TABLE uncounted (url_id bigint);
CREATE TABLE due (at float8);
CREATE TABLE orders (state smallint);
CREATE TABLE facts (name text PRIMARY KEY, value text NOT NULL);
CREATE TABLE hosts (id int PRIMARY KEY, next_contact float8 NOT NULL, gap float8 NOT NULL,
    host text GENERATED ALWAYS AS (id::text) STORED);
CREATE TABLE captures (url_id bigint NOT NULL, epoch bigint NOT NULL);
"""

STATEMENTS = {
    "create_crawl": "INSERT INTO crawl (partitions, max_pages, due_by, rules_version) VALUES ($1, $2, $3, 0)",
    "create_partitions": "INSERT INTO partitions (part) SELECT generate_series(0, $1::int - 1)",
    "load": "SELECT url_id FROM queue WHERE part = ANY($1::smallint[]) ORDER BY url_id",
    "load_hosts": "SELECT id, next_contact, gap FROM hosts WHERE id = ANY($1::int[])",
    "settle": "DELETE FROM queue WHERE url_id = ANY($1::bigint[])",
    "capture": "INSERT INTO captures (url_id, epoch) SELECT url_id, $2 FROM unnest($1::bigint[]) url_id",
    "touch_hosts": """INSERT INTO hosts SELECT * FROM unnest($1::int[], $2::float8[], $3::float8[])
        ON CONFLICT (id) DO UPDATE SET next_contact = excluded.next_contact, gap = excluded.gap""",
    "admit": """WITH fresh AS (INSERT INTO urls SELECT DISTINCT * FROM unnest($1::smallint[], $2::bigint[])
            ON CONFLICT DO NOTHING RETURNING part, id)
        INSERT INTO queue SELECT part, id FROM fresh RETURNING url_id""",
    "captured": "SELECT url_id, count(*) FROM captures GROUP BY url_id",
    "rows_left": "SELECT (SELECT count(*) FROM queue) + (SELECT count(*) FROM inbox)",
}


class Web:
    """Pages on hosts, which are in partitions and on addresses; a pure function of the seed."""

    def __init__(
        self, seed: int, *, partitions: int = 12, hosts: int = 24, addresses: int = 8, pages: int = 12
    ) -> None:
        self.partitions = partitions
        self.hosts, self.addresses = hosts, addresses
        self.size = hosts * pages
        self.late = list(range(self.size, self.size + 8))
        """Pages that only a late seed leads to."""
        chance = random.Random(seed)
        self.links: dict[int, list[int]] = defaultdict(list)
        for page in range(hosts, self.size):  # each is found on an earlier one
            self.links[chance.randrange(max(0, page - 4 * hosts), page)].append(page)
            if chance.random() < 0.2:
                self.links[chance.randrange(self.size)].append(page)
        self.slow = {page for page in range(self.size) if chance.random() < 0.06}

    def seeds(self) -> range:
        return range(self.hosts)

    def host(self, page: int) -> int:
        return page % self.hosts

    def part(self, page: int) -> int:
        return self.host(page) % self.partitions

    def address(self, host: int) -> str:
        return f"10.0.0.{host // 3 % self.addresses}"


class Contact(NamedTuple):
    start: float
    end: float
    gap: Seconds
    address_gap: Seconds
    host: int
    address: str
    epoch: Epoch


@dataclass
class Judge:
    """Hears of every contact and every death; all times are of one clock."""

    web: Web
    contacts: list[Contact] = field(default_factory=list)
    leases: dict[Epoch, Lease] = field(default_factory=dict)
    deaths: dict[Epoch, float] = field(default_factory=dict)
    early_deaths: int = 0
    seeded: set[int] = field(default_factory=set)  # late seeds that were accepted
    unsure: set[int] = field(default_factory=set)  # late seeds, of which that is not known
    stored: int = 0  # pages, as far as workers know
    faults: Counter[str] = field(default_factory=Counter)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def contact(self, contact: Contact) -> None:
        with self.lock:
            self.contacts.append(contact)

    def died(self, epoch: Epoch, at: float) -> None:
        """The death was committed before `at`. The worker must not have had a lease; one that was killed has none."""
        with self.lock:
            self.early_deaths += Lease.may_start(self.leases[epoch], at)
            self.deaths.setdefault(epoch, at)

    def store(self, pages: int) -> None:
        with self.lock:
            self.stored += pages

    def complaints(self, captured: Mapping[int, int], max_pages: int | None) -> Counter[str]:
        """What was wrong. `captured` is how often each page is on record at the end."""
        found: Counter[str] = Counter()
        expected = set(range(self.web.size)) | self.seeded
        if max_pages is None:
            found["lost"] = len(expected - captured.keys())
        else:
            found["short of the limit"] = max(max_pages - sum(captured.values()), 0)
            found["beyond the limit"] = max(sum(captured.values()) - max_pages, 0)
        found["unknown"] = len(captured.keys() - expected - self.unsure)
        found["stored twice"] = sum(times > 1 for times in captured.values())
        found["short gap of a host"] = _short([(c.host, c.start, c.end, c.gap) for c in self.contacts])
        found["short gap of an address"] = _short([(c.address, c.start, c.end, c.address_gap) for c in self.contacts])
        found["contact after death"] = sum(c.start > self.deaths.get(c.epoch, c.start) for c in self.contacts)
        found["declared dead with a lease"] = self.early_deaths
        return +found


def _short(contacts: list[tuple[int | str, float, float, Seconds]]) -> int:
    """How many contacts began before the one before them had ended and its gap had passed."""
    free: dict[int | str, float] = {}
    found = 0
    for key, start, end, gap in sorted(contacts, key=lambda contact: contact[1]):
        found += start < free.get(key, start) - ROUNDING
        free[key] = max(end + gap, free.get(key, 0.0))
    return found
