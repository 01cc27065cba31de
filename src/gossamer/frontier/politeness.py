"""When may a host be contacted again? The one place that answers this. Hot: benchmarks/bench_frontier.py."""

from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from gossamer.model.units import DAY, Instant, Seconds


@dataclass(frozen=True, slots=True)
class PolitenessPolicy:
    min_delay: Seconds = Seconds(1.0)
    load_factor: float = 10.0  # wait this many times as long as the host took to answer ...
    max_adaptive_delay: Seconds = Seconds(30.0)  # ... but not longer than this
    max_retry_after: Seconds = Seconds(DAY)  # a host may not ask to be forgotten for ever


class GapReason(Enum):
    """Which term of the maximum decided the gap."""

    MIN_DELAY = "minimum delay"
    ADAPTIVE = "multiple of the last fetch time"
    CRAWL_DELAY = "robots.txt Crawl-delay"
    RETRY_AFTER = "Retry-After"


_MIN_DELAY, _ADAPTIVE, _CRAWL_DELAY, _RETRY_AFTER = GapReason


class Contact(NamedTuple):
    """One request to a host, as far as politeness is concerned."""

    finished: Instant
    took: Seconds
    crawl_delay: Seconds | None = None
    retry_after: Seconds | None = None
    min_delay: Seconds | None = None  # what the operator set for this host, in place of the policy's


def gap_after(policy: PolitenessPolicy, contact: Contact) -> tuple[Seconds, GapReason]:
    """How long to leave a host alone after `contact`, and which term asked for it.

    The largest of the minimum delay, a multiple of the last fetch time (capped), Crawl-delay and Retry-After.
    """
    _, took, crawl_delay, retry_after, min_delay = contact
    gap = policy.min_delay if min_delay is None else min_delay
    reason = _MIN_DELAY
    adaptive = took * policy.load_factor
    if adaptive > gap and policy.max_adaptive_delay > gap:
        gap, reason = Seconds(min(adaptive, policy.max_adaptive_delay)), _ADAPTIVE
    if crawl_delay is not None and crawl_delay > gap:
        gap, reason = crawl_delay, _CRAWL_DELAY
    if retry_after is not None and retry_after > gap and policy.max_retry_after > gap:
        gap, reason = Seconds(min(retry_after, policy.max_retry_after)), _RETRY_AFTER
    return gap, reason


def next_contact(policy: PolitenessPolicy, contact: Contact) -> Instant:
    """Earliest moment we may contact this host again.

    Counted from the *end* of the last answer, so a slow host never meets a second request.
    """
    return Instant(contact.finished + gap_after(policy, contact)[0])


def next_contact_of_address(policy: PolitenessPolicy, contact: Contact) -> Instant:
    """Earliest moment we may contact another host on the same address.

    The machine behind the address rests as long as its load asks for; Crawl-delay and Retry-After are the
    word of one site and bind that site only. So does a longer delay that the operator set for it; a shorter one is
    the promise that the machine can bear it.
    """
    shorter = None if contact.min_delay is None else min(contact.min_delay, policy.min_delay)
    bare = Contact(contact.finished, contact.took, min_delay=shorter)
    return Instant(contact.finished + gap_after(policy, bare)[0])


def after_unknown_outcome(
    policy: PolitenessPolicy,
    *,
    started: Instant,
    now: Instant,
    last_took: Seconds,
    crawl_delay: Seconds | None,
) -> Instant:
    """Earliest next contact when we were killed between a request and its answer.

    Fail closed: the host may have been busy with us until this very moment, and as slow as it ever was.
    """
    took = Seconds(max(last_took, now - started, 0.0))
    return next_contact(policy, Contact(now, took, crawl_delay))
