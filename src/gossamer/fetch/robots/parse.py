"""Parses robots.txt; accepts any input.

Groups that name the same agent are merged; the group of our product token applies if there is one, even an empty one,
and the group of `*` otherwise (RFC 9309, 2.2.1). A run of User-agent lines is ended only by a rule, not by other lines
(2.2.4). Misspelt keys and missing colons are read as Google's parser reads them: a site that wrote `Dissallow:
/private` meant it.
"""

import math
import re
from typing import Final

from gossamer.fetch.robots.rules import RobotsRules, RuleLine
from gossamer.model.units import Seconds

MAX_BYTES: Final = 512_000
"""How much of a file is parsed: 500 KiB, the minimum that RFC 9309, 2.5, requires."""

MAX_LINE_BYTES: Final = 16_663
"""Longer lines are truncated, as in Google's parser: eight times the longest URL that browsers accepted."""

MAX_SITEMAPS: Final = 1_000
"""Sitemap lines kept; further ones are dropped."""

LONGEST_DELAY: Final = Seconds(1e9)
"""Upper limit of a delay, about thirty years, so that sums of times stay sensible."""

_AGENT, _ALLOW, _DISALLOW, _DELAY, _SITEMAP = range(5)
_KINDS: Final = {
    b"user-agent": _AGENT,
    b"useragent": _AGENT,
    b"user agent": _AGENT,
    b"allow": _ALLOW,
    b"disallow": _DISALLOW,
    b"dissallow": _DISALLOW,
    b"dissalow": _DISALLOW,
    b"disalow": _DISALLOW,
    b"diasllow": _DISALLOW,
    b"disallaw": _DISALLOW,
    b"crawl-delay": _DELAY,
    b"sitemap": _SITEMAP,
    b"site-map": _SITEMAP,
}
# The usual spellings, so that most lines need neither strip() nor lower().
_AS_WRITTEN: Final = _KINDS | {
    b"User-agent": _AGENT,
    b"User-Agent": _AGENT,
    b"Allow": _ALLOW,
    b"Disallow": _DISALLOW,
    b"Crawl-delay": _DELAY,
    b"Crawl-Delay": _DELAY,
    b"Sitemap": _SITEMAP,
}

_token = re.compile(rb"[A-Za-z_-]*").match
_number = re.compile(rb"(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?").fullmatch


def is_product_token(agent: str) -> bool:
    """Whether robots.txt can address this agent: only letters, `_` and `-` are allowed in a name (RFC 9309, 2.2.1)."""
    return re.fullmatch(r"[A-Za-z_-]+", agent) is not None


def parse_robots(body: bytes, agent: str, *, truncated: bool = False) -> RobotsRules:
    """The rules of a robots.txt file for `agent`, a product token.

    `truncated` means that the file was not read to its end; its last line is then dropped, as is a line that the size
    limit cuts. Never raises.
    """
    named = agent.lower().encode() if is_product_token(agent) else None
    ours, everybodys = _Section(), _Section()
    sitemaps: list[str] = []
    # The agents of the current group that concern us. A delay belongs to the agents named directly before it,
    # because in files with one delay per agent and no rules between them all would be one group.
    rule_seen = delay_seen = False
    for_rules: tuple[_Section, ...] = ()
    for_delay: tuple[_Section, ...] = ()

    for line_number, line in enumerate(_lines(body, truncated), 1):
        text = line if len(line) <= MAX_LINE_BYTES else line[:MAX_LINE_BYTES]
        if b"#" in text:
            text = text[: text.index(b"#")]
        key, colon, value = text.partition(b":")
        if not colon:
            words = text.split()
            if len(words) != 2:
                continue
            key, value = words
        kind = _AS_WRITTEN.get(key)
        if kind is None:
            kind = _KINDS.get(key.strip().lower())
        if kind is None:
            continue
        value = value.strip()

        if kind in (_DISALLOW, _ALLOW):
            rule_seen = True
            if value and for_rules:
                rule = (kind == _ALLOW, value.decode("latin-1"), text, line_number)
                for section in for_rules:
                    section.rules.append(rule)
        elif kind == _AGENT:
            if rule_seen:
                for_rules = for_delay = ()
            elif delay_seen:
                for_delay = ()
            rule_seen = delay_seen = False
            named_here = _section_of(value, named, ours, everybodys)
            if named_here is not None:
                named_here.found = True
                for_rules = (*(s for s in for_rules if s is not named_here), named_here)
                for_delay = (*(s for s in for_delay if s is not named_here), named_here)
        elif kind == _DELAY:
            delay_seen = True
            delay = read_delay(value)
            if delay is not None:
                for section in for_delay:
                    section.delay = delay if section.delay is None else max(section.delay, delay)
        elif value and len(sitemaps) < MAX_SITEMAPS:
            sitemaps.append(value.decode("utf-8", "replace"))

    chosen = ours if ours.found else everybodys
    return RobotsRules(chosen.rules, crawl_delay=chosen.delay, sitemaps=tuple(sitemaps), group_found=chosen.found)


def read_delay(value: bytes) -> Seconds | None:
    """The seconds of a Crawl-delay, a decimal number that is not negative; None for anything else."""
    if not _number(value):
        return None
    seconds = float(value)
    return Seconds(min(seconds, LONGEST_DELAY)) if not math.isnan(seconds) else None


class _Section:
    """The rules for one agent, all its groups together."""

    __slots__ = ("delay", "found", "rules")

    def __init__(self) -> None:
        self.found = False
        self.delay: Seconds | None = None
        self.rules: list[RuleLine] = []


def _section_of(value: bytes, named: bytes | None, ours: _Section, everybodys: _Section) -> _Section | None:
    """The agent that a User-agent line names: us, everybody, or another one (None)."""
    if value[:1] == b"*" and (len(value) == 1 or value[1:2].isspace()):
        return everybodys
    # A name ends at the first character that is not allowed in names: "Gossamer/1.0" is "Gossamer".
    found = _token(value)
    return ours if found and found[0].lower() == named else None


def _lines(body: bytes, truncated: bool) -> list[bytes]:
    """The complete lines of the file, ended by CR, LF or CR LF."""
    if len(body) > MAX_BYTES:
        truncated = truncated or body[MAX_BYTES : MAX_BYTES + 1] not in (b"\r", b"\n")
        body = body[:MAX_BYTES]
    if truncated:
        body = body[: max(body.rfind(b"\n"), body.rfind(b"\r")) + 1]
    if body[:2] in (b"\xff\xfe", b"\xfe\xff"):
        body = body.decode("utf-16", "replace").encode("utf-8", "replace")
    else:
        # Google's parser skips a partial byte order mark too.
        for octet in (0xEF, 0xBB, 0xBF):
            if body[:1] != bytes((octet,)):
                break
            body = body[1:]
    if b"\0" in body:
        body = body.replace(b"\0", b"")
    return body.splitlines()
