"""What a crawl is waiting for, in the same words on the display, in the log and in `gossamer status`.

A crawl waits for responses, for the delays of hosts, or for the date of a retry. It ends when the queue is
empty and nothing is in flight; scheduled recrawls and later requests for missing pages do not keep it from ending.
"""

from dataclasses import dataclass

from gossamer.model.units import Instant
from gossamer.observe import formatter


@dataclass(frozen=True, slots=True, kw_only=True)
class Waits:
    """Counts of each kind and the nearest date. None: unknown.

    A count of hosts that equals `hosts_counted_to` means that many or more; counts of retries and recrawls are limited
    by `urls_counted_to` in the same way.
    """

    in_flight: int | None = 0  # visits
    unread: int = 0  # documents that were fetched and are not stored yet
    due: int | None = 0  # queued URLs that are due, including those in flight
    ready_hosts: int = 0  # hosts with due URLs that may be contacted now
    resting_hosts: int = 0  # hosts with queued URLs that may not be contacted yet
    next_contact: Instant | None = None
    retries: int | None = 0  # queued URLs whose next attempt is due later
    next_retry: Instant | None = None
    recrawls: int = 0  # visited URLs with a date for their next visit
    next_recrawl: Instant | None = None
    missing: int = 0  # URLs that answered 4xx; requested again after a date, if the crawl runs then
    next_missing: Instant | None = None
    urls_counted_to: int | None = None
    hosts_counted_to: int | None = None
    dns_failing: bool = False  # hosts with unknown addresses wait for a name server
    proxy_failing: bool = False  # hosts that are reached through a proxy wait for it
    store_failing: bool = False  # nothing is fetched until a commit succeeds
    store_slow: bool = False  # nothing is fetched until a very slow commit ends
    blobs_failing: bool = False  # captures wait in the spool for object storage
    paused: bool = False  # no visits are started until the crawl is resumed


def waiting_for(waits: Waits, now: Instant) -> str:
    """What a running crawl is waiting for, as a phrase that follows "waiting for". Empty while a host may be contacted
    and when nothing is left; a failing store, object storage, DNS or proxy and a pause are always included."""
    found = ["the store (commits are failing)"] if waits.store_failing else []
    if waits.store_slow:
        found.append("the store (slow commit)")
    if waits.blobs_failing:
        found.append("object storage (failing; captures go to the spool)")
    if waits.paused:
        found.append("resume (the crawl is paused)")
    if waits.dns_failing:
        found.append("name servers (DNS is failing; new hosts wait)")
    if waits.proxy_failing:
        found.append("a proxy (failing; its hosts wait)")
    if waits.ready_hosts:
        return ", ".join(found)
    if waits.in_flight:
        found.append(formatter.number_of(waits.in_flight, "visit") + " in flight")
    elif waits.unread:
        found.append(formatter.number_of(waits.unread, "document") + " to be processed")
    if waits.resting_hosts:
        hosts = formatter.number_of(waits.resting_hosts, "host", counted_to=waits.hosts_counted_to)
        when = _nearest("ready", "first ready", waits.resting_hosts, waits.next_contact, now)
        found.append(f"the delay of {hosts}{when}")
    if waits.retries is None or waits.retries:
        retries = "retries"
        if waits.retries is not None:
            retries = formatter.number_of(waits.retries, "retry", "retries", counted_to=waits.urls_counted_to)
        found.append(retries + _nearest("due", "next due", waits.retries, waits.next_retry, now))
    return ", ".join(found)


def _nearest(one: str, first: str, count: int | None, when: Instant | None, now: Instant) -> str:
    if when is None:
        return ""
    return f" ({one if count == 1 else first} in {formatter.span(max(0.0, when - now))})"
