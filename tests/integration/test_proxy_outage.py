"""A proxy that is down is our own trouble: its hosts wait, others go on, and nothing is lost when it is back."""

import json
import socket
from pathlib import Path

import pytest

from tests.hostile.dns_stage import free_port
from tests.integration.crawl_process import Command, Constants, gossamer, wait_until
from tests.integration.small_server import Answer, SmallServer, links, page

pytestmark = pytest.mark.service

FAR = [f"http://far{n}.test" for n in range(5)]  # names that nobody here can look up
PATHS = ["/a", "/b", "/c"]
THROUGH = {
    **{f"{far}/": links(*(far + path for path in PATHS)) for far in FAR},
    **{far + path: page(far + path) for far in FAR for path in PATHS},
}
AT_ONCE = Constants({"gossamer.config.policies.HOST_PATIENCE": 0.0})


def test_nothing_is_lost_while_a_proxy_is_down(tmp_path: Path) -> None:
    port, directory = free_port(), tmp_path / "crawl"
    settings = tmp_path / "gossamer.toml"
    settings.write_text(f'[host."*.test"]\nproxy = "http://127.0.0.1:{port}"\n[retry]\ndelay = 0.05\n')

    def says_that_it_is_down() -> bool:
        found = gossamer("status", "--dir", directory, "--json")
        return found.status == 0 and json.loads(found.out)["waits"]["proxy_failing"] is True

    with SmallServer({"/": links(*PATHS), **{path: page(path) for path in PATHS}}) as near:
        arguments = ["--dir", directory, "--config", settings, "--allow-private", "--delay", 0.02, "--json", "--quiet"]
        seeds = [f"{near.base}/", *(f"{far}/" for far in FAR)]
        with Command("crawl", *seeds, "--scope", "any", *arguments, AT_ONCE) as crawler:
            wait_until(lambda: says_that_it_is_down() or not crawler.runs, "word that the proxy is down")
            wait_until(lambda: set(near.paths()) >= {"/", *PATHS} or not crawler.runs, "the host without a proxy")
            with SmallServer(THROUGH, port=port) as proxy:
                ended = crawler.ended()
                asked = proxy.paths()

    assert ended.status == 0, ended.err
    report = ended.report
    assert (report["finished"], report["queued"], report["dead"]) == (True, 0, 0)
    assert report["pages"] == (1 + len(FAR)) * (1 + len(PATHS))
    assert report["politeness_violations"] == 0
    assert report["proxy_failing"] is False
    assert report["errors"]["proxy_failed"] >= 1  # type: ignore[index]
    assert sorted(asked) == sorted([*THROUGH, *(f"{far}/robots.txt" for far in FAR)])


def errors_so_far(directory: Path) -> int:
    """How often the proxy has failed, as the crawl's status has it."""
    found = gossamer("status", "--dir", directory, "--json")
    return int(json.loads(found.out)["errors"].get("proxy_failed", 0)) if found.status == 0 else 0


def test_a_proxy_that_goes_away_in_the_middle_loses_nothing_either(tmp_path: Path) -> None:
    port, directory = free_port(), tmp_path / "crawl"
    settings = tmp_path / "gossamer.toml"
    settings.write_text(f'[host."*.test"]\nproxy = "http://127.0.0.1:{port}"\n[retry]\ndelay = 0.05\n')
    pages = [f"{FAR[0]}/{n}" for n in range(40)]
    site: dict[str, Answer] = {f"{FAR[0]}/": links(*pages), **{url: page(url) for url in pages}}
    arguments = ["--dir", directory, "--config", settings, "--allow-private", "--delay", 0.02, "--json", "--quiet"]

    # One request may be under way when the proxy goes, and counts; those that did not get past it do not.
    with Command("crawl", f"{FAR[0]}/", "--max-per-domain", 42, *arguments) as crawler:
        with SmallServer(site, port=port) as proxy:
            wait_until(lambda: len(proxy.asked) >= 10 or not crawler.runs, "the first pages")
        wait_until(lambda: errors_so_far(directory) >= 2 or not crawler.runs, "two requests in vain")
        with SmallServer(site, port=port):
            ended = crawler.ended()

    assert ended.status == 0, ended.err
    report = ended.report
    assert (report["finished"], report["queued"], report["dead"], report["pages"]) == (True, 0, 0, 41)


def test_a_proxy_that_takes_requests_and_says_nothing_is_waited_for(tmp_path: Path) -> None:
    port, directory = free_port(), tmp_path / "crawl"
    settings = tmp_path / "gossamer.toml"
    settings.write_text(
        f'[host."*.test"]\nproxy = "http://127.0.0.1:{port}"\n[retry]\ndelay = 0.05\n[fetch]\nhead_timeout = 1.0\n'
    )
    arguments = ["--dir", directory, "--config", settings, "--allow-private", "--delay", 0.02, "--json", "--quiet"]

    constants = Constants(AT_ONCE | {"gossamer.crawl.visit.request.ROBOTS_TIMEOUT": 1.0})
    with Command("crawl", *(f"{far}/" for far in FAR), "--scope", "any", *arguments, constants) as crawler:
        with socket.create_server(("127.0.0.1", port), backlog=64):
            wait_until(lambda: errors_so_far(directory) >= 2 or not crawler.runs, "word that the proxy is down")
        with SmallServer(THROUGH, port=port):
            ended = crawler.ended()

    assert ended.status == 0, ended.err
    report = ended.report
    assert (report["finished"], report["queued"], report["dead"]) == (True, 0, 0)
    assert report["pages"] == len(FAR) * (1 + len(PATHS))
