"""The simulated web as a world whose pages change, and what a crawl has stored of it as a journey through it."""

from functools import cache
from hashlib import sha1

import pytest

from benchmarks.copies import Copy, journey_of
from gossamer.lab.simulate.recrawl_compare import share_fresh
from gossamer.lab.simulate.recrawl_world import Drawn, World, drawn_world, served_world
from gossamer.lab.simulate.time_travel import travel
from gossamer.lab.simweb.audit import ground_truth
from gossamer.lab.simweb.config import preset
from gossamer.lab.simweb.web import SimWeb
from gossamer.model.units import Instant
from gossamer.recrawl.policies import Optimal
from gossamer.recrawl.policy import Memory, Plan, RecrawlPolicy, Terms, Visited

CONFIG = preset("demo", hosts=6, pages=120, max_host_pages=0, change_rate_per_day=0.5, fault_rate=0.0)
START = Instant(1_700_000_000.0)
DAY = 86_400.0


@cache
def web() -> SimWeb:
    return SimWeb(CONFIG)


@pytest.fixture(scope="module")
def world() -> World:
    return served_world(CONFIG, START, 20.0)


def body(url: str, day: float) -> bytes:
    host, _, rest = url.partition("://")[2].partition("/")
    return web().respond(host.partition(":")[0], "/" + rest, Instant(START + day * DAY)).body


def copy(url: str, day: float) -> Copy:
    return Copy(url, Instant(START + day * DAY), sha1(body(url, day)).digest())


def test_its_pages_are_those_that_a_correct_crawl_stores(world: World) -> None:
    truth = ground_truth(web())

    assert {*world.names} == truth.stored.union(*truth.duplicate_groups)
    assert sum(world.importance) == pytest.approx(1.0)
    assert world.dated == [web().hosts[host].sends_validators for host in world.host_of]


def test_they_change_when_the_server_shows_something_else(world: World) -> None:
    changing = [page for page, times in enumerate(world.changes) if times][:20]
    assert changing
    for page in changing:
        url = world.names[page]
        for before, after in zip([0.0, *world.changes[page]], [*world.changes[page], 20.0], strict=True):
            assert body(url, before + 1e-5) == body(url, after - 1e-5)
        assert body(url, 0.0) != body(url, world.changes[page][0] + 1e-5)


def test_importance_may_be_given_and_says_which_pages_count(world: World) -> None:
    first, second = world.names[:2]

    given = served_world(CONFIG, START, 20.0, {first: 3.0, second: 1.0, "http://no.test/": 9.0})

    assert (given.names, given.importance) == ([first, second], [0.75, 0.25])


def test_a_copy_is_fresh_until_its_page_changes_if_it_is_what_the_server_showed(world: World) -> None:
    page = next(page for page, times in enumerate(world.changes) if times and 2 < times[0] < 15)
    url, change = world.names[page], world.changes[page][0]
    alone = served_world(CONFIG, START, 20.0, {url: 1.0})

    good = journey_of(alone, CONFIG, START, [copy(url, 1.0), copy(url, 2.0)])
    bad = journey_of(alone, CONFIG, START, [copy(url, 1.0)._replace(digest=bytes(20))])

    assert share_fresh(good, [1.0], 0.0, change) == pytest.approx((change - 1) / change)
    assert share_fresh(good, [1.0], change, world.changes[page][1] if len(world.changes[page]) > 1 else 20.0) == 0.0
    assert share_fresh(bad, [1.0], 0.0, 20.0) == 0.0


def test_pages_that_are_found_are_visited_when_they_are_and_beside_the_budget() -> None:
    world = drawn_world(Drawn(pages=100, days=40.0, hosts=4))
    arrivals = [0.1 * page for page in range(100)]

    journey = travel(world, Optimal(), 10.0, arrivals)

    first: dict[int, float] = {}
    for page, day in zip(journey.pages, journey.starts, strict=True):
        first.setdefault(page, day)
    assert [first[page] for page in range(100)] == arrivals
    assert 100 + 0.9 * 10 * 30 < len(journey.starts) <= 100 + 10 * 40


def test_with_caps_pages_are_not_found_on_the_way() -> None:
    with pytest.raises(ValueError, match="cap"):
        travel(drawn_world(Drawn(pages=10, days=5.0, hosts=2, cap=1.0)), Optimal(), 2.0, [0.0] * 10)


def test_where_pages_tell_when_they_changed_a_visit_knows() -> None:
    told: list[tuple[bool, float | None]] = []

    class Listening(RecrawlPolicy):
        def after(self, visited: Visited, memory: Memory, terms: Terms) -> Plan:
            told.append((visited.changed, visited.changed_at))
            return super().after(visited, memory, terms)

    world = World("two", 8.0, [[1.0, 2.0], [1.5]], [0.5, 0.5], [0.25, 0.125], [0, 0], dated=[True, False])
    travel(world, Listening(), 0.5, [0.0, 0.5])

    assert told == [(False, None), (False, None), (True, 2 * DAY), (True, None)]
