"""What an answer says: addresses, an alias to follow, a denial, or nothing that can be used. Pure."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

import pycares

from gossamer.model.outcome import Failure
from gossamer.model.units import Seconds

MAX_ALIASES = 16
"""Aliases from a host to its addresses; a longer chain counts as a loop."""
MAX_ADDRESSES = 32
"""Addresses kept of one family. An answer may hold thousands; nobody dials so many."""

_SIGN_BIT = 1 << 31  # a time to live with it set means 0 (RFC 2181, 8)
_ESCAPED = re.compile(r"\\(\d{3}|.)")


@dataclass(frozen=True, slots=True)
class Found:
    """Addresses, never empty, and the shortest time to live on the way to them."""

    addresses: tuple[str, ...]
    ttl: Seconds


@dataclass(frozen=True, slots=True)
class Alias:
    """The name has another name, and the answer says no more about that one."""

    target: str
    passed: frozenset[str]  # names on the way, the asked one included
    ttl: Seconds


class DnsFailure(Enum):
    """Ways a name server does not answer. None of them says anything for sure about the name."""

    SILENT = "silent"
    UNREACHABLE = "unreachable"  # nobody listens there
    SERVFAIL = "servfail"
    REFUSED = "refused"  # it does not want to serve us
    GARBLED = "garbled"

    @property
    def failure(self) -> Failure:
        """As the crawl knows it: nobody at home is as good as silence, a bad answer as bad as SERVFAIL."""
        return Failure.DNS_TIMEOUT if self in (DnsFailure.SILENT, DnsFailure.UNREACHABLE) else Failure.DNS_SERVFAIL


Denial = Failure
"""`dns_nxdomain`, `dns_no_address` or `dns_cname_loop`: an answer, and it says no."""

Reply = Found | Alias | Denial | DnsFailure

_PLAINEST = (
    *(DnsFailure.SERVFAIL, DnsFailure.REFUSED, DnsFailure.GARBLED),
    *(DnsFailure.SILENT, DnsFailure.UNREACHABLE),
)
"""Which of two troubles to report: what somebody said comes before what nobody did."""


def read_reply(name: str, kind: int, records: Iterable[pycares.DNSRecord]) -> Found | Alias | Denial:
    """What the records of an answer to a question of this kind (A or AAAA) say about a name.

    Only the name itself and what its aliases lead to counts; addresses of other names are left alone.
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
        ttl = min(ttl, ttls[at])  # an alias on the way may expire before the address
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
    """What both families of addresses say together; IPv4 stands first.

    Addresses win over everything, a denial of the name over what is said of one family; that there is no address is
    believed only when both say so.
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
    """A name as a host key has it: c-ares escapes what a zone file would not take."""
    name = name.lower().removesuffix(".")
    return _ESCAPED.sub(_unescaped, name) if "\\" in name else name


def _unescaped(match: re.Match[str]) -> str:
    escaped = match.group(1)
    return chr(int(escaped)) if len(escaped) == 3 else escaped


def _ttl(seconds: int) -> float:
    return 0.0 if seconds >= _SIGN_BIT else float(seconds)
