"""The state of a running crawl for its snapshot: depths of all bounded queues, internal timings, memory and CPU time,
and what became of the seeds.

docs/ARCHITECTURE.md says what slows down when a queue fills.
"""

import resource
from collections import Counter
from typing import Final, Protocol

from gossamer.clock import cpu_seconds
from gossamer.crawl.document.admission import Admission
from gossamer.crawl.document.known import DocumentOwners, SentLinkTest
from gossamer.crawl.document.queue import DocumentQueue
from gossamer.crawl.engine import Engine
from gossamer.dedup import ContentStatistics
from gossamer.fetch.dns.resolver import MAX_LOOKUPS, Resolver, ResolverStatistics
from gossamer.fetch.http.body import BodyMemory
from gossamer.fetch.ports import ExchangeTimes
from gossamer.filter.canonical import Canonical
from gossamer.filter.domains import registrable_domain
from gossamer.model.queue_depth import QueueDepth
from gossamer.model.states import UrlState
from gossamer.model.units import Url
from gossamer.observe.log import EventLog
from gossamer.observe.snapshot import PHASES, Internals, ProcessUse, SeedCounts
from gossamer.reports.ports import StatusReader
from gossamer.seen import SeenStatistics
from gossamer.sketch import Durations
from gossamer.store.threads import ReaderThread, WriterThread

QUEUES: Final = ("hosts", "names", "visits", "bodies", "documents", "store_reads", "batch", "listeners", "log")
"""The labels of the metrics, in the order in which a document passes the queues; the log is the last."""


def queues_of(
    engine: Engine,
    dns: ResolverStatistics,
    bodies: BodyMemory,
    reads: ReaderThread,
    store: WriterThread,
    log: EventLog,
) -> dict[str, QueueDepth]:
    """The depths of all queues. Costs some microseconds."""
    (hosts, visits), documents = engine.fills, engine.documents.fill
    fills = (
        hosts,
        QueueDepth(dns.lookups_in_flight, MAX_LOOKUPS),
        visits,
        bodies.depth(visits.items),
        documents,
        QueueDepth(reads.waiting, visits.most_items + documents.most_items),
        store.fill,
        engine.events.fill,
        log.fill,
    )
    return dict(zip(QUEUES, fills, strict=True))


_PAGE: Final = resource.getpagesize()


def own_use() -> ProcessUse:
    return ProcessUse(round(cpu_seconds(), 3), rss_bytes(), max_rss_bytes())


def rss_bytes() -> int:
    """Resident memory now; 0 without procfs."""
    try:
        with open("/proc/self/statm", "rb") as statm:
            return int(statm.read().split()[1]) * _PAGE
    except OSError:
        return 0


def max_rss_bytes() -> int:
    """Peak resident memory of this process. `getrusage` would include that of the parent at the fork."""
    try:
        with open("/proc/self/status", "rb") as status:
            for line in status:
                if line.startswith(b"VmHWM:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


class Timed(Protocol):
    """A fetcher that times its exchanges."""

    @property
    def times(self) -> ExchangeTimes: ...


def internals_of(
    *,
    resolver: Resolver,
    fetcher: Timed,
    documents: DocumentQueue,
    store: WriterThread,
    seen: SeenStatistics,
    contents: ContentStatistics,
    owners: DocumentOwners | None,
    sent_links: SentLinkTest | None,
    wakings: Durations,
    hosts_failing: int,
) -> Internals:
    """Timings and counts. Costs some ten microseconds, whatever the size of the crawl."""
    dns, times = resolver.statistics(), fetcher.times
    phases = (resolver.times, times.connect, times.tls, times.first_byte, times.body, documents.times, store.times)
    return Internals(
        phases={name: durations.spread() for name, durations in zip(PHASES, phases, strict=True)},
        wakings=wakings.spread(),
        links_recent=seen.seen,
        links_new=seen.new,
        links_asked=seen.asked,
        contents_recent=contents.known,
        contents_new=contents.new,
        contents_cached=0 if owners is None else owners.from_cache,
        contents_asked=contents.asked - (0 if owners is None else owners.from_cache),
        sent_recent=0 if sent_links is None else sent_links.memory.from_memory,
        sent_cached=0 if sent_links is None else sent_links.memory.from_behind,
        sent_new=0 if sent_links is None else sent_links.sent,
        dns_hits=dns.hits,
        dns_negative_hits=dns.negative_hits,
        dns_stale=dns.stale_served,
        dns_failures=dns.failures,
        dns_put_off=dns.postponed,
        dns_cached=dns.cached_hosts,
        hosts_failing=hosts_failing,
        rss_bytes=rss_bytes(),
    )


_MOST_HOPS = 20  # redirects that are followed from a seed
_HELD = (UrlState.STORED, UrlState.DUPLICATE)


def count_seeds(status: StatusReader, admission: Admission) -> SeedCounts:
    """The seeds that led to a page, and the others by reason. A seed of another worker, or one that is queued, is
    neither. Takes some ten microseconds for each seed. Raises StoreFailed."""
    given = stored = 0
    failed: Counter[str] = Counter()
    for seed in status.seeds():
        given += 1
        outcome = _outcome_of(seed, status, admission)
        if outcome == "":
            stored += 1
        elif outcome is not None:
            failed[outcome] += 1
    return SeedCounts(given, stored, dict(failed.most_common()))


def _outcome_of(seed: Url, status: StatusReader, admission: Admission) -> str | None:
    """Why a seed led to no page; empty if it did, None if that is not known yet."""
    url: str = seed
    for _ in range(_MOST_HOPS):
        target = admission.canonical(url, seed)
        if not isinstance(target, Canonical):
            return target.reason
        domain, fingerprint = registrable_domain(target.host), admission.fingerprint_of(target.url, target.host)
        found = status.outcome_of(domain, fingerprint)
        if found is None or found.state is UrlState.QUEUED:
            return None
        if found.state in _HELD:
            return ""
        if found.state is not UrlState.REDIRECT or found.reason is not None or found.redirect_to is None:
            return found.reason or (found.state.word if found.status is None else f"status_{found.status}")
        url = found.redirect_to
    return "too_many_redirects"
