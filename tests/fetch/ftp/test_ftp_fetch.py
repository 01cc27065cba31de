"""Files and directories from a real FTP server."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from gossamer.clock import SteadyClock
from gossamer.extract.content_types import is_html
from gossamer.extract.crawl_page import extract_page
from gossamer.fetch.ftp import FtpFetcher
from gossamer.fetch.ports import FetchLimits, Request
from gossamer.fetch.robots import rules_from_answer
from gossamer.model.outcome import Failed, Failure, FetchOutcome, Response, Truncation
from gossamer.model.units import HostKey, Instant, Url
from tests.fetch.ftp.ftp_server import real_server

AGENT = "gossamer-test/1.0 (+mailto:crawl@example.test)"
PAGE = b"<!DOCTYPE html><title>x</title><a href=b.txt>b</a>"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("ftp")
    (root / "page.html").write_bytes(PAGE)
    (root / "binary").write_bytes(bytes(range(256)) * 1000)
    (root / "empty").write_bytes(b"")
    (root / "robots.txt").write_bytes(b"User-agent: *\nDisallow: /private/\n")
    odd = root / "dir" / "a b;c:d #1?&%41\u00e9"
    odd.mkdir(parents=True)
    (odd / "-l").write_bytes(b"dashes")
    (root / "dir" / "<b>'\"").write_bytes(b"quotes")
    return root


@pytest.fixture(scope="module")
def port(folder: Path) -> Iterator[int]:
    with real_server(folder) as port:
        yield port


def fetched(port: int, path: str, limits: FetchLimits | None = None, address: str = "127.0.0.1") -> FetchOutcome:
    fetcher = FtpFetcher(AGENT, limits or FetchLimits(), SteadyClock(), allow=lambda _address: True)
    url = Url(f"ftp://ftp.test:{port}{path}")
    return asyncio.run(fetcher.fetch(Request(url, HostKey("ftp.test"), port, address)))


def answer(port: int, path: str, limits: FetchLimits | None = None) -> Response:
    outcome = fetched(port, path, limits)
    assert isinstance(outcome, Response), outcome
    return outcome


def test_a_file_arrives_byte_for_byte_and_undeclared(port: int) -> None:
    response = answer(port, "/binary")

    assert (response.status, response.headers, response.truncated) == (200, {}, None)
    assert response.wire_body == bytes(range(256)) * 1000


def test_an_empty_file_is_a_document_too(port: int) -> None:
    response = answer(port, "/empty")

    assert (response.status, response.wire_body, response.truncated) == (200, b"", None)


def test_a_page_is_known_by_its_first_bytes(port: int) -> None:
    response = answer(port, "/page.html")

    assert is_html(response.headers.get("content-type"), response.wire_body)


def test_the_record_holds_what_was_said_on_the_control_connection(port: int) -> None:
    response = answer(port, "/page.html")

    commands = [line.split()[0] for line in response.request_head.splitlines()]
    assert commands == [b"USER", b"PASS", b"TYPE", b"EPSV", b"RETR"]
    assert AGENT.encode() in response.request_head
    assert response.head.startswith(b"220 ") and response.head.splitlines()[-1].startswith(b"226 ")


def test_a_file_over_the_limit_is_cut_there(port: int) -> None:
    response = answer(port, "/binary", FetchLimits(body_bytes=1000))

    assert (response.truncated, response.wire_body) == (Truncation.LENGTH, (bytes(range(256)) * 4)[:1000])


def test_a_file_that_just_fits_is_whole(port: int) -> None:
    response = answer(port, "/page.html", FetchLimits(body_bytes=len(PAGE)))

    assert (response.truncated, response.wire_body) == (None, PAGE)


@pytest.mark.parametrize("path", ["/nothing", "/dir/nothing", "/nothing/"])
def test_what_is_not_there_is_a_404(port: int, path: str) -> None:
    assert answer(port, path).status == 404


def test_a_directory_without_its_slash_redirects_to_the_one_with_it(port: int) -> None:
    response = answer(port, "/dir")

    assert (response.status, response.headers) == (301, {"location": f"ftp://ftp.test:{port}/dir/"})


def links(response: Response) -> list[str]:
    assert (response.status, response.headers["content-type"]) == (200, "text/html; charset=utf-8")
    page = extract_page(response.wire_body, response.headers["content-type"], response.url)
    return page.hrefs


def test_a_directory_is_a_page_of_links(port: int) -> None:
    assert links(answer(port, "/")) == ["binary", "dir/", "empty", "page.html", "robots.txt"]


def test_odd_names_come_back_as_they_are(port: int) -> None:
    folder, file = sorted(links(answer(port, "/dir/")), key=lambda href: href.endswith("/"), reverse=True)
    inner = links(answer(port, f"/dir/{folder}"))

    assert inner == ["-l"]
    assert answer(port, f"/dir/{folder}{inner[0]}").wire_body == b"dashes"
    assert answer(port, f"/dir/{file}").wire_body == b"quotes"


def test_a_server_without_mlsd_and_epsv_is_understood_too(folder: Path) -> None:
    with real_server(folder, "MLSD", "EPSV") as port:
        response = answer(port, "/")

        assert links(response) == ["binary", "dir/", "empty", "page.html", "robots.txt"]
        assert b"PASV" in response.request_head and b"LIST" in response.request_head


def test_the_same_directory_gives_the_same_page_twice(port: int) -> None:
    assert answer(port, "/dir/").wire_body == answer(port, "/dir/").wire_body


def test_a_refused_login_is_a_403(folder: Path) -> None:
    with real_server(folder, "nobody") as port:
        assert answer(port, "/page.html").status == 403


def test_robots_txt_of_an_ftp_host_is_asked_for_and_read_as_any_other(port: int) -> None:
    response = answer(port, "/robots.txt")

    rules = rules_from_answer(response.status, response.wire_body, agent="gossamer", now=Instant(0.0))

    assert not rules.verdict("/private/x").allowed and rules.verdict("/page.html").allowed


def test_a_host_without_robots_txt_allows_everything(tmp_path: Path) -> None:
    with real_server(tmp_path) as port:
        status = answer(port, "/robots.txt").status

    assert rules_from_answer(status, agent="gossamer", now=Instant(0.0)).verdict("/x").allowed


def test_an_address_that_may_not_be_dialled_is_not(port: int) -> None:
    fetcher = FtpFetcher(AGENT, FetchLimits(), SteadyClock(), allow=lambda address: address != "127.0.0.1")
    request = Request(Url("ftp://ftp.test/"), HostKey("ftp.test"), port, "127.0.0.1")

    outcome = asyncio.run(fetcher.fetch(request))

    assert isinstance(outcome, Failed)
    assert (outcome.failure, outcome.contacted) == (Failure.BLOCKED_ADDRESS, False)


@pytest.mark.parametrize("address", ["localhost", "127.1", "0x7f000001", ""])
def test_a_name_or_an_odd_form_is_no_address(port: int, address: str) -> None:
    outcome = fetched(port, "/", address=address)

    assert isinstance(outcome, Failed) and outcome.failure is Failure.BLOCKED_ADDRESS


@pytest.mark.parametrize("path", ["/a%0d%0aDELE%20page.html", "/a%0Ab", "/%00", "/%7f/", "/" + 5000 * "a"])
def test_a_path_that_would_be_more_than_one_command_never_leaves(port: int, path: str) -> None:
    outcome = fetched(port, path)

    assert isinstance(outcome, Failed)
    assert (outcome.failure, outcome.contacted) == (Failure.BAD_URL, False)
