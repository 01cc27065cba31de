"""Which rows hosts, domains and public suffixes have. Hot: every candidate and every link asks."""

import sqlite3
from collections.abc import Callable, Mapping

from gossamer.model.units import Domain, HostId, HostKey

_HOSTS_REMEMBERED = 100_000

DomainOf = Callable[[HostKey], tuple[Domain, int, str]]
"""The registrable domain of a host, its partition and its public suffix."""


class HostRows:
    """Finds the rows, and makes those of hosts that are to have URLs. Remembers what it found."""

    def __init__(self, db: sqlite3.Connection, sql: Mapping[str, str], domain_of: DomainOf) -> None:
        self._db = db
        self._sql = sql
        self._domain_of = domain_of
        self._hosts: dict[HostKey, tuple[HostId, int]] = {}  # host -> its row and its domain's
        self._domains: dict[HostKey, int] = {}  # host -> its domain's row, 0 if there is none
        self._strangers: dict[Domain, list[HostKey]] = {}  # a domain without a row -> its hosts in `_domains`
        self._suffixes: dict[str, int] = {}
        self.made = 0  # hosts, ever

    def forget(self) -> None:
        """Rows made in a transaction that was rolled back are not there."""
        self._hosts.clear()
        self._domains.clear()
        self._strangers.clear()
        self._suffixes.clear()

    def ids_of(self, host: HostKey) -> tuple[HostId, int]:
        """The rows of a host and of its domain; made if there are none."""
        known = self._hosts.get(host)
        if known is None:
            if len(self._hosts) >= _HOSTS_REMEMBERED:
                self._hosts.clear()
            known = self._hosts[host] = self._find(host) or self._make(host)
        return known

    def domains_of(self, hosts: list[HostKey]) -> list[int]:
        """The row of each host's domain, 0 where there is none; none is made."""
        known = self._domains
        try:
            return [known[host] for host in hosts]
        except KeyError:
            pass
        if len(known) >= _HOSTS_REMEMBERED:
            known.clear()
            self._strangers.clear()
        for host in hosts:
            if host not in known:
                known[host] = self._domain_row(host)
        return [known[host] for host in hosts]

    def _find(self, host: HostKey) -> tuple[HostId, int] | None:
        row: tuple[HostId, int] | None = self._db.execute(self._sql["host_by_name"], (host,)).fetchone()
        return row

    def _domain_row(self, host: HostKey) -> int:
        found = self._hosts.get(host) or self._find(host)
        if found is not None:
            return found[1]
        domain = self._domain_of(host)[0]  # known by another of its hosts?
        row = self._db.execute(self._sql["domain_by_name"], (domain,)).fetchone()
        if row is not None:
            return int(row[0])
        self._strangers.setdefault(domain, []).append(host)
        return 0

    def _make(self, host: HostKey) -> tuple[HostId, int]:
        db, sql = self._db, self._sql
        domain, partition, suffix = self._domain_of(host)
        found = db.execute(sql["domain_by_name"], (domain,)).fetchone()
        if found is None:
            made = db.execute(sql["add_domain"], (domain, partition, self._suffix_row(suffix)))
            domain_id = int(made.lastrowid or 0)
            for stranger in self._strangers.pop(domain, ()):
                self._domains.pop(stranger, None)
        else:
            domain_id = found[0]
        self.made += 1
        return HostId(int(db.execute(sql["add_host"], (host, domain_id)).lastrowid or 0)), domain_id

    def _suffix_row(self, suffix: str) -> int:
        known = self._suffixes.get(suffix)
        if known is None:
            row = self._db.execute(self._sql["suffix_by_name"], (suffix,)).fetchone()
            if row is None:
                known = int(self._db.execute(self._sql["add_suffix"], (suffix,)).lastrowid or 0)
            else:
                known = int(row[0])
            self._suffixes[suffix] = known
        return known
