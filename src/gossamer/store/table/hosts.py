"""Rows of hosts, domains and public suffixes, and what sitemaps say about URLs, within the writer's transactions.

`HostRows` finds and creates rows; it is hot, since every candidate and every link needs one. `retire_hosts` writes the
front-queue entries of hosts that give up their back queues.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from gossamer.model.batch import Batch, RetiredHost
from gossamer.model.requeue import ReportedChange
from gossamer.model.units import Domain, HostId, HostKey
from gossamer.store.ports import Database, DateOfReported


def row_of_host(db: Database, host: str) -> int:
    """The id of a host by its name as people write it; of an unknown host one that no URL has."""
    rows = db.fetch_each("host_by_name", [(host.lower().rstrip("."),)])[0]
    return int(rows[0][0]) if rows else -1


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
    hosts = dict(retired)
    rows = [(host_id,) for host_id in hosts]
    truths = db.fetch_each("front_truth", rows)
    db.write_rows("leave_fronts", rows)
    entries = []
    resting = []
    for (host_id, not_before), truth in zip(hosts.items(), truths, strict=True):
        rests = not_before > stamp
        for front, place in truth:
            if by_score and front == 0 and not rests:
                entries.append((host_id, front, place))
            else:  # by score, a host that rests waits for its date, like a URL that does
                entries.append((host_id, 1 if by_score else front, max(place, stamp, not_before)))
        if rests:
            resting.append((not_before, host_id))
    db.write_rows("enter_front", entries)
    for entry in entries:
        touch(*entry)
    db.write_rows("rest_host", resting)


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
        return self.find_or_create_all([host])[0]

    def find_or_create_all(self, hosts: list[HostKey]) -> list[tuple[HostId, int]]:
        """The same for each of many hosts, in few round trips. Rows are created in the order of the hosts."""
        known = self._hosts
        try:
            return [known[host] for host in hosts]
        except KeyError:
            pass
        if len(known) >= _HOSTS_REMEMBERED:
            known.clear()
        self._find([host for host in dict.fromkeys(hosts) if host not in known])
        if missing := [host for host in dict.fromkeys(hosts) if host not in known]:
            self._make(missing)
            self._find(missing)
        return [known[host] for host in hosts]

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
        missing = [host for host in dict.fromkeys(hosts) if host not in known]
        self._find([host for host in missing if host not in self._hosts])
        domains = {host: self._domain_of(host)[0] for host in missing if host not in self._hosts}
        rows = self._domain_rows(domains.values())  # known by other hosts?
        for host in missing:
            if (found := self._hosts.get(host)) is not None:
                known[host] = found[1]
            elif (row := rows.get(domains[host])) is not None:
                known[host] = row
            else:
                known[host] = 0
                self._unknown_domains.setdefault(domains[host], []).append(host)
        return [known[host] for host in hosts]

    def domain_name(self, host: HostKey) -> Domain:
        return self._domain_of(host)[0]

    def _find(self, hosts: list[HostKey]) -> None:
        """Remember the rows of these hosts, as far as they have some."""
        rows = self._db.fetch_each("host_by_name", [(host,) for host in hosts])
        self._hosts.update((host, row[0]) for host, row in zip(hosts, rows, strict=True) if row)

    def _domain_rows(self, domains: Iterable[Domain]) -> dict[Domain, int]:
        """Of the domains that have rows."""
        wanted = list(dict.fromkeys(domains))
        rows = self._db.fetch_each("domain_by_name", [(domain,) for domain in wanted])
        return {domain: int(row[0][0]) for domain, row in zip(wanted, rows, strict=True) if row}

    def _make(self, hosts: list[HostKey]) -> None:
        db = self._db
        domains = {host: self._domain_of(host) for host in hosts}
        rows = self._domain_rows(domain for domain, _, _ in domains.values())
        new = {domain: (partition, suffix) for domain, partition, suffix in domains.values() if domain not in rows}
        if new:
            db.write_rows("add_domain", [(domain, part, self._suffix_row(tld)) for domain, (part, tld) in new.items()])
            rows |= self._domain_rows(new)
            for domain in new:
                for stranger in self._unknown_domains.pop(domain, ()):
                    self._domains.pop(stranger, None)
        added: Counter[int] = Counter()
        made = []
        for host in hosts:
            domain_id = rows[domains[host][0]]
            made.append((host, added[domain_id], domain_id))
            added[domain_id] += 1
        db.write_rows("add_host", made)
        db.write_rows("count_host", [(n, domain_id) for domain_id, n in added.items()])
        self.created += len(hosts)

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
