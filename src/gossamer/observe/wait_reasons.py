"""What a crawl waits for, each kind apart: the same words on the screen, in the log and in `gossamer status`.

An empty queue is the end only if nothing is in flight. Before that a crawl may wait for answers, for hosts that are
left alone, or for the date of another try. After it there may be dates still, of recrawls and of missing pages that
are asked for again; they keep no crawl from ending.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields

from gossamer.model.units import Instant
from gossamer.observe import formatting


@dataclass(frozen=True, slots=True, kw_only=True)
class Waits:
    """How many of each kind, and the nearest date. None: not known.

    A count of hosts that is as large as `hosts_counted_to` means as many or more; those of retries and recrawls end at
    `urls_counted_to` likewise.
    """

    in_flight: int | None = 0  # visits under way
    unread: int = 0  # documents that were fetched and are not on record yet
    due: int | None = 0  # queued URLs whose date has come, those in flight among them
    ready_hosts: int = 0  # hosts with such URLs that may be contacted now
    resting_hosts: int = 0  # hosts with queued URLs that are left alone until a date
    next_contact: Instant | None = None
    retries: int | None = 0  # queued URLs whose next try is due later
    next_retry: Instant | None = None
    recrawls: int = 0  # visited URLs with the date of another visit
    next_recrawl: Instant | None = None
    missing: int = 0  # URLs that answered 4xx, asked again at a start of the crawl from a date on
    next_missing: Instant | None = None
    urls_counted_to: int | None = None
    hosts_counted_to: int | None = None
    dns_failing: bool = False  # hosts whose addresses are not known wait for a name server
    proxy_failing: bool = False  # hosts that are asked through a proxy wait for it
    store_failing: bool = False  # nothing is fetched until a commit succeeds
    store_slow: bool = False  # nothing is fetched until a commit ends that takes very long
    paused: bool = False  # no visits are started until somebody resumes the crawl


_LIMITS = ("urls_counted_to", "hosts_counted_to")


def joined_waits(parts: Sequence[Waits]) -> Waits:
    """What several workers wait for together: all of it, the nearest date, and whatever is amiss with any. Not known is
    what is not known of one. There is at least one; a count may be larger than what each was counted to."""
    found: dict[str, object] = {}
    for name in (field.name for field in fields(Waits)):
        values = [getattr(part, name) for part in parts]
        known = [value for value in values if value is not None]
        if name.startswith("next_") or name in _LIMITS:
            found[name] = min(known, default=None)
        elif isinstance(values[0], bool):
            found[name] = any(values)
        else:
            found[name] = sum(known) if len(known) == len(values) else None
    return Waits(**found)  # type: ignore[arg-type]


def or_more(count: int, counted_to: int | None) -> str:
    """A count as people read it, that was given up at `counted_to`."""
    return formatting.count(count) + (" or more" if counted_to is not None and count >= counted_to else "")


def waiting_for(waits: Waits, now: Instant) -> str:
    """What keeps a running crawl from going on, in a few words. Empty while a host may be contacted, and at the end;
    that the store, name servers or a proxy fail and that it is paused is always told."""
    found = ["the store is failing: nothing is fetched"] if waits.store_failing else []
    if waits.store_slow:
        found.append("the store is slow: nothing is fetched until its commit ends")
    if waits.paused:
        found.append("a resume: the crawl is paused")
    if waits.dns_failing:
        found.append("DNS is failing: new hosts wait")
    if waits.proxy_failing:
        found.append("a proxy is failing: its hosts wait")
    if waits.ready_hosts:
        return ", ".join(found)
    if waits.in_flight:
        found.append(formatting.number_of(waits.in_flight, "visit") + " in flight")
    elif waits.unread:
        found.append(formatting.number_of(waits.unread, "document") + " to be read")
    if waits.resting_hosts:
        hosts = or_more(waits.resting_hosts, waits.hosts_counted_to)
        hosts = "1 resting host" if waits.resting_hosts == 1 else f"{hosts} resting hosts"
        found.append(hosts + _nearest("free", "the first free", waits.resting_hosts, waits.next_contact, now))
    if waits.retries is None or waits.retries:
        retries = "retries"
        if waits.retries is not None:
            number = or_more(waits.retries, waits.urls_counted_to)
            retries = "1 retry" if waits.retries == 1 else f"{number} retries"
        found.append(retries + _nearest("due", "the next due", waits.retries, waits.next_retry, now))
    return ", ".join(found)


def _nearest(one: str, first: str, count: int | None, when: Instant | None, now: Instant) -> str:
    if when is None:
        return ""
    return f" ({one if count == 1 else first} in {formatting.span(max(0.0, when - now))})"
