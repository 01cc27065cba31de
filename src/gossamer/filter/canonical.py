"""The canonical form of a URL, or the reason why there is none. Hot: benchmarks/bench_urls.py.

It is the WHATWG serialisation without userinfo, fragment, empty query and the host's final dot, and with
percent-escapes folded (RFC 3986, 6.2.2.1 and 6.2.2.2); ADR 2 gives the reasons. `CanonicalRules` drop what the
configuration calls noise, in addition. The parser is `ada_url`, which passes all of the standard's test data. `can_ada`
3.0.0 would be faster but fails on many international hosts and on paths like `/.a/../b`.
"""

import re
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import NamedTuple

from ada_url import join_url, normalize_url

from gossamer.model.formats import MAX_HOST, MAX_LABEL, abbreviated, is_dns_name
from gossamer.model.units import HostKey, Origin, Url

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


_TRACKING = (
    "gclid gclsrc dclid gbraid wbraid fbclid msclkid yclid ysclid twclid ttclid li_fat_id igshid igsh mc_cid mc_eid "
    "mkt_tok _ga _gl _gac _hsenc _hsmi __hssc __hstc __hsfp hsctatracking vero_id vero_conv oly_anon_id oly_enc_id "
    "wickedid s_cid sc_cid ef_id epik ml_subscriber ml_subscriber_hash pk_campaign pk_kwd pk_source "
    "mtm_campaign mtm_source mtm_medium mtm_keyword mtm_content irclickid _openstat"
)
TRACKING_PARAMETERS: frozenset[str] = frozenset(_TRACKING.split())
"""Parameter names, in lower case, that identify a click or campaign and never change the document."""

TRACKING_PREFIXES: tuple[str, ...] = ("utm_",)

_SESSIONS = (
    "jsessionid phpsessid sid sessid sessionid session_id session-id cfid cftoken zenid oscsid osadcid osclid "
    "aspsessionid asp.net_sessionid"
)
SESSION_PARAMETERS: frozenset[str] = frozenset(_SESSIONS.split())
"""Parameter names, in lower case, that contain a visitor's session."""

# `;jsessionid=…` (Java servlets) ends at the next parameter or segment. Not after a segment of dots: removing it
# would leave a dot segment, and the URL would no longer be canonical.
_SESSION_PARAMETER = re.compile(r"(?<!/\.)(?<!/\.\.);(?:jsessionid|phpsessid|sid)=[^/;]*", re.IGNORECASE).sub
# `/(S(…))` (ASP.NET) is a segment of its own. Matched second, since a parameter may hide its end.
_SESSION_SEGMENT = re.compile(r"/\([A-Z]\([a-z0-9]{24}\)\)(?=/|\Z)", re.IGNORECASE).sub


KNOWN_SCHEMES = frozenset(("http", "https", "ftp"))


@dataclass(frozen=True, slots=True)
class CanonicalRules:
    """What the canonical form drops in addition to the standard. By default nothing."""

    drop_tracking: bool = False
    """Remove parameters of campaigns and clicks (`utm_source`, `gclid`, …)."""
    drop_sessions: bool = False
    """Remove session ids from query and path."""
    drop_query: bool = False
    """Remove the whole query."""
    sort_query: bool = False
    """Sort parameters by name (those of one name keep their order) and remove duplicates."""
    extra_parameters: frozenset[str] = frozenset()
    """More parameter names to remove, in lower case."""
    keep: frozenset[str] = frozenset()
    """Parameter names never to remove, in lower case."""
    max_text_chars: int = 8192
    """Longer text is refused without parsing. The finer limit, in bytes of the canonical form, is an entry rule."""
    blocked_ports: frozenset[int] = field(default=BLOCKED_PORTS)
    schemes: tuple[str, ...] = ("http", "https")
    """Schemes that can be fetched. `ftp` may be added; the canonical form of others is undefined."""

    def __post_init__(self) -> None:
        if not set(self.schemes) <= KNOWN_SCHEMES:
            raise ValueError(f"schemes must be among {sorted(KNOWN_SCHEMES)}, not {self.schemes}")

    @property
    def rewrite(self) -> bool:
        """Whether `rewrite_path` can change anything."""
        return bool(
            self.drop_tracking or self.drop_sessions or self.drop_query or self.sort_query or self.extra_parameters
        )


def rewrite_path(rest: str, rules: CanonicalRules) -> str:
    """Path and query (with folded escapes) without what the rules call noise. Idempotent."""
    path, _, query = rest.partition("?")
    if rules.drop_sessions and (";" in path or "(" in path):
        path = without_session(path)
    if rules.drop_query or not query:
        return path
    parts = query.split("&")
    kept = [part for part in parts if not _is_noise(part.partition("=")[0].lower(), rules)]
    if len(kept) < len(parts) or rules.sort_query:
        kept = [part for part in kept if part]
    if rules.sort_query:
        kept = sorted(dict.fromkeys(kept), key=_name)
    query = "&".join(kept)
    return f"{path}?{query}" if query else path


def without_session(path: str) -> str:
    """The path without the session ids in it."""
    return _SESSION_SEGMENT("", _SESSION_PARAMETER("", path)) or "/"


def _name(part: str) -> str:
    return part.partition("=")[0]


def _is_noise(name: str, rules: CanonicalRules) -> bool:
    return name not in rules.keep and (
        (rules.drop_tracking and (name in TRACKING_PARAMETERS or name.startswith(TRACKING_PREFIXES)))
        or (rules.drop_sessions and name in SESSION_PARAMETERS)
        or name in rules.extra_parameters
    )


def minimise_url(url: Url) -> str:
    """The URL without scheme, `www.` and the path's final slash: an identity for the seen test, not an address.

    `http://www.h.test/a/` and `https://h.test/a` have the same one. `www.` stays if no dotted name would be left. The
    files of an FTP server are not those of a web server with the same name: such a URL is returned unchanged.
    """
    if url.startswith("ftp:"):
        return url
    rest = url.partition("://")[2]
    if rest.startswith("www.") and "." in rest[4:].partition("/")[0]:
        rest = rest[4:]
    path, mark, query = rest.partition("?")
    return path.removesuffix("/") + mark + query


_AUTHORITIES_KEPT = 65_536

_C0_OR_SPACE = "".join(map(chr, range(0x21)))
_REMOVE_TAB_AND_NEWLINE = {9: None, 10: None, 13: None}
# Bounded: a megabyte of letters is not a scheme, and need not be read to its end to know that.
_ANY_SCHEME = r"[a-z][a-z0-9+.-]{0,63}:"
_AUTHORITY = re.compile(r"(?:https?:|ftp:)?[/\\]{2}([^/\\?#]*)", re.IGNORECASE).match
_DEFAULT_PORTS = {"http": 80, "https": 443, "ftp": 21}
_SHORTEST_PREFIX = {"h": len("http://h"), "f": len("ftp://h")}
_LABEL_ENDS = re.compile("[.\u3002\uff0e\uff61]")  # the full stops that IDNA treats as dots


class Canonical(NamedTuple):
    """A canonical URL, split as far as later stages need it. `url[path_start:]` is path and query."""

    url: Url
    host: HostKey
    origin: Origin
    path_start: int

    @property
    def port(self) -> int:
        """The port of the origin, explicit or default."""
        scheme, _, authority = self.origin.partition("://")
        port = authority[len(self.host) + 1 :]
        return int(port) if port else _DEFAULT_PORTS[scheme]


class Refusal(NamedTuple):
    """Text that is not a URL we can fetch. `shown` is its beginning, at most 256 bytes of UTF-8."""

    reason: str
    shown: str


class Canonicaliser:
    """Brings URLs into the canonical form that the rules define. Caches recent authorities (bounded)."""

    def __init__(self, rules: CanonicalRules | None = None) -> None:
        self.rules = rules or CanonicalRules()
        self._rewrites = self.rules.rewrite
        self._schemes = tuple(f"{scheme}://" for scheme in self.rules.schemes)
        ours = "|".join(f"{scheme}:" for scheme in self.rules.schemes)
        self._other_scheme = re.compile(rf"(?!{ours}){_ANY_SCHEME}", re.IGNORECASE).match
        self._max_chars = self.rules.max_text_chars
        self._authority = lru_cache(_AUTHORITIES_KEPT)(partial(read_authority, blocked_ports=self.rules.blocked_ports))

    def canonicalise(self, text: str, base: str | None = None) -> Canonical | Refusal:
        """The canonical form of `text`, resolved against `base` if it is relative.

        Never raises. `bad_scheme` for anything but the rules' schemes, `url_too_long` for text over the limit
        (unparsed), `bad_url` for what the standard rejects and for an empty host.
        """
        text = text.strip(_C0_OR_SPACE)
        if self._other_scheme(text):
            return refusal("bad_scheme", text)
        if len(text) > self._max_chars:
            return refusal("url_too_long", text)
        if "\n" in text or "\t" in text or "\r" in text:
            text = text.translate(_REMOVE_TAB_AND_NEWLINE)
        authority = _AUTHORITY(text)
        if authority and not _plausible(authority[1]):
            return refusal("bad_url", text)
        try:
            href = parse(text, base)
        except ValueError:
            return refusal("bad_url", text)
        found = self.finish(href)
        return refusal(found, text) if isinstance(found, str) else found

    def finish(self, href: str) -> Canonical | str:
        """The canonical form of a URL serialised by the WHATWG parser, or the reason why it is refused."""
        if not href.startswith(self._schemes):
            return "bad_scheme"
        mark = href.find("#")
        if mark >= 0:
            href = href[:mark]
        path_start = end_of_authority(href)
        authority = self._authority(href[:path_start])
        if isinstance(authority, str):
            return authority
        return self._with_path(authority, href[path_start:])

    def _with_path(self, authority: Authority, rest: str) -> Canonical:
        """Join an authority with path and query as the WHATWG parser serialises them."""
        if "%" in rest:
            rest = fold_escapes(rest)
        if rest[-1] == "?" and rest.find("?") == len(rest) - 1:
            rest = rest[:-1]
        if self._rewrites:
            rest = rewrite_path(rest, self.rules)
        origin, host = authority
        return Canonical(Url(origin + rest), host, origin, len(origin))


def parse(text: str, base: str | None = None) -> str:
    """`text` as the WHATWG standard serialises it, against `base`. Raises ValueError if the standard rejects it."""
    try:
        return normalize_url(text) if base is None else join_url(base, text)
    except ValueError:
        # The library accepts no lone surrogates; the standard reads each as U+FFFD (Infra, "convert to scalar values").
        if text.isascii() and (base is None or base.isascii()):
            raise
        text = scalar_values(text)
        return normalize_url(text) if base is None else join_url(scalar_values(base), text)


def scalar_values(text: str) -> str:
    """`text` with each lone surrogate, which no encoding can represent, replaced by U+FFFD."""
    # A pair of surrogates is one character, as in a browser; lone ones are replaced.
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _plausible(authority: str) -> bool:
    """False for an empty authority and for a host that is too long as written, before any IDNA work.

    The standard would skip any number of slashes and read `http:///x` as the host `x`, which is never intended.
    """
    if len(authority) <= MAX_LABEL:
        return authority != ""
    host = authority.rpartition("@")[2]
    if host.startswith("[") or "%" in host:
        return True  # decided after parsing
    host = host.rpartition(":")[0] or host
    labels = _LABEL_ENDS.split(host)
    return len(host) <= MAX_HOST + (labels[-1] == "") and max(map(len, labels)) <= MAX_LABEL


def refusal(reason: str, text: str) -> Refusal:
    """A refusal that shows the beginning of `text`, without userinfo: it may be logged."""
    return Refusal(reason, abbreviated(text))


def parse_canonical(url: Url, host: HostKey) -> Canonical:
    """Split a URL that is already in canonical form, given its host, without parsing it again."""
    path_start = end_of_authority(url)
    return Canonical(url, host, Origin(url[:path_start]), path_start)


def end_of_authority(url: str) -> int:
    """Where the path begins in `scheme://authority/…` of one of our schemes, as the WHATWG parser serialises it."""
    return url.index("/", _SHORTEST_PREFIX[url[0]])


_BY_THE_STANDARD = Canonicaliser()


def canonicalise(text: str, base: str | None = None) -> Canonical | Refusal:
    """`Canonicaliser.canonicalise` with the default rules, which drop nothing beyond the canonical form itself."""
    return _BY_THE_STANDARD.canonicalise(text, base)
