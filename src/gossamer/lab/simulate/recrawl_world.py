"""Worlds of pages that change: when each page changes, how important it is, and which host it is on.

A world is drawn (log-normal rates, Zipf importance), read from a file of recorded change times, or taken from the
simulated web. Times are in days from the start.
"""

import gzip
import random
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from math import exp, inf, isfinite, log
from pathlib import Path

from gossamer.errors import UsageError
from gossamer.lab.simulate.graph import AGENT, graph_of_web, pagerank
from gossamer.lab.simweb.chance import changes_between, changes_per_day, page_key
from gossamer.lab.simweb.config import SimWebConfig
from gossamer.lab.simweb.hosts import HostPlan, Kind, url_of
from gossamer.lab.simweb.web import SimWeb
from gossamer.model.units import DAY, Instant

MEDIAN_DAYS, SIGMA = 30.0, 2.0
"""Of drawn rates: 35 % of the pages change within a week, close to measurements of the Web."""

LONGEST_RECORD = 100_000.0
"""Days of recorded changes. A larger number is not a day from the start, but perhaps a date or seconds."""

_GZIP = b"\x1f\x8b"


@dataclass(frozen=True, slots=True)
class World:
    """Pages and their histories. `rates` are the true ones, in changes per day, at the end of the time."""

    name: str
    days: float
    changes: Sequence[Sequence[float]]  # of each page, increasing
    importance: Sequence[float]  # of each page, the sum is 1
    rates: Sequence[float]
    host_of: Sequence[int]
    cap: float = inf  # visits per day that a host allows
    names: Sequence[str] = ()  # their URLs, if known
    dated: Sequence[bool] = ()  # of each page, whether a visit shows when it changed; if empty, none

    @property
    def pages(self) -> int:
        return len(self.changes)

    @property
    def hosts(self) -> int:
        return max(self.host_of) + 1


@dataclass(frozen=True, slots=True)
class Drawn:
    """How to draw a world. The same numbers give the same world on every machine."""

    pages: int = 5_000
    days: float = 365.0
    hosts: int = 50
    zipf: float = 1.0  # importance of the page of rank r: 1 / r ** zipf; 0 for equal importance
    cap: float = inf
    redrawn: float = 0.0  # share of the pages whose rate changes after a quarter of the time
    seed: int = 1

    def with_seed(self, seed: int) -> "Drawn":
        return replace(self, seed=seed)


def drawn_world(spec: Drawn) -> World:
    """Draw a world. Rank, rate and host of a page are independent; hosts have Zipf sizes."""
    chance = random.Random(spec.seed)
    rates = [_rate(chance) for _ in range(spec.pages)]
    moved = [chance.random() < spec.redrawn for _ in range(spec.pages)]
    later = [_rate(chance) if moves else rate for rate, moves in zip(rates, moved, strict=True)]
    turn = spec.days / 4
    changes = [
        _process(chance, rate, 0.0, spec.days)
        if rate == then
        else _process(chance, rate, 0.0, turn) + _process(chance, then, turn, spec.days)
        for rate, then in zip(rates, later, strict=True)
    ]
    sizes = list(accumulate(1 / (rank + 1) for rank in range(spec.hosts)))
    hosts = chance.choices(range(spec.hosts), cum_weights=sizes, k=spec.pages)
    return World(
        name="drawn",
        days=spec.days,
        changes=changes,
        importance=zipf_importance(spec.pages, spec.zipf, chance),
        rates=later,
        host_of=hosts,
        cap=spec.cap,
    )


def recorded_world(path: Path, zipf: float = 1.0, seed: int = 1) -> World:
    """Recorded change times: a line `site TAB page TAB day day ...` for each page, plain or gzip.

    Importance is drawn, because the file has none. Rates are changes per time. Raises UsageError.
    """
    sites: dict[str, int] = {}
    host_of, changes = [], []
    try:
        with path.open("rb") as file:
            opener = gzip.open if file.read(2) == _GZIP else open
        with opener(path, "rt", encoding="utf-8") as lines:
            for number, line in enumerate(lines, 1):
                if not line.strip():
                    continue
                site, times = _recorded_page(f"{path}, line {number}", line)
                host_of.append(sites.setdefault(site, len(sites)))
                changes.append(times)
    except UnicodeDecodeError as error:
        raise UsageError(f"cannot read {path}: neither UTF-8 text nor gzip") from error
    except (OSError, EOFError, zlib.error) as error:
        raise UsageError(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from error
    last = max((times[-1] for times in changes if times), default=0.0)
    if last <= 0:
        raise UsageError(f"{path} contains no changes")
    days = float(int(last) + 1)
    return World(
        name=path.name.partition(".")[0],
        days=days,
        changes=changes,
        importance=zipf_importance(len(changes), zipf, random.Random(seed)),
        rates=[len(times) / days for times in changes],
        host_of=host_of,
    )


def _recorded_page(where: str, line: str) -> tuple[str, list[float]]:
    """The site of a page, and when it changed."""
    try:
        site, _, recorded = line.rstrip("\r\n").split("\t")
        times = [float(day) for day in recorded.split()]
    except ValueError as error:
        raise UsageError(f"{where}: not `site TAB page TAB days`: {line[:60]!r}") from error
    if not all(map(isfinite, times)) or times != sorted(times) or (times and times[0] < 0):
        raise UsageError(f"{where}: days must increase from 0")
    if times and times[-1] > LONGEST_RECORD:
        raise UsageError(f"{where}: {times[-1]:g} is not a day: days are counted from the start of the record")
    return site, times


def with_cap(world: World, cap: float) -> World:
    """The same world with at most `cap` visits per day and host."""
    return replace(world, cap=cap)


def zipf_importance(pages: int, exponent: float, chance: random.Random) -> list[float]:
    """Ranks assigned at random; the sum is 1."""
    weights = [(rank + 1) ** -exponent for rank in range(pages)]
    chance.shuffle(weights)
    total = sum(weights)
    return [weight / total for weight in weights]


def _rate(chance: random.Random) -> float:
    return exp(chance.gauss(-log(MEDIAN_DAYS), SIGMA))


def _process(chance: random.Random, rate: float, start: float, end: float) -> list[float]:
    times = []
    t = start + chance.expovariate(rate)
    while t < end:
        times.append(t)
        t += chance.expovariate(rate)
    return times


def served_world(
    config: SimWebConfig, start: Instant, days: float, importance: Mapping[str, float] | None = None
) -> World:
    """All pages that a crawl of the simulated web would store, from `start` on. Hosts of traps have none.

    `importance` is by URL, and pages without any are left out; by default it is PageRank.
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
            copied = host.kind(page) is Kind.DUPLICATE  # has the text of its group, which does not change
            rate = 0.0 if copied else changes_per_day(key, config.change_rate_per_day, config.static_pages)
            names.append(url)
            host_of.append(host.number)
            rates.append(rate)
            changes.append([(time - start) / DAY for time in changes_between(key, rate, start, end)])
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
