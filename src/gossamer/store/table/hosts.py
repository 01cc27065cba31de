"""Rows of hosts, domains and public suffixes, and what sitemaps say about URLs, within the writer's transactions.

`HostRows` finds and creates rows; it is hot, since every candidate and every link needs one. `retire_hosts` writes the
front-queue entries of hosts that give up their back queues.
"""

from collections.abc import Callable, Iterable, Sequence

from gossamer.model.batch import Batch, RetiredHost
from gossamer.model.requeue import ReportedChange
from gossamer.model.units import Domain, HostId, HostKey
from gossamer.store.ports import Database, DateOfReported


def row_of_host(db: Database, host: str) -> int:
    """The id of a host by its name as people write it; of an unknown host one that no URL has."""
    row = db.fetch_one("host_by_name", host.lower().rstrip("."))
    return -1 if row is None else int(row[0])


def retire_hosts(
    db: Database,
    retired: Sequence[RetiredHost],
    stamp: float,
    touch: Callable[[HostId, int, float], None],
    *,
    by_score: bool,
) -> None:
    """One entry per class with queued URLs, due when the first of them is and the host may be contacted; by score, as
    good as the best of them. What is due now queues up at the end, beyond every reader's cursor. The host's clock is
    kept apart from its entries, which a new URL may bring forward."""
    for host_id, not_before in retired:
        truth = db.fetch_all("front_truth", host_id)
        db.execute("leave_fronts", host_id)
        rests = not_before > stamp
        entries = []
        for front, place in truth:
            if by_score and front == 0 and not rests:
                entries.append((host_id, front, place))
            else:  # by score, a host that rests waits for its date, like a URL that does
                entries.append((host_id, 1 if by_score else front, max(place, stamp, not_before)))
        db.write_rows("enter_front", entries)
        for entry in entries:
            touch(*entry)
        if rests:
            db.execute("rest_host", not_before, host_id)


_HOSTS_REMEMBERED = 100_000

DomainOf = Callable[[HostKey], tuple[Domain, int, str]]
"""The registrable domain of a host, its partition and its public suffix."""


class HostRows:
    """Finds the rows, and creates those of hosts that get URLs. Caches what it found."""

    def __init__(self, db: Database, domain_of: DomainOf) -> None:
        self._db = db
        self._domain_of = domain_of
        self._hosts: dict[HostKey, tuple[HostId, int]] = {}  # host -> its row and its domain's
        self._domains: dict[HostKey, int] = {}  # host -> its domain's row, 0 if there is none
        self._unknown_domains: dict[Domain, list[HostKey]] = {}  # a domain without a row -> its hosts in `_domains`
        self._suffixes: dict[str, int] = {}
        self._known: dict[HostId, int] = {}  # URLs of hosts that got some
        self.created = 0  # hosts, ever

    def clear_cache(self) -> None:
        """After a rollback: rows created in the transaction do not exist."""
        self._hosts.clear()
        self._domains.clear()
        self._unknown_domains.clear()
        self._suffixes.clear()
        self._known.clear()

    def known_urls(self, hosts: Iterable[HostId]) -> dict[HostId, int]:
        """How many URLs of each of these hosts have rows. The caller adds to them what it
        inserts."""
        known = self._known
        if len(known) >= _HOSTS_REMEMBERED:
            known.clear()
        missing = [(host_id,) for host_id in dict.fromkeys(hosts) if host_id not in known]
        if missing:
            known.update(dict.fromkeys((host_id for (host_id,) in missing), 0))
            known.update((HostId(host_id), n) for host_id, n, _ in self._db.read_rows("host_counts_of", missing))
        return known

    def forget_known(self, hosts: Iterable[HostId]) -> None:
        """Fewer URLs of these hosts were added than `known_urls` was told."""
        for host_id in hosts:
            self._known.pop(host_id, None)

    def find_or_create(self, host: HostKey) -> tuple[HostId, int]:
        """The rows of a host and of its domain; created if there are none."""
        known = self._hosts.get(host)
        if known is None:
            if len(self._hosts) >= _HOSTS_REMEMBERED:
                self._hosts.clear()
            known = self._hosts[host] = self._find(host) or self._make(host)
        return known

    def find_domains(self, hosts: list[HostKey]) -> list[int]:
        """The row of each host's domain, 0 where there is none; none is created."""
        known = self._domains
        try:
            return [known[host] for host in hosts]
        except KeyError:
            pass
        if len(known) >= _HOSTS_REMEMBERED:
            known.clear()
            self._unknown_domains.clear()
        for host in hosts:
            if host not in known:
                known[host] = self._domain_row(host)
        return [known[host] for host in hosts]

    def domain_name(self, host: HostKey) -> Domain:
        return self._domain_of(host)[0]

    def _find(self, host: HostKey) -> tuple[HostId, int] | None:
        row: tuple[HostId, int] | None = self._db.fetch_one("host_by_name", host)
        return row

    def _domain_row(self, host: HostKey) -> int:
        found = self._hosts.get(host) or self._find(host)
        if found is not None:
            return found[1]
        domain = self._domain_of(host)[0]  # known by another of its hosts?
        row = self._db.fetch_one("domain_by_name", domain)
        if row is not None:
            return int(row[0])
        self._unknown_domains.setdefault(domain, []).append(host)
        return 0

    def _make(self, host: HostKey) -> tuple[HostId, int]:
        db = self._db
        domain, partition, suffix = self._domain_of(host)
        found = db.fetch_one("domain_by_name", domain)
        if found is None:
            domain_id = db.insert("add_domain", domain, partition, self._suffix_row(suffix))
            for stranger in self._unknown_domains.pop(domain, ()):
                self._domains.pop(stranger, None)
        else:
            domain_id = found[0]
        self.created += 1
        host_id = HostId(db.insert("add_host", host, domain_id))
        db.execute("count_host", domain_id)
        return host_id, domain_id

    def _suffix_row(self, suffix: str) -> int:
        known = self._suffixes.get(suffix)
        if known is None:
            row = self._db.fetch_one("suffix_by_name", suffix)
            if row is None:
                known = self._db.insert("add_suffix", suffix)
            else:
                known = int(row[0])
            self._suffixes[suffix] = known
        return known


def save_sitemaps(db: Database, hosts: HostRows, batch: Batch) -> list[tuple[int, int]]:
    """Store what sitemaps say about URLs, after the URLs of the batch were added. About a URL without a row nothing is
    stored. Returns the identities (domain, fingerprint) of those for which they give a priority."""
    valued: list[tuple[int, int]] = []
    if batch.hints:
        rows = [
            (hosts.find_or_create(hint.host)[1], hint.fingerprint, hint.listed_in, hint.changefreq, hint.priority)
            for hint in batch.hints
        ]
        db.write_rows("save_hints", rows)
        valued = [row[:2] for row in rows if row[4] is not None]
        dated = [
            (hosts.find_or_create(hint.host)[1], hint.fingerprint, hint.modified)
            for hint in batch.hints
            if hint.modified is not None
        ]
        db.write_rows("save_modified", dated)
    if batch.sitemap_names:
        named = [(hosts.find_or_create(n.host)[1], n.fingerprint, n.named_by) for n in batch.sitemap_names]
        db.write_rows("name_sitemaps", named)
    if batch.sitemaps:
        db.write_rows("save_sitemaps", batch.sitemaps)
    return valued


def bring_forward(
    db: Database,
    hosts: HostRows,
    batch: Batch,
    when: DateOfReported,
    stamp: float,
) -> int:
    """Bring forward the visits of pages that trusted sitemaps report as changed since our last visit. Returns their
    number."""
    reported = [
        (hosts.find_or_create(hint.host)[1], hint.fingerprint, hint.modified, hint.trusted)
        for hint in batch.hints
        if hint.trusted is not False and hint.modified is not None and hint.modified <= stamp
    ]
    rows = []
    for planned, *row in db.read_rows("reported", reported, stamp):
        page = ReportedChange(*row)
        date = when(page)
        if date is not None and date < planned:
            rows.append((date, page.url_id))
    db.write_rows("bring_forward", rows)
    return len(rows)
