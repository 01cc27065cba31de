"""The DNS cache: how long an answer is valid, and the form in which one is stored with its host. Pure: time is a
parameter, and nothing is looked up here."""

import ipaddress
from collections import OrderedDict
from dataclasses import dataclass
from typing import Self

from gossamer.fetch.dns.cares import MAX_ADDRESSES
from gossamer.model.outcome import Failure
from gossamer.model.units import HostKey, Instant, Seconds


@dataclass(frozen=True, slots=True)
class StoredAnswer:
    """The last known addresses of a host and their expiry, as stored with the host across restarts."""

    addresses: tuple[str, ...]
    expires: Instant

    def to_text(self) -> str:
        """One line without blanks, `1700000000:192.0.2.1,2001:db8::1`: expiry in seconds, then the addresses."""
        return f"{int(self.expires)}:{','.join(self.addresses)}"

    @classmethod
    def from_text(cls, text: str) -> Self | None:
        """The inverse of `to_text`; None for other text. Never raises: an invalid row costs one query."""
        expires, _, addresses = text.partition(":")
        if not (expires.isascii() and expires.isdigit() and len(expires) <= 12):
            return None
        try:
            kept = tuple(str(ipaddress.ip_address(address)) for address in addresses.split(","))
        except ValueError:
            return None
        return cls(kept[: 2 * MAX_ADDRESSES], Instant(float(expires)))


@dataclass(frozen=True, slots=True)
class CacheLimits:
    """Lifetimes and size of the cache. By default answers live 30 s to 1 h, negative answers 300 s."""

    floor: Seconds = Seconds(30.0)
    ceiling: Seconds = Seconds(3600.0)
    absent: Seconds = Seconds(300.0)  # no such name, or no address
    stale: Seconds = Seconds(24 * 3600.0)  # how long an expired address may be used while DNS is down
    hosts: int = 100_000


@dataclass(frozen=True, slots=True)
class Addresses:
    """The addresses of a host. Never empty, IPv4 first. `stale`: an expired answer, used because DNS failed."""

    addresses: tuple[str, ...]
    expires: Instant
    stale: bool = False


@dataclass(frozen=True, slots=True)
class Absence:
    """A negative cache entry: the host could not be resolved."""

    failure: Failure
    expires: Instant


DNS_ERRORS = frozenset((Failure.DNS_SERVFAIL, Failure.DNS_TIMEOUT))
"""Failures of DNS itself, as opposed to negative answers."""


class DnsCache:
    """Answers by host, the least recently used dropped first.

    Invariants: never more than `limits.hosts` entries; an address counts as fresh only before it expires.
    """

    def __init__(self, limits: CacheLimits) -> None:
        self._limits = limits
        self._entries: OrderedDict[HostKey, Addresses | Absence] = OrderedDict()
        self._last_good: OrderedDict[HostKey, Addresses] = OrderedDict()

    def __len__(self) -> int:
        return len(self._entries)

    def look_up(self, host: HostKey, now: Instant) -> Addresses | Absence | None:
        """The entry of a host, or None if there is none or it has expired."""
        entry = self._entries.get(host)
        if entry is None or entry.expires <= now:
            return None
        self._entries.move_to_end(host)
        return entry

    def store_addresses(self, host: HostKey, addresses: tuple[str, ...], ttl: Seconds, now: Instant) -> Addresses:
        """Store an answer, with its time to live clamped to the limits."""
        limits = self._limits
        held = min(max(ttl, limits.floor), limits.ceiling)
        entry = Addresses(addresses, Instant(now + held))
        self._remember(host, entry)
        self._keep(host, entry)
        return entry

    def store_absence(self, host: HostKey, failure: Failure, now: Instant) -> Absence:
        """Store a negative answer, and drop the last good one: it is no longer true."""
        self._last_good.pop(host, None)
        entry = Absence(failure, Instant(now + self._limits.absent))
        self._keep(host, entry)
        return entry

    def store_failure(self, host: HostKey, failure: Failure, until: Instant, now: Instant) -> Addresses | Absence:
        """Store that DNS failed, until `until`. If there is an expired answer, it is stored as stale instead."""
        limits = self._limits
        stale = self.stale(host, now)
        entry: Addresses | Absence
        if stale is not None:
            # Not for as long as a failure without a substitute: a stale answer may be wrong.
            held = min(max(until - now, limits.floor), limits.absent)
            entry = Addresses(stale.addresses, Instant(now + held), stale=True)
        else:
            entry = Absence(failure, until)
        self._keep(host, entry)
        return entry

    def stale(self, host: HostKey, now: Instant) -> Addresses | None:
        """The last good answer, even if expired; None if there is none or it is too old."""
        good = self._last_good.get(host)
        if good is None or now - good.expires > self._limits.stale:
            return None
        return Addresses(good.addresses, good.expires, stale=True)

    def forget(self, host: HostKey) -> None:
        """Drop the entry, so that the host is looked up again. The last good answer is kept in case that fails."""
        self._entries.pop(host, None)

    def last_good(self, host: HostKey) -> StoredAnswer | None:
        """The last good answer, to be stored across restarts."""
        good = self._last_good.get(host)
        return StoredAnswer(good.addresses, good.expires) if good is not None else None

    def restore(self, host: HostKey, stored: StoredAnswer, now: Instant) -> None:
        """Restore what `last_good` returned before a restart, with its expiry. An expired one may be used as stale.

        Does nothing if something newer is known.
        """
        if host in self._entries or host in self._last_good or not stored.addresses:
            return
        # If the clock was set back in between, the answer must not be valid for years.
        good = Addresses(stored.addresses, min(stored.expires, Instant(now + self._limits.ceiling)))
        if now - good.expires > self._limits.stale:
            return
        self._remember(host, good)
        if good.expires > now:
            self._keep(host, good)

    def _remember(self, host: HostKey, good: Addresses) -> None:
        self._last_good[host] = good
        self._last_good.move_to_end(host)
        while len(self._last_good) > self._limits.hosts:
            self._last_good.popitem(last=False)

    def _keep(self, host: HostKey, entry: Addresses | Absence) -> None:
        self._entries[host] = entry
        self._entries.move_to_end(host)
        while len(self._entries) > self._limits.hosts:
            oldest, _ = self._entries.popitem(last=False)
            self._last_good.pop(oldest, None)
