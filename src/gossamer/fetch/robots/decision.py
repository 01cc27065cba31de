"""What the response to a request for `/robots.txt` means (RFC 9309, 2.3 and 2.4), and the rules in its body. Pure;
accepts any input.

  2xx                     the file's rules apply, for 24 hours at most; only a complete file counts (see the caller)
  4xx except 429          there is no file: everything is allowed
  too many redirects      as if there were no file, and flagged
  429, 5xx, 3xx, nothing  rules unknown: everything is closed until the file can be fetched

Known rules that are not older than 24 hours remain in force while the file is unavailable: RFC 9309, 2.4, permits a
longer use of a cached file in that case, but we do not go beyond the day that is permitted anyway. After 30 days
without a file the host counts as having none (2.3.1.4).

Redirects are followed by the caller, up to `MAX_REDIRECTS`; the last response decides for the origin requested first.

The body: groups that name the same agent are merged; the group of our product token applies if there is one, even an
empty one, and the group of `*` otherwise (RFC 9309, 2.2.1). A run of User-agent lines is ended only by a rule, not by
other lines (2.2.4). Misspelt keys and missing colons are read as Google's parser reads them: a site that wrote
`Dissallow: /private` meant it.
"""

import math
import re
from dataclasses import dataclass, replace
from typing import Final

from gossamer.fetch.robots.rules import RobotsRules, RobotsVerdict, RuleLine
from gossamer.model.units import DAY, Instant, Seconds

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


MAX_REDIRECTS: Final = 5
"""Redirects to follow for a robots.txt (RFC 9309, 2.3.1.2)."""

DENIED: Final = "robots_denied"
UNREACHABLE: Final = "robots_unreachable"
UNREACHABLE_LONG: Final = "robots_unreachable_for_long"
NOT_TEXT: Final = "robots_not_text"
TOO_MANY_REDIRECTS: Final = "too_many_redirects"

_CLOSED_VERDICT: Final = RobotsVerdict(False)
_NO_RULES: Final = RobotsRules()

_max_age = re.compile(r"(?:^|[\s,])max-age\s*=\s*\"?([0-9]{1,10})", re.IGNORECASE).search
_begins_like_markup = re.compile(
    rb"(?:\xef\xbb\xbf)?\s*<(?:!doctype|!--|\?xml|html|head|title|meta|link|script|style|body|div|p|h1|pre)\b",
    re.IGNORECASE,
).match


@dataclass(frozen=True, slots=True)
class RobotsPolicy:
    """How long answers are kept.

    `absent_after`: a file that was unreachable for this long counts as absent, which RFC 9309, 2.3.1.4, permits after
    about 30 days; None keeps the host closed for ever. 429 never counts towards it, since the host is reachable.
    `forbidden_closes`: treat 401 and 403 as "keep out" instead of the RFC's "no file".
    """

    longest_kept: Seconds = Seconds(DAY)
    shortest_kept: Seconds = Seconds(300.0)  # a max-age of 0 must not mean a request for robots.txt per page
    first_retry: Seconds = Seconds(60.0)
    longest_retry: Seconds = Seconds(3_600.0)
    longest_retry_after: Seconds = Seconds(DAY)
    absent_after: Seconds | None = Seconds(30 * DAY)
    forbidden_closes: bool = False


DEFAULT_POLICY: Final = RobotsPolicy()


@dataclass(frozen=True, slots=True)
class RobotsAnswer:
    """What is known about one origin's robots.txt.

    `rules` is None while the origin is closed because its rules are unknown. At `expires_at` the file must be fetched
    again; until then this answer applies. `flag` notes an oddity and closes nothing by itself. `failures` and
    `unreachable_since` count consecutive tries without a usable response.
    """

    rules: RobotsRules | None
    fetched_at: Instant
    expires_at: Instant
    flag: str | None = None
    failures: int = 0
    unreachable_since: Instant | None = None

    @property
    def closed(self) -> bool:
        return self.rules is None

    def verdict(self, path_and_query: str) -> RobotsVerdict:
        """Whether this path may be fetched. `/robots.txt` itself always may, or a closed origin could never open
        again."""
        if self.rules is not None:
            return self.rules.verdict(path_and_query)
        return RobotsVerdict(True) if path_and_query == "/robots.txt" else _CLOSED_VERDICT

    def reason_against(self, path_and_query: str) -> str | None:
        """The reason for not fetching this path; None if it may be fetched."""
        if self.rules is not None:
            return None if self.rules.allows(path_and_query) else DENIED
        return None if path_and_query == "/robots.txt" else UNREACHABLE


def rules_from_answer(
    status: int | None,
    body: bytes = b"",
    *,
    agent: str,
    now: Instant,
    truncated: bool = False,
    max_age: Seconds | None = None,
    retry_after: Seconds | None = None,
    redirects_exhausted: bool = False,
    previous: RobotsAnswer | None = None,
    policy: RobotsPolicy = DEFAULT_POLICY,
) -> RobotsAnswer:
    """What the final response to a request for robots.txt means for its origin.

    `status` is None if there was no response (DNS, connection, TLS, deadline, framing). `previous` is the last answer
    known for the origin: it has the number of failures, and the rules in case the server responds with 304.
    """
    kept = min(policy.longest_kept, max(policy.shortest_kept, max_age if max_age is not None else DAY))
    expires = Instant(now + kept)
    if redirects_exhausted:
        return RobotsAnswer(_NO_RULES, now, expires, TOO_MANY_REDIRECTS)
    if status is not None and 200 <= status < 300:
        rules = parse_robots(body, agent, truncated=truncated)
        # Rules in what looks like a web page are obeyed too: the file may be wrapped in a page.
        return RobotsAnswer(rules, now, expires, NOT_TEXT if looks_like_markup(body) else None)
    if status == 304 and previous is not None and previous.rules is not None:
        return replace(previous, fetched_at=now, expires_at=expires)
    forbidden = status in (401, 403) and policy.forbidden_closes
    if status is not None and 400 <= status < 500 and status != 429 and not forbidden:
        return RobotsAnswer(_NO_RULES, now, expires)
    return _unreachable(status, now, retry_after, previous, policy)


def looks_like_markup(body: bytes) -> bool:
    """Whether the body begins like a web page rather than a robots.txt. The declared type is not reliable."""
    return _begins_like_markup(body) is not None


def max_age_of(cache_control: str) -> Seconds | None:
    """The max-age of a Cache-Control header; None if it has none."""
    found = _max_age(cache_control)
    return Seconds(float(found[1])) if found else None


def _unreachable(
    status: int | None,
    now: Instant,
    retry_after: Seconds | None,
    previous: RobotsAnswer | None,
    policy: RobotsPolicy,
) -> RobotsAnswer:
    failures = 1 if previous is None else previous.failures + 1
    since = now if previous is None or previous.unreachable_since is None else previous.unreachable_since
    gone_long = policy.absent_after is not None and now - since >= policy.absent_after and status != 429
    # Exponential backoff; the exponent is bounded so that the product is finite.
    wait = min(policy.longest_retry, policy.first_retry * 2.0 ** min(failures - 1, 20))
    if retry_after is not None and retry_after >= 0:
        # Never sooner than requested; a Retry-After of 0 must not cause a loop.
        wait = min(policy.longest_retry_after, max(retry_after, min(policy.first_retry, 1.0)))
    again = Instant(now + wait)
    if previous is not None and previous.rules is not None and previous.flag != UNREACHABLE_LONG and not gone_long:
        kept_until = Instant(previous.fetched_at + policy.longest_kept)
        if now < kept_until:
            again = min(again, kept_until)
            return replace(previous, expires_at=again, flag=UNREACHABLE, failures=failures, unreachable_since=since)
    flag = UNREACHABLE_LONG if gone_long else UNREACHABLE
    return RobotsAnswer(_NO_RULES if gone_long else None, now, again, flag, failures=failures, unreachable_since=since)


def remembered_answer(
    status: int | None,
    body: bytes,
    *,
    agent: str,
    fetched_at: Instant,
    expires_at: Instant,
    unreachable_since: Instant | None = None,
    policy: RobotsPolicy = DEFAULT_POLICY,
) -> RobotsAnswer:
    """Rebuild a stored answer from `status` and `body` of the last usable response (None: there was none) and the time
    since when the file has been unreachable. A stored redirect was one too many."""
    if status is None:
        return RobotsAnswer(None, fetched_at, expires_at, UNREACHABLE, 1, unreachable_since or fetched_at)
    unfollowed = 300 <= status < 400
    answer = rules_from_answer(status, body, agent=agent, now=fetched_at, redirects_exhausted=unfollowed)
    if unreachable_since is None:
        return replace(answer, expires_at=expires_at)
    if expires_at > fetched_at + policy.longest_kept:  # fetched again later than the old rules may be used
        return RobotsAnswer(None, fetched_at, expires_at, UNREACHABLE, 1, unreachable_since)
    return replace(answer, expires_at=expires_at, flag=UNREACHABLE, failures=1, unreachable_since=unreachable_since)
