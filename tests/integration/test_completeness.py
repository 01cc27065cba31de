"""A crawl finds what there is to be found: URL by URL, against the ground truth of four webs of different shape."""

import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest

from gossamer.lab.simweb.audit import Truth, forbidden_requests, ground_truth
from gossamer.lab.simweb.config import SimWebConfig
from gossamer.lab.simweb.server import Request
from gossamer.lab.simweb.web import SimWeb
from tests.integration.crawl_checks import PAGE_KEYS, check_archive, check_outcomes, check_report, page_requests
from tests.integration.crawl_process import Ended, Json, gossamer, scene, side_by_side, small_web

pytestmark = pytest.mark.service

WEBS: dict[str, SimWebConfig] = {
    "everything": small_web(seed=11, hosts=40, pages=600),
    "twisted": small_web(
        seed=12,
        hosts=8,
        pages=250,
        redirect_rate=0.2,
        duplicate_rate=0.2,
        missing_rate=0.05,
        disallowed_rate=0.1,
        fault_rate=0.05,
        shared_address_hosts=0.5,
    ),
    "sitemaps": small_web(seed=14, hosts=30, pages=200, sitemap_hosts=0.7, disallowed_rate=0.1),
    "hubs": small_web(seed=13, hosts=60, pages=500, hub_pages=3, host_exponent=0.2, seed_hosts=1, links_per_page=8),
}


@dataclass(frozen=True, slots=True)
class Crawled:
    """A web that was crawled to the end, and all that is left of it."""

    ended: Ended
    dir: Path
    web: SimWeb
    truth: Truth
    pages: list[Json]
    requests: list[Request]


@pytest.fixture(scope="module")
def crawls(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Crawled]:
    """All webs crawled, side by side."""
    done: dict[str, Crawled] = {}
    folder = tmp_path_factory.mktemp("complete")

    def crawl(name: str) -> None:
        with scene(folder / name, WEBS[name]) as stage:
            ended = gossamer(*stage.command)
            web = stage.web.web()
            pages = stage.pages()
        done[name] = Crawled(ended, stage.dir, web, ground_truth(web), pages, stage.web.requests())

    side_by_side(*(lambda name=name: crawl(name) for name in WEBS))
    return done


@pytest.fixture(params=WEBS)
def crawled(request: pytest.FixtureRequest, crawls: dict[str, Crawled]) -> Crawled:
    return crawls[request.param]


def test_the_webs_have_in_them_what_the_tests_look_for(crawled: Crawled) -> None:
    truth = crawled.truth

    assert min(len(truth.stored), len(truth.redirects), len(truth.missing), len(truth.forbidden)) > 0
    assert truth.duplicate_groups


def test_a_finished_crawl_says_so_and_succeeds(crawled: Crawled) -> None:
    assert crawled.ended.status == 0, crawled.ended.err
    assert crawled.ended.report["finished"] is True
    assert crawled.ended.report["queued"] == 0
    assert crawled.ended.report["dead"] == 0


def test_every_url_ends_in_the_state_in_which_it_must_be(crawled: Crawled) -> None:
    check_outcomes(crawled.truth, crawled.pages)


def test_nothing_is_requested_that_robots_txt_forbids(crawled: Crawled) -> None:
    assert forbidden_requests(crawled.requests, crawled.truth) == []


def test_no_page_is_fetched_twice_without_need(crawled: Crawled) -> None:
    answers = Counter((r.host, r.target) for r in crawled.requests if r.status < 400 or r.status == 404)

    assert [asked for asked, n in answers.items() if n > 1] == []


def test_every_stored_page_has_one_response_record_where_its_row_says(crawled: Crawled) -> None:
    check_archive(crawled.dir, crawled.web, crawled.pages)


def test_the_report_agrees_with_the_database(crawled: Crawled) -> None:
    check_report(crawled.dir, crawled.ended.report)


def test_the_report_agrees_with_the_server(crawled: Crawled) -> None:
    report = crawled.ended.report
    robots = [r for r in crawled.requests if r.target == "/robots.txt"]

    assert report["robots_fetched"] == len(robots) == report["hosts"]
    assert report["fetched"] == len(page_requests(crawled.requests))
    assert report["politeness_violations"] == 0


def test_every_line_of_pages_has_the_keys_of_the_contract(crawled: Crawled) -> None:
    assert all(page.keys() >= PAGE_KEYS for page in crawled.pages)


def test_the_status_command_tells_what_the_report_told(crawled: Crawled) -> None:
    ended = gossamer("status", "--dir", crawled.dir, "--json")

    report, status = crawled.ended.report, ended.report
    same = [
        "pages",
        "fetched",
        "bytes",
        "discovered",
        "queued",
        "duplicates",
        "errors",
        "excluded",
        "dead",
        "hosts",
        "finished",
    ]
    assert {key: status[key] for key in same} == {key: report[key] for key in same}
    assert status["running"] is False


def test_the_log_is_json_and_tells_start_and_end(crawled: Crawled) -> None:
    events = [json.loads(line) for line in (crawled.dir / "crawl.log").read_text().splitlines()]

    names = [event["event"] for event in events]
    assert (names[0], names[-1]) == ("crawl.started", "crawl.ended")
