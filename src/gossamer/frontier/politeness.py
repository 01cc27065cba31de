"""Computes when a host may be contacted again; nothing else does. Hot: benchmarks/bench_frontier.py."""

from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from gossamer.model.units import DAY, Instant, Seconds


@dataclass(frozen=True, slots=True)
class PolitenessPolicy:
    min_delay: Seconds = Seconds(1.0)
    load_factor: float = 10.0  # wait this many times as long as the host took to answer ...
    max_adaptive_delay: Seconds = Seconds(30.0)  # ... but not longer than this
    max_retry_after: Seconds = Seconds(DAY)  # longer values are capped


class GapReason(Enum):
    """Which term of the maximum determined the delay."""

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
    min_delay: Seconds | None = None  # set by the operator for this host, instead of the policy's


def gap_after(policy: PolitenessPolicy, contact: Contact) -> tuple[Seconds, GapReason]:
    """The delay after `contact` until the host may be contacted again, and the term that determined it.

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
    """Earliest time at which we may contact this host again.

    Counted from the *end* of the last response, so a slow host never gets a second request meanwhile.
    """
    return Instant(contact.finished + gap_after(policy, contact)[0])


def next_contact_of_address(policy: PolitenessPolicy, contact: Contact) -> Instant:
    """Earliest time at which we may contact another host on the same address.

    The delay for the address depends only on its load; Crawl-delay and Retry-After apply to one site only. So does a
    longer delay set by the operator; a shorter one states that the machine can take the load.
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
    """Earliest next contact when the process was killed between a request and its response.

    Fail closed: assume that the host was busy with our request until now, and as slow as it has ever been.
    """
    took = Seconds(max(last_took, now - started, 0.0))
    return next_contact(policy, Contact(now, took, crawl_delay))
