"""Retry rules by failure and status code: two tables, which cover every failure and every code."""

import random
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from gossamer.model.outcome import Failure
from gossamer.model.units import DAY, Seconds


@dataclass(frozen=True, slots=True)
class RetryRule:
    """After the n-th failure wait `base * 2**(n-1)` (with jitter), until `max_tries` visits have failed.

    A failure that blames the host counts for its breaker. One that costs no try says nothing about the URL: then the
    breaker alone decides when the host is contacted again and when it is given up.
    """

    base: Seconds
    max_tries: int
    blames_host: bool  # it says something about the host, not only about this URL
    costs_try: bool = True


_PERMANENT = RetryRule(Seconds(0.0), 1, False)
_SOON = RetryRule(Seconds(10.0), 3, False)
_UNSTABLE = RetryRule(Seconds(10.0), 3, True)
_HOST = RetryRule(Seconds(30.0), 3, True, costs_try=False)
SERVER_ERROR = _UNSTABLE
"""For responses of class RETRY; their delays come from `after_bad_status`."""

RETRY_RULES: Mapping[Failure, RetryRule] = {
    Failure.BAD_SCHEME: _PERMANENT,
    Failure.BAD_URL: _PERMANENT,
    Failure.DNS_NXDOMAIN: _PERMANENT,
    Failure.DNS_NO_ADDRESS: _PERMANENT,
    Failure.DNS_CNAME_LOOP: _PERMANENT,
    Failure.DNS_SERVFAIL: _HOST,
    Failure.DNS_TIMEOUT: _HOST,
    Failure.BLOCKED_ADDRESS: _PERMANENT,
    Failure.BLOCKED_PORT: _PERMANENT,
    Failure.PROXY_FAILED: _SOON,  # only if the host itself may have sent this; otherwise the visit just waits
    Failure.CONN_REFUSED: _HOST,
    Failure.CONNECT_TIMEOUT: _HOST,
    Failure.CONNECTION_LOST: _UNSTABLE,
    Failure.TLS_EXPIRED: _PERMANENT,
    Failure.TLS_UNTRUSTED: _PERMANENT,
    Failure.TLS_NAME_MISMATCH: _PERMANENT,
    Failure.TLS_HANDSHAKE_TIMEOUT: _HOST,
    Failure.TLS_PROTOCOL: RetryRule(Seconds(30.0), 2, True),
    Failure.BAD_STATUS_LINE: _SOON,
    Failure.BAD_HEADER: _SOON,
    Failure.HEADER_TOO_LARGE: _PERMANENT,
    Failure.CONFLICTING_LENGTH: _SOON,
    Failure.BAD_CHUNK: _SOON,
    Failure.INCOMPLETE_BODY: _SOON,
    Failure.READ_TIMEOUT: _UNSTABLE,
    Failure.TOTAL_TIMEOUT: _UNSTABLE,
    Failure.TOO_SLOW: _UNSTABLE,
    Failure.BAD_ENCODING: _PERMANENT,
    Failure.UNEXPECTED_1XX: RetryRule(Seconds(10.0), 2, False),
    Failure.PROTOCOL_ERROR: RetryRule(Seconds(10.0), 2, False),
}


class StatusClass(Enum):
    """How a final status code is handled."""

    DOCUMENT = "document"
    REDIRECT = "redirect"
    NOT_MODIFIED = "not modified"
    RATE_LIMITED = "rate_limited"  # 429: our fault, not the URL's; no try is used up
    RETRY = "server_error"  # 408, 425, 5xx: short delay
    MISSING = "missing"  # other 4xx: tried again after a long delay
    GONE = "gone"  # 410: the owner says so


_DOCUMENT = StatusClass.DOCUMENT  # looking up an enum member costs as much as a call, and most responses are documents


def status_class(status: int) -> StatusClass:
    """The class of any status code; codes that no standard defines count as server errors."""
    if 200 <= status <= 300:  # 300 is a page of alternatives
        return _DOCUMENT
    if status in (301, 302, 303, 307, 308):
        return StatusClass.REDIRECT
    if status == 304:
        return StatusClass.NOT_MODIFIED
    if status == 429:
        return StatusClass.RATE_LIMITED
    if status in (408, 425):
        return StatusClass.RETRY
    if status == 410:
        return StatusClass.GONE
    if 400 <= status < 500:
        return StatusClass.MISSING
    return StatusClass.RETRY


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """The settings of the tables above."""

    max_tries: int = 3  # for failures that are retried
    base_scale: float = 1.0  # multiplies every base delay
    status_base: Seconds = Seconds(10.0)  # first delay after 408, 425, 5xx
    max_delay: Seconds = Seconds(3600.0)
    missing_delay: Seconds = Seconds(DAY)  # until a 4xx is tried again
    missing_tries: int = 3  # then it is gone


def back_off(policy: RetryPolicy, base: Seconds, failures: int, chance: random.Random) -> Seconds:
    """The delay after the `failures`-th failure in a row: doubling, with 20 % jitter, capped."""
    doubled = base * policy.base_scale * 2.0 ** min(failures - 1, 32)
    return Seconds(min(doubled * chance.uniform(1.0, 1.2), policy.max_delay))


def after_failure(policy: RetryPolicy, failure: Failure, failures: int, chance: random.Random) -> Seconds | None:
    """The delay until the next try of a URL that has now failed `failures` times; None: it becomes a dead letter."""
    rule = RETRY_RULES[failure]
    tries = min(rule.max_tries, policy.max_tries)
    return None if failures >= tries else back_off(policy, rule.base, failures, chance)


def after_bad_status(policy: RetryPolicy, failures: int, chance: random.Random) -> Seconds | None:
    """The same for an answer of class RETRY."""
    return None if failures >= policy.max_tries else back_off(policy, policy.status_base, failures, chance)
