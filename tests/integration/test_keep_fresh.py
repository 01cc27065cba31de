"""A crawl kept fresh over HTTP for sixty days of its clock: as fresh as the simulation says, polite, and undisturbed by
a kill and a stop on the way."""

import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))
from benchmarks.keeping import KILL, STOP, Kept, Rehearsal, changing_web, rehearse

from gossamer.crawl.conditions import PROBE
from gossamer.recrawl.policy import DAY
from gossamer.simweb.truth import ground_truth
from gossamer.simweb.web import SimWeb

pytestmark = pytest.mark.service

DAYS = 60.0
PATIENCE = 900.0  # seconds of the world: a rehearsal waits for slow machines, and is as exact on them
MEMORY_DISC = Path("/dev/shm")


@pytest.fixture(scope="module")
def kept() -> Iterator[Kept]:
    wish = Rehearsal(changing_web(pages=120, hosts=5), DAYS, ends=((DAYS / 3, KILL), (DAYS * 2 / 3, STOP)))
    # Each visit is a commit of its own here; what the disc takes for that is of no interest.
    with TemporaryDirectory(dir=MEMORY_DISC if MEMORY_DISC.is_dir() else None) as folder:
        yield rehearse(wish, Path(folder), PATIENCE)


@pytest.mark.parametrize(
    "name", ["weighted, second half", "plain, second half", "weighted, from the start", "plain, from the start"]
)
def test_copies_are_as_fresh_as_the_simulation_says(kept: Kept, name: str) -> None:
    measured, predicted = kept.fresh(kept.measured)[name], kept.fresh(kept.predicted)[name]

    assert 0.5 < predicted < 0.95  # there is something to be right about
    assert measured == pytest.approx(predicted, abs=0.02)


def test_every_page_is_kept_and_every_copy_is_what_the_server_showed(kept: Kept) -> None:
    found = {*kept.measured.pages}

    assert found == {*range(kept.world.pages)}
    assert {*kept.world.names} == ground_truth(SimWeb(kept.web)).stored
    never_fresh = [
        (kept.world.names[page], start)
        for page, start, end in zip(kept.measured.pages, kept.measured.starts, kept.measured.ends, strict=True)
        if end <= start < DAYS
    ]
    assert never_fresh == []


def test_what_has_not_changed_is_answered_by_304(kept: Kept) -> None:
    answers = Counter(
        (changed, status) for number, changed, status in kept.revisits() if number % PROBE
    )  # every tenth visit asks without conditions

    # A visit whose outcome the kill took with it is known to the server alone: the next one has its old conditions, and
    # the count of tens is off by one for that page.
    assert answers.pop((False, 200), 0) <= 10
    assert answers.keys() == {(False, 304), (True, 200)}
    assert answers[False, 304] > 300
    assert answers[True, 200] > 300


def test_no_host_is_visited_too_soon(kept: Kept) -> None:
    assert kept.violations() == []
    assert kept.own_violations() == 0


def test_the_budget_is_used_and_on_no_day_exceeded(kept: Kept) -> None:
    firsts: dict[tuple[str, str], float] = {}
    days: Counter[int] = Counter()
    for request in kept.requests:
        if request.target != "/robots.txt" and (request.host, request.target) in firsts:
            days[int((request.read_at - kept.start) / DAY)] += 1
        firsts.setdefault((str(request.host), request.target), request.read_at)

    most = kept.wish.budget * (1 + 1 / 24)  # what was saved up within an hour may be spent with the rest
    cut_off = 6  # a visit that was cut off by the kill is made again, one of each host at most
    assert max(days.values()) <= most + cut_off
    assert sum(days.values()) > 0.9 * kept.wish.budget * DAYS


def test_after_a_restart_estimates_and_dates_are_what_they_were(kept: Kept) -> None:
    assert len(kept.soon_after) == 2
    for before, after in zip(kept.at_ends, kept.soon_after, strict=False):
        unvisited = {url for url, row in before.items() if row.visits == after[url].visits}
        waiting = {url for url in unvisited if not before[url].queued and not after[url].queued}

        assert len(waiting) > len(before) / 2
        assert {url: before[url] for url in waiting} == {url: after[url] for url in waiting}
        assert [
            url for url in unvisited if (before[url].one, before[url].two) != (after[url].one, after[url].two)
        ] == []


def test_what_is_missing_is_asked_for_again_while_the_crawl_runs(kept: Kept) -> None:
    missing = ground_truth(SimWeb(kept.web)).missing
    asked = Counter(
        url for request in kept.requests if (url := f"http://{request.host}:{kept.web.port}{request.target}") in missing
    )

    assert missing
    assert {asked[url] for url in missing} == {3}  # then it is gone
