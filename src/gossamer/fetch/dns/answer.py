"""Interprets DNS replies: addresses, an alias to follow, a negative answer, or a failure. Pure."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

import pycares

from gossamer.model.outcome import Failure
from gossamer.model.units import Seconds

MAX_ALIASES = 16
"""Aliases between a host and its addresses; a longer chain counts as a loop."""
MAX_ADDRESSES = 32
"""Addresses kept of one family. An answer may hold thousands, but only a few are ever dialled."""

_SIGN_BIT = 1 << 31  # a time to live with it set means 0 (RFC 2181, 8)
_ESCAPED = re.compile(r"\\(\d{3}|.)")


@dataclass(frozen=True, slots=True)
class Found:
    """Addresses, never empty, and the shortest time to live in the chain that led to them."""

    addresses: tuple[str, ...]
    ttl: Seconds


@dataclass(frozen=True, slots=True)
class Alias:
    """The name is an alias, and the answer has no addresses for its target."""

    target: str
    passed: frozenset[str]  # names in the chain, including the queried one
    ttl: Seconds


class DnsFailure(Enum):
    """Ways in which a name server fails to answer. None of them is conclusive about the name."""

    SILENT = "silent"
    UNREACHABLE = "unreachable"  # no server is listening there
    SERVFAIL = "servfail"
    REFUSED = "refused"  # it refuses to serve us
    GARBLED = "garbled"

    @property
    def failure(self) -> Failure:
        """The failure as the crawl counts it: unreachable like a timeout, refused or garbled like SERVFAIL."""
        return Failure.DNS_TIMEOUT if self in (DnsFailure.SILENT, DnsFailure.UNREACHABLE) else Failure.DNS_SERVFAIL


Denial = Failure
"""A negative answer: `dns_nxdomain`, `dns_no_address` or `dns_cname_loop`."""

Reply = Found | Alias | Denial | DnsFailure

_PLAINEST = (
    *(DnsFailure.SERVFAIL, DnsFailure.REFUSED, DnsFailure.GARBLED),
    *(DnsFailure.SILENT, DnsFailure.UNREACHABLE),
)
"""Which of two failures to report: an error reply before no reply."""


def read_reply(name: str, kind: int, records: Iterable[pycares.DNSRecord]) -> Found | Alias | Denial:
    """What the records of a reply to a query of this kind (A or AAAA) say about a name.

    Only the name itself and the targets of its aliases count; records of other names are ignored.
    """
    addresses: dict[str, list[str]] = {}
    ttls: dict[str, float] = {}
    aliases: dict[str, str] = {}
    for record in records:
        data = record.data
        owner = _plain(record.name)
        if isinstance(data, pycares.ARecordData | pycares.AAAARecordData):
            if record.type != kind:
                continue
            addresses.setdefault(owner, []).append(data.addr)
        elif isinstance(data, pycares.CNAMERecordData):
            aliases[owner] = _plain(data.cname)
        else:
            continue
        ttls[owner] = min(ttls.get(owner, float("inf")), _ttl(record.ttl))
    at, ttl, passed = _plain(name), float("inf"), set[str]()
    while at not in addresses and at in aliases:
        passed.add(at)
        ttl = min(ttl, ttls[at])  # an alias in the chain may expire before the address
        at = aliases[at]
        if at in passed or len(passed) >= MAX_ALIASES:
            return Failure.DNS_CNAME_LOOP
    if at in addresses:
        kept = tuple(dict.fromkeys(addresses[at]))[:MAX_ADDRESSES]
        return Found(kept, Seconds(min(ttl, ttls[at])))
    if passed:
        return Alias(at, frozenset(passed), Seconds(ttl))
    return Failure.DNS_NO_ADDRESS


def merge_replies(four: Reply, six: Reply) -> Reply:
    """Combine the replies for both address families; IPv4 addresses come first.

    Addresses take precedence over everything, a negative answer about the name over an answer about one family.
    "No address" is reported only if both replies say so.
    """
    if isinstance(four, Found) and isinstance(six, Found):
        return Found(four.addresses + six.addresses, Seconds(min(four.ttl, six.ttl)))
    both = (four, six)
    for reply in both:
        if isinstance(reply, Found):
            return reply
    for denial in (Failure.DNS_NXDOMAIN, Failure.DNS_CNAME_LOOP):
        if denial in both:
            return denial
    for reply in both:
        if isinstance(reply, Alias):
            return reply
    for trouble in _PLAINEST:
        if trouble in both:
            return trouble
    return Failure.DNS_NO_ADDRESS


def _plain(name: str) -> str:
    """A name in the form of a host key: lower case, without the escapes that c-ares adds."""
    name = name.lower().removesuffix(".")
    return _ESCAPED.sub(_unescape, name) if "\\" in name else name


def _unescape(match: re.Match[str]) -> str:
    escaped = match.group(1)
    return chr(int(escaped)) if len(escaped) == 3 else escaped


def _ttl(seconds: int) -> float:
    return 0.0 if seconds >= _SIGN_BIT else float(seconds)
