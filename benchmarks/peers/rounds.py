"""The rounds: which web is crawled with which wishes, when the crawler is stopped, and what is to be found."""

from dataclasses import dataclass
from enum import Enum

from benchmarks.peers.judge import Expected
from benchmarks.peers.trouble import DAMAGED, FAILING, LOOPS, SILENT, TroubledWeb, pages
from benchmarks.peers.wishes import AGENT
from gossamer.lab.simweb.audit import ground_truth
from gossamer.lab.simweb.config import SimWebConfig, preset


class Stop(Enum):
    NEVER = "it ends by itself"
    AT_REQUESTS = "stopped after so many requests"
    KILL_AND_RESUME = "killed after so many requests, then started again"


@dataclass(frozen=True, slots=True)
class Round:
    """`requests` is when to stop or kill; `limit` is how many seconds a run may take at most."""

    name: str
    about: str
    config: SimWebConfig
    delay: float
    limit: float
    stop: Stop = Stop.NEVER
    requests: int = 0
    troubled: bool = False

    def seeds(self, web: TroubledWeb) -> tuple[str, ...]:
        """The home page of every site."""
        return (*web.seeds(), *(f"http://{host}:{web.config.port}/" for host in self._in_trouble()))

    def expected(self, web: TroubledWeb) -> Expected:
        truth = ground_truth(web, AGENT)
        found = set(truth.stored).union(*web.endless.honest_urls().values())
        if self.troubled:
            found |= {f"http://{DAMAGED}:{web.config.port}{path}" for path in pages()}
            found.add(f"http://{LOOPS}:{web.config.port}/")
        return Expected(
            pages=frozenset(found),
            copies=truth.duplicate_groups,
            forbidden=truth.forbidden,
            delay=self.delay,
            crawl_delays={str(host): float(delay) for host, delay in web.crawl_delays().items()},
            by_name=frozenset(str(h.name) for h in web.hosts if h.robots.forbids("*", None)),
            trap_hosts=frozenset(map(web.endless.trap_host, web.endless.traps)),
        )

    def _in_trouble(self) -> tuple[str, ...]:
        return (FAILING, SILENT, LOOPS, DAMAGED) if self.troubled else ()


def _web(hosts: int, pages: int, **wishes: float | str) -> SimWebConfig:
    """Every host's home page is a seed, since some crawlers cannot go from one host to another."""
    calm: dict[str, float | str] = {
        "host_exponent": 0.3,
        "seed_hosts": hosts,
        "static_pages": 1.0,
        "missing_robots": 1.0,
    }
    return preset("small", hosts=hosts, pages=pages, **{**calm, **wishes})


ROUNDS = (
    Round(
        "flat out",
        "60 hosts, 1200 pages of 25 KB with 56 links, no delay: what a page costs",
        _web(60, 1200, mean_bytes=25_000, bytes_spread=0.6, links_per_page=56, nav_links=12),
        delay=0.0,
        limit=300.0,
    ),
    Round(
        "polite",
        "30 hosts, 400 URLs, 0.25 s between requests to a host; with rules, slow hosts, redirects, errors that pass",
        _web(
            30, 400, links_per_page=20, nav_links=4, external_links=0.1, slow_hosts=0.1, slow_seconds=0.4,
            crawl_delay_hosts=0.15, crawl_delay_seconds=1.0, missing_robots=0.1, fault_rate=0.03, fault_seconds=4.0,
            redirect_rate=0.05, missing_rate=0.03, duplicate_rate=0.04, disallowed_rate=0.08,
        ),
        delay=0.25,
        limit=240.0,
    ),
    Round(
        "trap",
        "5 hosts without end beside 10 honest ones, no delay, no depth limit; stopped after 4000 requests",
        _web(10, 200, trap_kinds="calendar,sessions,facets,repeats,babble"),
        delay=0.0,
        limit=300.0,
        stop=Stop.AT_REQUESTS,
        requests=4000,
    ),
    Round(
        "killed",
        "20 hosts, 600 pages, 0.05 s between requests to a host; kill -9 after 310 requests, then started again",
        _web(20, 600),
        delay=0.05,
        limit=200.0,
        stop=Stop.KILL_AND_RESUME,
        requests=310,
    ),
    Round(
        "trouble",
        "5 honest hosts beside one that answers 500, one that never answers, redirects in circles, damaged text",
        _web(5, 50),
        delay=0.05,
        limit=240.0,
        troubled=True,
    ),
)  # fmt: skip
