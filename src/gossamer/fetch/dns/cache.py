"""How long an answer holds. Pure: the time is a parameter, nothing is asked here."""

from collections import OrderedDict
from dataclasses import dataclass

from gossamer.model.outcome import Failure
from gossamer.model.units import HostKey, Instant, Seconds


@dataclass(frozen=True, slots=True)
class CacheLimits:
    """The defaults are the project's: answers 30 s to 1 h, absence 300 s."""

    floor: Seconds = Seconds(30.0)
    ceiling: Seconds = Seconds(3600.0)
    absent: Seconds = Seconds(300.0)  # no such name, or no address
    # A server that fails or is silent may be back at any moment; this only keeps a burst from asking in chorus.
    trouble: Seconds = Seconds(3.0)
    stale: Seconds = Seconds(24 * 3600.0)  # how long past its time an address may stand in while DNS is down
    hosts: int = 100_000


@dataclass(frozen=True, slots=True)
class Addresses:
    """Where a host is. Never empty, IPv4 first. `stale` marks an expired answer used for want of a better one."""

    addresses: tuple[str, ...]
    expires: Instant
    stale: bool = False


@dataclass(frozen=True, slots=True)
class Absence:
    """The remembered fact that a host could not be resolved."""

    failure: Failure
    expires: Instant


TROUBLE = frozenset((Failure.DNS_SERVFAIL, Failure.DNS_TIMEOUT))
"""Failures of DNS itself, as against answers that say no."""


class DnsCache:
    """Answers by host, the least recently used dropped first.

    Invariants: never more than `limits.hosts` entries; an address is handed out as fresh only before it expires.
    """

    def __init__(self, limits: CacheLimits) -> None:
        self._limits = limits
        self._entries: OrderedDict[HostKey, Addresses | Absence] = OrderedDict()
        self._last_good: OrderedDict[HostKey, Addresses] = OrderedDict()

    def __len__(self) -> int:
        return len(self._entries)

    def look_up(self, host: HostKey, now: Instant) -> Addresses | Absence | None:
        """What is known and still holds, or None."""
        entry = self._entries.get(host)
        if entry is None or entry.expires <= now:
            return None
        self._entries.move_to_end(host)
        return entry

    def found(self, host: HostKey, addresses: tuple[str, ...], ttl: Seconds, now: Instant) -> Addresses:
        """Remember an answer; its time to live is brought within the limits."""
        limits = self._limits
        held = min(max(ttl, limits.floor), limits.ceiling)
        entry = Addresses(addresses, Instant(now + held))
        self._last_good[host] = entry
        self._last_good.move_to_end(host)
        self._keep(host, entry)
        return entry

    def missed(self, host: HostKey, failure: Failure, now: Instant) -> Addresses | Absence:
        """Remember a failure. While DNS itself is in trouble, an expired answer is given instead."""
        limits = self._limits
        entry: Addresses | Absence
        if failure in TROUBLE:
            good = self._last_good.get(host)
            if good is not None and now - good.expires <= limits.stale:
                entry = Addresses(good.addresses, Instant(now + limits.floor), stale=True)
            else:
                entry = Absence(failure, Instant(now + limits.trouble))
        else:
            self._last_good.pop(host, None)  # the name is gone: the old address is no better than none
            entry = Absence(failure, Instant(now + limits.absent))
        self._keep(host, entry)
        return entry

    def forget(self, host: HostKey) -> None:
        """Ask again next time. The last good answer stays for when that fails."""
        self._entries.pop(host, None)

    def _keep(self, host: HostKey, entry: Addresses | Absence) -> None:
        self._entries[host] = entry
        self._entries.move_to_end(host)
        while len(self._entries) > self._limits.hosts:
            oldest, _ = self._entries.popitem(last=False)
            self._last_good.pop(oldest, None)
        while len(self._last_good) > self._limits.hosts:
            self._last_good.popitem(last=False)
