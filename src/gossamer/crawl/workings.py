"""One look at what goes on inside a crawl."""

from typing import Protocol

from gossamer.crawl.desk import ReadingDesk
from gossamer.crawl.memory import rss_bytes
from gossamer.fetch.dns.resolver import Resolver
from gossamer.fetch.http.times import ExchangeTimes
from gossamer.observe.workings import PHASES, Workings
from gossamer.seen.tiers import SeenStatistics
from gossamer.sketch.durations import Durations
from gossamer.store.thread import StoreThread


class Timed(Protocol):
    """A fetcher whose exchanges are timed."""

    @property
    def times(self) -> ExchangeTimes: ...


def workings_of(
    *,
    resolver: Resolver,
    fetcher: Timed,
    desk: ReadingDesk,
    store: StoreThread,
    seen: SeenStatistics,
    wakings: Durations,
    hosts_failing: int,
) -> Workings:
    """Costs some ten microseconds, whatever the size of the crawl."""
    dns, times = resolver.statistics(), fetcher.times
    phases = (resolver.times, times.connect, times.tls, times.first_byte, times.body, desk.times, store.times)
    return Workings(
        phases={name: durations.spread() for name, durations in zip(PHASES, phases, strict=True)},
        wakings=wakings.spread(),
        links_recent=seen.seen,
        links_new=seen.new,
        links_asked=seen.asked,
        dns_hits=dns.hits,
        dns_negative_hits=dns.negative_hits,
        dns_stale=dns.stale_served,
        dns_failures=dns.failures,
        dns_put_off=dns.put_off,
        dns_cached=dns.cached_hosts,
        hosts_failing=hosts_failing,
        rss_bytes=rss_bytes(),
    )
