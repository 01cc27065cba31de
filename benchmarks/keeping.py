"""A crawl that is kept fresh, rehearsed: the real command and a changing web over HTTP, weeks of it within minutes."""

import json
import sqlite3
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from benchmarks.copies import Copy, journey_of
from gossamer.clock import CLOCK_FILE, SharedClock
from gossamer.config.load import Config
from gossamer.config.policies import importance_for
from gossamer.lab.simulate.recrawl_compare import share_fresh
from gossamer.lab.simulate.recrawl_world import World, served_world
from gossamer.lab.simulate.time_travel import Journey, travel
from gossamer.lab.simweb.audit import Violation, audit
from gossamer.lab.simweb.config import SimWebConfig, preset
from gossamer.lab.simweb.run import SimwebProcess
from gossamer.lab.simweb.server import Request
from gossamer.lab.simweb.web import SimWeb
from gossamer.model.units import DAY, Instant, Seconds
from gossamer.recrawl.policies import RECRAWL_POLICIES

SPEED = 400_000.0
"""While the crawl waits, so many times as fast as in the world. A date is then missed by 200 seconds at most."""
BEGINNING = Instant(2_000_000_000.0)
"""The date at which every rehearsal begins, so that all pages of a web change at the same times in each."""
KILL, STOP = "kill", "stop"
SOON = 0.2  # days


def changing_web(pages: int, hosts: int, seed: int = 1) -> SimWebConfig:
    """Pages that change every few days, on the average, but for three in ten that never do. A few are missing."""
    calm: dict[str, float | str] = dict.fromkeys(
        ("fault_rate", "redirect_rate", "duplicate_rate", "disallowed_rate", "slow_hosts", "missing_robots"), 0.0
    )
    small: dict[str, float | str] = {"mean_bytes": 2_000, "links_per_page": 12, "nav_links": 4, "max_host_pages": 0}
    changing: dict[str, float | str] = {"change_rate_per_day": 0.3, "validator_hosts": 1.0, "missing_rate": 0.02}
    return preset("demo", pages=pages, hosts=hosts, seed=seed, **calm, **small, **changing)


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """What is rehearsed."""

    web: SimWebConfig
    days: float = 60.0
    cycle: float = 5.0  # days in which the budget could visit every page once
    speed: float = SPEED
    ends: tuple[tuple[float, str], ...] = ()  # the day, and KILL or STOP: then it is started again
    delay: float = Config().delay  # seconds that each host rests after a visit

    @property
    def budget(self) -> float:
        """Visits a day."""
        return self.web.pages / self.cycle

    @property
    def cap(self) -> float:
        """Visits a day that a host allows, but for the one that its robots.txt takes."""
        return DAY / self.delay - 1


@dataclass(frozen=True, slots=True)
class Row:
    """What a crawl has on record of a page: its next visit, what it believes of its rate, and its visits so far."""

    queued: bool
    available_at: float | None
    one: float | None
    two: float | None
    visits: int


class Kept:
    """What came of it: what the crawl has stored, and what the server saw."""

    def __init__(self, wish: Rehearsal, folder: Path) -> None:
        self.wish = wish
        self.crawl = folder / "crawl"
        self.start = BEGINNING
        self.web = wish.web  # as it was served
        self.requests: list[Request] = []
        self.seconds = 0.0  # of the world
        self.began: list[float] = []  # days
        self.at_ends: list[dict[str, Row]] = []  # what was on record when it ended
        self.soon_after: list[dict[str, Row]] = []  # and a few hours after it was started again ...
        self.looked_at: list[float] = []  # ... which was no later than this

    def rows(self) -> dict[str, Row]:
        """What is on record now, by URL."""
        query = "SELECT url, state = 0, available_at, memory_one, memory_two, visits FROM urls WHERE visits > 0"
        return {str(url): Row(*row) for url, *row in self._read(query)}

    @cached_property
    def copies(self) -> list[Copy]:
        """What was stored, or found to be what is stored."""
        query = "SELECT u.url, c.captured_at, c.payload_digest FROM captures c JOIN urls u ON u.id = c.url_id"
        return [Copy(url, Instant(at), digest) for url, at, digest in self._read(query)]

    @cached_property
    def importance(self) -> dict[str, float]:
        """What the freshness of each page counts to the crawl."""
        weigh = importance_for(Config())
        return {url: weigh(priority) for url, priority in self._read("SELECT url, priority FROM urls WHERE visits > 0")}

    def _read(self, query: str) -> list[tuple[Any, ...]]:
        with closing(sqlite3.connect(f"file:{self.crawl / 'crawl.db'}?mode=ro", uri=True)) as db:
            return db.execute(query).fetchall()

    @cached_property
    def world(self) -> World:
        return served_world(self.web, self.start, self.wish.days, self.importance)

    @cached_property
    def measured(self) -> Journey:
        """What was fresh, by the server's word."""
        return journey_of(self.world, self.web, self.start, self.copies)

    @cached_property
    def predicted(self) -> Journey:
        """The simulation, for the same pages, changes, importances and budget; they are found when they were found."""
        first: dict[int, float] = {}
        for page, day in zip(self.measured.pages, self.measured.starts, strict=True):
            first[page] = min(first.get(page, day), day)
        arrivals = [first.get(page, self.wish.days) for page in range(self.world.pages)]
        return travel(self.world, RECRAWL_POLICIES["optimal"](), self.wish.budget, arrivals)

    def fresh(self, journey: Journey) -> dict[str, float]:
        """Shares of 1."""
        world, half = self.world, self.wish.days / 2
        alike = [1 / world.pages] * world.pages
        return {
            "weighted, second half": share_fresh(journey, world.importance, half, world.days),
            "plain, second half": share_fresh(journey, alike, half, world.days),
            "weighted, from the start": share_fresh(journey, world.importance, 0.0, world.days),
            "plain, from the start": share_fresh(journey, alike, 0.0, world.days),
        }

    def revisits(self) -> Iterator[tuple[int, bool, int]]:
        """Of every visit to a page but its first: which one it is, whether the page had changed, and its status."""
        changes = dict(zip(self.world.names, self.world.changes, strict=True))
        visits: dict[str, list[Request]] = defaultdict(list)
        for request in self.requests:
            visits[f"http://{request.host}:{self.web.port}{request.target}"].append(request)
        for url, times in changes.items():
            for number, (before, after) in enumerate(zip(visits[url], visits[url][1:], strict=False), 2):
                first, last = ((visit.read_at - self.start) / DAY for visit in (before, after))
                yield number, any(first < change <= last for change in times), after.status

    def violations(self) -> list[Violation]:
        """By the server's record."""
        return audit(
            self.requests,
            min_delay=Seconds(self.wish.delay),
            delay_factor=Config().delay_factor,
            max_adaptive_delay=Seconds(Config().politeness.max_adaptive_delay),
            crawl_delays=SimWeb(self.web).crawl_delays(),
            tolerance=0.002,  # each process sets its clock by the machine's when it starts
        )

    def own_violations(self) -> int:
        """By the crawl's own audit, in all its runs."""
        lines = "".join(file.read_text(encoding="utf-8") for file in sorted(self.crawl.glob("crawl.log*")))
        return sum(json.loads(line)["event"] == "politeness.violated" for line in lines.splitlines())


def rehearse(wish: Rehearsal, folder: Path, patience: float = 3_600.0) -> Kept:
    """Crawl and keep fresh for so many days of the crawl's clock. Raises RuntimeError where the command fails, or where
    it takes more than `patience` seconds of the world."""
    kept = Kept(wish, folder)
    kept.crawl.mkdir(parents=True)
    toml, log, file = folder / "gossamer.toml", folder / "requests.log", kept.crawl / CLOCK_FILE
    wishes = f"delay = {wish.delay}\n[recrawl]\nbudget = {wish.budget}\ninterval = {wish.cycle * DAY}\n"
    toml.write_text(wishes, encoding="utf-8")
    clock = SharedClock(file)
    clock.advance(Seconds(max(BEGINNING - clock.now(), 0.0)))
    kept.start, began = clock.now(), time.monotonic()
    with SimwebProcess(wish.web, log, clock=file) as server:
        kept.web = server.config
        command = [sys.executable, "-m", "gossamer", "crawl", *server.seeds, "--dir", str(kept.crawl), "--quiet"]
        command += ["--config", str(toml), "--dns", server.dns_address, "--scope", "tld:test", "--allow-private"]
        command += ["--keep-fresh", "--rehearse", str(wish.speed)]
        for day, how in (*wish.ends, (wish.days, STOP)):
            kept.began.append((clock.now() - kept.start) / DAY)
            with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
                while (today := (clock.now() - kept.start) / DAY) < day and process.poll() is None:
                    if len(kept.soon_after) < len(kept.at_ends) and today > kept.began[-1] + SOON:
                        kept.soon_after.append(kept.rows())
                        kept.looked_at.append(clock.now())
                    if time.monotonic() - began > patience:
                        process.kill()
                    time.sleep(0.01)
                if process.poll() is None:
                    process.kill() if how is KILL else process.terminate()
                out, _ = process.communicate(timeout=60)
            if process.returncode != (-9 if how is KILL else 143):
                raise RuntimeError(f"it ended with {process.returncode} on day {today:.1f} of {day:g}: {out}")
            kept.at_ends.append(kept.rows())
    kept.seconds = time.monotonic() - began
    kept.requests = sorted(server.requests(), key=lambda request: request.read_at)
    return kept
