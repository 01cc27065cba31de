"""The simulated web as a world: when its pages change."""

from collections.abc import Mapping

from gossamer.model.units import Instant
from gossamer.recrawl.policy import DAY
from gossamer.simulate.freshness.world import World
from gossamer.simulate.pagerank import pagerank
from gossamer.simulate.web import AGENT, graph_of_web
from gossamer.simweb.chance import page_key
from gossamer.simweb.change import changes_between, changes_per_day
from gossamer.simweb.config import SimWebConfig
from gossamer.simweb.hosts import HostPlan, Kind
from gossamer.simweb.paths import url_of
from gossamer.simweb.web import SimWeb


def served_world(
    config: SimWebConfig, start: Instant, days: float, importance: Mapping[str, float] | None = None
) -> World:
    """All pages that a crawl of the web would store, from `start` on. Hosts of traps have none.

    `importance` is by URL, and pages without any are left out; if none is given, it is PageRank.
    """
    web = SimWeb(config)
    if importance is None:
        graph = graph_of_web(config)
        assert graph.urls is not None
        importance = dict(zip(graph.urls, pagerank(graph), strict=True))
    names, host_of, changes, rates = [], [], [], []
    end = Instant(start + days * DAY)
    for host in web.hosts:
        for page in range(host.pages):
            url = url_of(host, page)
            if importance.get(url, 0.0) <= 0 or not _is_document(host, page):
                continue
            key = page_key(config.seed, host.number, page)
            copied = host.kind(page) is Kind.DUPLICATE  # whose text is that of its group, and stays
            rate = 0.0 if copied else changes_per_day(key, config.change_rate_per_day, config.static_pages)
            names.append(url)
            host_of.append(host.number)
            rates.append(rate)
            changes.append([(moment - start) / DAY for moment in changes_between(key, rate, start, end)])
    total = sum(importance[url] for url in names)
    return World(
        name=f"simweb-{config.hosts}x{config.pages}-{config.seed}",
        days=days,
        changes=changes,
        importance=[importance[url] / total for url in names],
        rates=rates,
        host_of=host_of,
        names=names,
        dated=[web.hosts[host].sends_validators for host in host_of],
    )


def _is_document(host: HostPlan, page: int) -> bool:
    shown = host.kind(page) not in (Kind.REDIRECT, Kind.MISSING)
    return shown and not host.robots.forbids(AGENT, host.family(page))
