"""The canonical form of a URL, or the reason why there is none. Hot: benchmarks/bench_urls.py.

It is the WHATWG serialisation without userinfo, fragment, empty query and the host's final dot, and with
percent-escapes folded; ADR 2 gives the reasons. The parser is `ada_url`, which passes all of the standard's test data.
`can_ada` 3.0.0 would be faster but fails on many international hosts and on paths like `/.a/../b`.
"""

import re
from functools import lru_cache, partial
from typing import NamedTuple

from ada_url import join_url, normalize_url

from gossamer.filter.authority import Authority, fold_escapes, read_authority
from gossamer.filter.query_rules import CanonicalRules, rewrite_path
from gossamer.model.formats import MAX_HOST, MAX_LABEL, abbreviated
from gossamer.model.units import HostKey, Origin, Url

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
