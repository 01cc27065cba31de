"""A crawl kept fresh over HTTP for weeks of its clock on hosts that allow fewer visits than their pages ask for, with a
kill and a stop on the way: nothing is lost, nothing repeated without need, and no host is visited too soon.

How fresh its copies are is measured by benchmarks/bench_keep_fresh.py, over several webs.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator
from hashlib import sha1
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from benchmarks.copies import Copy
from benchmarks.keeping import KILL, STOP, Kept, Rehearsal, changing_web, rehearse
from gossamer.lab.simweb.audit import ground_truth
from gossamer.lab.simweb.server import Request
from gossamer.lab.simweb.web import SimWeb
from gossamer.model.units import DAY, HostKey, Seconds
from gossamer.recrawl.planner import PROBE
from tests.integration.crawl_checks import page_requests
from tests.integration.crawl_process import gossamer

pytestmark = pytest.mark.service

DAYS, DELAY = 40.0, Seconds(4 * 3600.0)  # six visits a day
KILLED, STOPPED = DAYS / 3, DAYS * 2 / 3
PATIENCE = 900.0  # seconds of the world, after which it is taken for hung
MEMORY_DISC = Path("/dev/shm")


@pytest.fixture(scope="module")
def kept() -> Iterator[Kept]:
    web = changing_web(pages=60, hosts=5)
    wish = Rehearsal(web, DAYS, cycle=3.0, speed=1e6, delay=DELAY, ends=((KILLED, KILL), (STOPPED, STOP)))
    # Each visit is a commit of its own here; what the disc takes for that is of no interest.
    with TemporaryDirectory(dir=MEMORY_DISC if MEMORY_DISC.is_dir() else None) as folder:
        yield rehearse(wish, Path(folder), PATIENCE)


def requests_by_url(kept: Kept) -> dict[str, list[Request]]:
    """The server's record of pages."""
    found: dict[str, list[Request]] = defaultdict(list)
    for request in page_requests(kept.requests):
        found[f"http://{request.host}:{kept.web.port}{request.target}"].append(request)
    return found


def copies_with_their_requests(kept: Kept) -> dict[str, list[tuple[Copy, Request]]]:
    """Each copy with the request that it came from, by URL. Visits to a page are hours apart; a visit takes seconds."""
    requests = requests_by_url(kept)
    found: dict[str, list[tuple[Copy, Request]]] = defaultdict(list)
    for copy in sorted(kept.copies, key=lambda copy: copy.at):
        nearest = min(requests[copy.url], key=lambda request: abs(request.read_at - copy.at))
        assert abs(nearest.read_at - copy.at) < DELAY / 2
        found[copy.url].append((copy, nearest))
    return found


def cut_off_by_the_kill(kept: Kept) -> set[Request]:
    """The last request to each host before the kill. No other can have been without a commit: hours pass on the clock
    of a rehearsal only while nothing is under way."""
    last: dict[HostKey, Request] = {}
    for request in kept.requests:
        if (request.read_at - kept.start) / DAY < kept.began[1]:
            last[request.host] = request
    return {*last.values()}


def test_every_page_is_kept_and_every_copy_is_what_the_server_showed(kept: Kept) -> None:
    web = SimWeb(kept.web)
    copies = copies_with_their_requests(kept)

    def shown(request: Request) -> bytes:
        return sha1(web.respond(request.host, request.target, request.read_at).body).digest()

    assert copies.keys() == ground_truth(web).stored
    assert [copy for pairs in copies.values() for copy, request in pairs if copy.digest != shown(request)] == []


def test_what_has_not_changed_is_answered_by_304(kept: Kept) -> None:
    answers: Counter[tuple[bool, bool, int]] = Counter()
    for pairs in copies_with_their_requests(kept).values():
        for number, ((before, _), (after, request)) in enumerate(pairwise(pairs), 2):
            answers[number % PROBE == 0, before.digest != after.digest, request.status] += 1

    usual = {(False, False, 304), (False, True, 200)}
    assert usual <= answers.keys() <= usual | {(True, False, 200), (True, True, 200)}


def test_nothing_is_asked_for_twice_but_what_the_kill_cut_off(kept: Kept) -> None:
    used = {request for pairs in copies_with_their_requests(kept).values() for _, request in pairs}
    documents = ground_truth(SimWeb(kept.web)).stored
    unused = {
        request for url, requests in requests_by_url(kept).items() if url in documents for request in requests
    } - used

    assert unused <= cut_off_by_the_kill(kept)


def test_no_host_is_visited_too_soon(kept: Kept) -> None:
    assert kept.violations() == []
    assert kept.own_violations() == 0


def test_after_a_restart_estimates_and_dates_are_what_they_were(kept: Kept) -> None:
    assert len(kept.soon_after) == 2
    for before, after, looked_at in zip(kept.at_ends, kept.soon_after, kept.looked_at, strict=False):
        unvisited = {url for url, row in before.items() if row.visits == after[url].visits}
        # What came due meanwhile may have been put off, where its host is dear; what was not due may be queued early.
        later = {url for url in unvisited if (before[url].available_at or 0.0) > looked_at}
        waiting = {url for url in later if not before[url].queued and not after[url].queued}

        assert waiting
        assert {url: before[url] for url in waiting} == {url: after[url] for url in waiting}
        assert [
            url for url in unvisited if (before[url].one, before[url].two) != (after[url].one, after[url].two)
        ] == []


def test_what_is_missing_is_asked_for_three_times_while_the_crawl_runs(kept: Kept) -> None:
    cut_off = cut_off_by_the_kill(kept)
    missing = ground_truth(SimWeb(kept.web)).missing
    asked = requests_by_url(kept)

    assert missing
    for url in missing:
        assert len(asked[url]) == 3 or (len(asked[url]) == 4 and cut_off.intersection(asked[url])), url


def test_the_price_of_a_host_is_told(kept: Kept) -> None:
    told = gossamer("status", "--dir", kept.crawl, "--json").report["recrawl"]
    where = ("--dir", kept.crawl, "--config", kept.crawl.parent / "gossamer.toml")
    story = gossamer("explain", kept.world.names[0], *where, "--json").report["recrawl"]
    words = gossamer("explain", kept.world.names[0], *where).out

    assert isinstance(told, dict) and isinstance(story, dict)
    assert story["usual_price"] == pytest.approx(told["price"])
    of_its_host = "because its host allows too few visits"
    assert (of_its_host in words) == (story["price"] > story["usual_price"])
