"""A crawl kept fresh where every host allows far fewer visits than its pages ask for: what it allows goes to the visits
that are worth most, as well as the simulation says, and politely."""

import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from running import gossamer

sys.path.insert(0, str(Path(__file__).parents[2]))
from benchmarks.keeping import KILL, Kept, Rehearsal, changing_web, rehearse

from gossamer.model.units import Seconds
from gossamer.recrawl.optimum import optimum
from gossamer.recrawl.policies import RECRAWL_POLICIES
from gossamer.recrawl.policy import DAY
from gossamer.simulate.freshness.travel import travel
from gossamer.simulate.freshness.world import capped

pytestmark = pytest.mark.service

DAYS, DELAY = 60.0, Seconds(4 * 3600.0)  # six visits a day
PATIENCE = 900.0  # seconds of the world
HALF = "weighted, second half"
# Over 150 pages and 30 days chance alone moves the crawl and its simulation by more than half a point each.
CHANCE = 0.03
MEMORY_DISC = Path("/dev/shm")


@pytest.fixture(scope="module")
def kept() -> Iterator[Kept]:
    web = changing_web(pages=150, hosts=5)
    wish = Rehearsal(web, DAYS, cycle=3.0, delay=DELAY, ends=((DAYS / 2, KILL),))
    with TemporaryDirectory(dir=MEMORY_DISC if MEMORY_DISC.is_dir() else None) as folder:
        yield rehearse(wish, Path(folder), PATIENCE)


def simulated(kept: Kept, *, host_prices: bool) -> float:
    world = capped(kept.world, kept.wish.cap)
    journey = travel(world, RECRAWL_POLICIES["optimal"](), kept.wish.budget, host_prices=host_prices)
    return kept.fresh(journey)[HALF]


def test_it_is_as_fresh_as_the_simulation_says_and_close_to_the_optimum_under_the_caps(kept: Kept) -> None:
    world, wish = kept.world, kept.wish
    best = optimum(world.importance, world.rates, wish.budget, world.host_of, wish.cap).freshness
    free = optimum(world.importance, world.rates, wish.budget).freshness
    measured = kept.fresh(kept.measured)[HALF]

    assert best < free - 0.05  # the caps are felt
    assert measured == pytest.approx(simulated(kept, host_prices=True), abs=CHANCE)
    assert measured > 0.91 * best


def test_it_is_fresher_than_with_one_price_for_all_hosts(kept: Kept) -> None:
    assert kept.fresh(kept.measured)[HALF] > simulated(kept, host_prices=False) + 0.015


def test_no_host_is_visited_too_soon(kept: Kept) -> None:
    assert kept.violations() == []
    assert kept.own_violations() == 0


def test_what_hosts_allow_is_used(kept: Kept) -> None:
    allowed = kept.world.hosts * kept.wish.cap * DAYS

    assert len(kept.measured.starts) > 0.9 * allowed


def test_the_price_of_a_host_is_told(kept: Kept) -> None:
    told = gossamer("status", "--dir", kept.crawl, "--json").report["recrawl"]
    where = ("--dir", kept.crawl, "--config", kept.crawl.parent / "gossamer.toml")
    story = gossamer("explain", kept.world.names[0], *where, "--json").report["recrawl"]
    words = gossamer("explain", kept.world.names[0], *where).out

    assert isinstance(told, dict) and isinstance(story, dict)
    assert told["dear_hosts"] == kept.world.hosts
    assert story["price"] > story["usual_price"] == pytest.approx(told["price"])
    assert "the price is that of its host, which allows fewer visits than its pages are worth" in words


def test_lines_are_short_so_that_what_is_due_waits_by_its_worth(kept: Kept) -> None:
    """What is put off is planned anew: dates that lie ahead, not an ever longer queue."""
    queued = [row for row in kept.at_ends[-1].values() if row.queued]

    assert len(queued) < len(kept.at_ends[-1]) / 2
    assert DAY / DELAY * kept.world.hosts < kept.wish.budget
