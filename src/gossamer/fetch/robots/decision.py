"""What the response to a request for `/robots.txt` means (RFC 9309, 2.3 and 2.4). Pure.

  2xx                     the file's rules apply, for 24 hours at most
  4xx except 429          there is no file: everything is allowed
  too many redirects      as if there were no file, and flagged
  429, 5xx, 3xx, nothing  rules unknown: everything is closed until the file can be fetched

Known rules that are not older than 24 hours remain in force while the file is unavailable: RFC 9309, 2.4, permits a
longer use of a cached file in that case, but we do not go beyond the day that is permitted anyway. After 30 days
without a file the host counts as having none (2.3.1.4).

Redirects are followed by the caller, up to `MAX_REDIRECTS`; the last response decides for the origin requested first.
"""

import re
from dataclasses import dataclass, replace
from typing import Final

from gossamer.fetch.robots.parse import parse_robots
from gossamer.fetch.robots.rules import RobotsRules, RobotsVerdict
from gossamer.model.units import DAY, Instant, Seconds

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
