"""Reads what the store knows about one URL, also while a crawl is running.

All facts are read in one short transaction, so they are consistent: a URL is never shown as queued together with the
record of the visit that stored it.
"""

import sqlite3
from collections.abc import Sequence
from typing import Any

from gossamer.backends.sqlite.database import fact, last_url, named_queries, one_moment, our_errors
from gossamer.model.facts import DomainFacts, HostFacts
from gossamer.model.formats import LongLink
from gossamer.model.states import UrlState
from gossamer.model.task import Via
from gossamer.model.units import Domain, Fingerprint, HostKey, Origin, Url
from gossamer.model.url_record import (
    MAX_COUNTED,
    MAX_FAILURES,
    MAX_STEPS,
    Bounded,
    DomainFact,
    Facts,
    FailureFact,
    HostFact,
    LearntFact,
    ListingFact,
    QueueFact,
    RecrawlFact,
    RobotsFact,
    SeedPlace,
    Step,
    UrlFact,
    VisitFact,
)
from gossamer.reports.ports import WayBack
from gossamer.store.row_formats import FACTS, facts_from

_Row = tuple[Any, ...]

_SCHEMES = ("http://", "https://", "ftp://")
_PLAIN = ("front", "available_at", "place", "priority", "tries", "hops", "found_at", "reason")


class SqliteUrlReader:
    """`reports.ports.UrlReader`. Raises StoreFailed where the database cannot be read."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self._sql = named_queries("story.sql")

    def fingerprint_key(self) -> int:
        return int(fact(self._db, "fingerprint_key") or 0)

    def learnt_parameters(self, host: HostKey) -> list[LearntFact]:
        with our_errors(self._db):
            return [LearntFact(*row) for row in self._db.execute(self._sql["parameters"], (host,))]

    def seed_host(self, host: HostKey) -> HostKey | None:
        with one_moment(self._db):
            for scheme in _SCHEMES:
                # A host in a canonical URL ends with a slash, or a colon before its port; "0" and ";" come after those.
                for end, beyond in (("/", "0"), (":", ";")):
                    if self._row("seed_between", f"{scheme}{host}{end}", f"{scheme}{host}{beyond}") is not None:
                        return host
        return None

    def seed_host_in(self, domain: Domain) -> HostKey | None:
        with one_moment(self._db):
            for (url,) in self._db.execute(self._sql["seeds_naming"], (domain,)):
                host = _host_of(url)
                if host == domain or host.endswith(f".{domain}"):
                    return HostKey(host)
        return None

    def facts(
        self, host: HostKey, domain: Domain, suffix: str, origin: Origin, identities: Sequence[Fingerprint]
    ) -> Facts:
        with one_moment(self._db):
            for identity in identities:
                row = self._row("url_by_identity", domain, identity)
                if row is not None:
                    return self._known(row, self._domain(domain, suffix))
            budget, domain_budget = self._row("budgets", host, domain) or (None, None)
            return Facts(
                budget=budget,
                domain_budget=domain_budget,
                host=self._host("host_by_name", host),
                domain=self._domain(domain, suffix),
                order=fact(self._db, "order"),
                orders=fact(self._db, "service"),
                next_id=last_url(self._db) + 1,
                host_facts=self._host_facts(host),
                robots=self._robots(origin),
            )

    def _known(self, row: _Row, domain: DomainFact) -> Facts:
        host_id, found_on, state, via, *rest = row[FACTS:]
        host = self._host("host_by_id", host_id)
        learnt = facts_from(row, 0.0, self._host_facts(host.host if host else ""))._replace(age=None)
        plain = dict(zip(_PLAIN, rest, strict=True))
        known = UrlFact(learnt=learnt, modified=row[FACTS - 1], state=UrlState(state), via=Via(via), **plain)
        url_id = learnt.url_id
        seed = self._row("seed", known.url)
        way, beyond = self._way_back(url_id, found_on)
        failures = self._db.execute(self._sql["failures"], (url_id, MAX_FAILURES + 1)).fetchall()
        budget, domain_budget = self._row("budgets", host.host if host else "", domain.domain) or (None, None)
        return Facts(
            budget=budget,
            domain_budget=domain_budget,
            url=known,
            seed=None if seed is None else SeedPlace(*seed),
            way=way,
            beyond=beyond,
            queue=self._queue(known, url_id, host_id) if known.state is UrlState.QUEUED else None,
            visit=self._visit(url_id),
            listing=ListingFact(*(self._row("listing", url_id) or ())),
            recrawl=RecrawlFact(*(self._row("recrawl", url_id) or ())),
            long_links=tuple(LongLink(*row) for row in self._db.execute(self._sql["long_links"], (url_id,))),
            failures=tuple(FailureFact(*failure) for failure in reversed(failures[:MAX_FAILURES])),
            earlier_failures=len(failures) > MAX_FAILURES,
            host=host,
            domain=domain,
            order=fact(self._db, "order"),
            orders=fact(self._db, "service"),
            robots=self._robots(Origin(known.url[: known.url.index("/", known.url.index("//") + 2)])),
        )

    def way_from(self, domain: Domain, identities: Sequence[Fingerprint]) -> WayBack:
        with one_moment(self._db):
            for identity in identities:
                row = self._row("url_by_identity", domain, identity)
                if row is not None:
                    return self._way_back(0, row[0])
        return (), None

    def _way_back(self, url_id: int, found_on: int) -> WayBack:
        """From a URL back to a seed, as far as it is on record in this store."""
        steps: list[Step] = []
        while found_on and len(steps) < MAX_STEPS:
            row = self._row("step", found_on)
            if row is None:
                return tuple(steps), None
            url_id = found_on
            url, via, depth, found_on, source, added_at = row
            steps.append(Step(url, Via(via), depth, None if source is None else SeedPlace(source, added_at)))
        row = None if found_on else self._row("brought", url_id)
        return tuple(steps), None if row is None else Url(row[0])

    def _queue(self, known: UrlFact, url_id: int, host_id: int) -> QueueFact:
        return QueueFact(
            before=self._count("queued_before", host_id, known.front, known.place, url_id),
            of_class=self._count("queued_of_class", host_id, known.front),
            of_host=self._count("queued_of_host", host_id),
        )

    def _count(self, name: str, *values: object) -> Bounded:
        number = self._number(name, *values, MAX_COUNTED + 1)
        return Bounded(min(number, MAX_COUNTED), number > MAX_COUNTED)

    def _visit(self, url_id: int) -> VisitFact | None:
        row = self._row("visit", url_id)
        return None if row is None else VisitFact(**dict(zip(VisitFact.__slots__, row, strict=True)))

    def _host(self, query: str, key: object) -> HostFact | None:
        row = self._row(query, key)
        return None if row is None else HostFact(**dict(zip(HostFact.__slots__, row, strict=True)))

    def _host_facts(self, host: str) -> HostFacts:
        return HostFacts(*(self._row("host_facts", host) or ()))

    def _domain(self, domain: Domain, suffix: str) -> DomainFact:
        row = self._row("domain", domain)
        if row is None:
            return DomainFact(domain, suffix_visits=self._number("suffix", suffix))
        return DomainFact(domain, DomainFacts(*row[:3]), row[3])

    def _robots(self, origin: Origin) -> RobotsFact | None:
        row = self._row("robots", origin)
        return None if row is None else RobotsFact(**dict(zip(RobotsFact.__slots__, row, strict=True)))

    def _number(self, name: str, *values: object) -> int:
        row = self._row(name, *values)
        return 0 if row is None else int(row[0])

    def _row(self, name: str, *values: object) -> _Row | None:
        row: _Row | None = self._db.execute(self._sql[name], values).fetchone()
        return row


def _host_of(url: str) -> str:
    """The host of a canonical URL."""
    authority = url.partition("//")[2].partition("/")[0]
    return authority if authority.endswith("]") else authority.partition(":")[0]
