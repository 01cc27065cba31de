"""What the store knows about one URL, also while a crawl is running.

All facts are read in one snapshot, so they are consistent: a URL is never shown as queued together with the record of
the visit that stored it.
"""

from collections.abc import Callable, Sequence
from typing import Any

from gossamer.model.facts import DomainFacts, HostFacts
from gossamer.model.formats import LongLink
from gossamer.model.states import UrlState
from gossamer.model.task import Via
from gossamer.model.units import Domain, Fingerprint, HostKey, Origin
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
    OwnerFact,
    QueueFact,
    RecrawlFact,
    RobotsFact,
    SeedPlace,
    Step,
    UrlFact,
    VisitFact,
)
from gossamer.store.ports import Database
from gossamer.store.row_formats import FACTS, facts_from
from gossamer.store.table.metadata import Metadata

_Row = tuple[Any, ...]

_SCHEMES = ("http://", "https://", "ftp://")
_PLAIN = ("front", "available_at", "place", "priority", "tries", "hops", "found_at", "reason")
_SEEDS_AT_ONCE = 1_000


class UrlQueries:
    """`reports.ports.UrlReader`."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._metadata = Metadata(db)

    def fingerprint_key(self) -> int:
        return self._metadata.fingerprint_key()

    def learnt_parameters(self, host: HostKey) -> list[LearntFact]:
        return [LearntFact(*row) for row in self._db.fetch_all("parameters_of", host)]

    def owner_of(self, partition_of: Callable[[int], int]) -> OwnerFact | None:
        partitions = self._db.fetch_value("number_of_partitions")
        row = None if partitions is None else self._db.fetch_one("partition_owner", partition_of(partitions))
        return None if row is None else OwnerFact(*row)

    def seed_host(self, host: HostKey) -> HostKey | None:
        with self._db.snapshot():
            for scheme in _SCHEMES:
                # A host in a canonical URL ends with a slash, or a colon before its port; "0" and ";" come after those.
                for end, beyond in (("/", "0"), (":", ";")):
                    start = f"{scheme}{host}"
                    if self._db.fetch_one("seed_between", start + end, start + beyond) is not None:
                        return host
        return None

    def seed_host_in(self, domain: Domain) -> HostKey | None:
        with self._db.snapshot():
            url = ""
            while rows := self._db.fetch_all("seeds_naming", url, domain, _SEEDS_AT_ONCE):
                for (url,) in rows:
                    host = _host_of(url)
                    if host == domain or host.endswith(f".{domain}"):
                        return HostKey(host)
        return None

    def facts(
        self, host: HostKey, domain: Domain, suffix: str, origin: Origin, identities: Sequence[Fingerprint]
    ) -> Facts:
        with self._db.snapshot():
            for identity in identities:
                row = self._db.fetch_one("url_by_identity", domain, identity)
                if row is not None:
                    return self._known(row, self._domain(domain, suffix))
            budget, domain_budget = self._budgets(host, domain)
            return Facts(
                budget=budget,
                domain_budget=domain_budget,
                host=self._host("host_fact_by_name", host),
                domain=self._domain(domain, suffix),
                order=self._metadata.order(),
                orders=self._metadata.fact("service"),
                next_id=self._db.fetch_value("last_url") + 1,
                host_facts=self._host_facts(host),
                robots=self._robots(origin),
            )

    def _known(self, row: _Row, domain: DomainFact) -> Facts:
        host_id, found_on, state, via, *rest = row[FACTS:]
        host = self._host("host_fact", host_id)
        learnt = facts_from(row, 0.0, self._host_facts(host.host if host else ""))._replace(age=None)
        plain = dict(zip(_PLAIN, rest, strict=True))
        known = UrlFact(learnt=learnt, modified=row[FACTS - 1], state=UrlState(state), via=Via(via), **plain)
        url_id = learnt.url_id
        seed = self._db.fetch_one("seed_place", known.url)
        failures = self._db.fetch_all("last_failures", url_id, MAX_FAILURES + 1)
        budget, domain_budget = self._budgets(host.host if host else "", domain.domain)
        return Facts(
            budget=budget,
            domain_budget=domain_budget,
            url=known,
            seed=None if seed is None else SeedPlace(*seed),
            way=self._way_back(found_on),
            queue=self._queue(known, url_id, host_id) if known.state is UrlState.QUEUED else None,
            visit=self._visit(url_id),
            listing=ListingFact(*(self._db.fetch_one("listing_fact", url_id) or ())),
            recrawl=RecrawlFact(*(self._db.fetch_one("recrawl_fact", url_id) or ())),
            long_links=tuple(LongLink(*row) for row in self._db.fetch_all("long_links_of", url_id)),
            failures=tuple(FailureFact(*failure) for failure in reversed(failures[:MAX_FAILURES])),
            earlier_failures=len(failures) > MAX_FAILURES,
            host=host,
            domain=domain,
            order=self._metadata.order(),
            orders=self._metadata.fact("service"),
            robots=self._robots(Origin(known.url[: known.url.index("/", known.url.index("//") + 2)])),
        )

    def _way_back(self, found_on: int) -> tuple[Step, ...]:
        """From a URL back to a seed, as far as it is on record."""
        steps: list[Step] = []
        while found_on and len(steps) < MAX_STEPS:
            row = self._db.fetch_one("step_back", found_on)
            if row is None:
                break
            url, via, depth, found_on, source, added_at = row
            steps.append(Step(url, Via(via), depth, None if source is None else SeedPlace(source, added_at)))
        return tuple(steps)

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
        row = self._db.fetch_one("visit_fact", url_id)
        return None if row is None else VisitFact(**dict(zip(VisitFact.__slots__, row, strict=True)))

    def _host(self, query: str, key: object) -> HostFact | None:
        row = self._db.fetch_one(query, key)
        return None if row is None else HostFact(**dict(zip(HostFact.__slots__, row, strict=True)))

    def _host_facts(self, host: str) -> HostFacts:
        return HostFacts(*(self._db.fetch_one("host_facts", host) or ()))

    def _domain(self, domain: Domain, suffix: str) -> DomainFact:
        row = self._db.fetch_one("domain_fact", domain)
        if row is None:
            return DomainFact(domain, suffix_visits=self._number("visits_of_suffix", suffix))
        return DomainFact(domain, DomainFacts(*row[:3]), row[3])

    def _budgets(self, host: str, domain: str) -> _Row:
        return self._db.fetch_one("budgets_of", host, domain) or (None, None)

    def _robots(self, origin: Origin) -> RobotsFact | None:
        row = self._db.fetch_one("robots_fact", origin)
        return None if row is None else RobotsFact(**dict(zip(RobotsFact.__slots__, row, strict=True)))

    def _number(self, name: str, *values: object) -> int:
        return int(self._db.fetch_value(name, *values) or 0)


def _host_of(url: str) -> str:
    """The host of a canonical URL."""
    authority = url.partition("//")[2].partition("/")[0]
    return authority if authority.endswith("]") else authority.partition(":")[0]
