"""One look at what goes on inside a crawl."""

import resource
from typing import Final, Protocol

from gossamer.crawl.desk import ReadingDesk
from gossamer.fetch.dns.resolver import Resolver
from gossamer.fetch.http.times import ExchangeTimes
from gossamer.observe.workings import PHASES, Workings
from gossamer.seen.tiers import SeenStatistics
from gossamer.sketch.durations import Durations
from gossamer.store.thread import StoreThread

_PAGE: Final = resource.getpagesize()


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
        rss_bytes=_rss_bytes(),
    )


def _rss_bytes() -> int:
    """Memory in use now; 0 where the kernel does not tell."""
    try:
        with open("/proc/self/statm", "rb") as statm:
            return int(statm.read().split()[1]) * _PAGE
    except OSError:
        return 0
