"""Parses the part of a URL before its path: the host and the port, which must not be a blocked one. Also normalises
percent-encoded text (RFC 3986, 6.2.2.1 and 6.2.2.2)."""

from typing import NamedTuple

from gossamer.model.formats import is_dns_name
from gossamer.model.units import HostKey, Origin

# The "bad ports" of the WHATWG fetch standard: services that could interpret an HTTP request as commands.
_BAD_PORTS = """
    1 7 9 11 13 15 17 19 20 21 22 23 25 37 42 43 53 69 77 79 87 95 101 102 103 104 109 110 111 113 115 117 119 123 135
    137 139 143 161 179 389 427 465 512 513 514 515 526 530 531 532 540 548 554 556 563 587 601 636 989 990 993 995
    1719 1720 1723 2049 3659 4045 4190 5060 5061 6000 6566 6665 6666 6667 6668 6669 6679 6697 10080
"""
# Blocked for a crawler though not for a browser: file shares, databases, caches, remote desktops, container
# engines. A link to them is an attack or a mistake.
_SERVICE_PORTS = "445 1433 1521 2375 2376 2379 3306 3389 5432 5672 5900 6379 9042 11211 27017"

BLOCKED_PORTS: frozenset[int] = frozenset(int(port) for port in (_BAD_PORTS + _SERVICE_PORTS).split())


class Authority(NamedTuple):
    """The origin and the host of a URL."""

    origin: Origin
    host: HostKey


def read_authority(prefix: str, blocked_ports: frozenset[int]) -> Authority | str:
    """The authority of `scheme://[userinfo@]host[:port]` as the WHATWG parser serialises it, or a reason.

    Userinfo and the final dot of the host are dropped. `bad_url` for a name that no resolver accepts (empty or
    overlong labels, other characters) and for port 0, `blocked_port` for a blocked port.
    """
    scheme, _, rest = prefix.partition("://")
    rest = rest.rpartition("@")[2]
    if rest.startswith("["):
        host, _, port = rest.partition("]")
        host, port = host + "]", port.removeprefix(":")
    else:
        host, _, port = rest.partition(":")
        host = host.removesuffix(".")
        if not is_dns_name(host):
            return "bad_url"
    if not port:
        return Authority(Origin(f"{scheme}://{host}"), HostKey(host))
    if port == "0":
        return "bad_url"
    if int(port) in blocked_ports:
        return "blocked_port"
    return Authority(Origin(f"{scheme}://{host}:{port}"), HostKey(host))


_HEX = "0123456789abcdefABCDEF"
_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")

_UPPER = {high + low: f"%{high}{low}".upper() for high in _HEX for low in _HEX}
_FOLDED = {
    digits: chr(int(digits, 16)) if chr(int(digits, 16)) in _UNRESERVED else upper for digits, upper in _UPPER.items()
}


def fold_escapes(text: str) -> str:
    """Decode escapes of unreserved characters, and write the hex digits of all others in upper case.

    Decodes once: the result is its own folded form. `%2F` stays `%2F`, `%zz` stays as it is.
    """
    start, *parts = text.split("%")
    folded = [start]
    table = _FOLDED
    for part in parts:
        escape = table.get(part[:2])
        table = _FOLDED
        if escape is not None:
            folded.append(escape + part[2:])
            continue
        folded.append("%" + part)
        if not part or (len(part) == 1 and part in _HEX):
            # Decoding `%32` in `%%32e` would create the escape `%2e`, which a second pass would decode again.
            table = _UPPER
    return "".join(folded)
