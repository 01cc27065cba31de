"""Invalid requests are rejected with a message that names the field, and change nothing."""

import http.client
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from gossamer.errors import CannotListen
from gossamer.service.http_server import listen
from gossamer.service.schemas import quote
from tests.integration.crawl_process import wait_until
from tests.integration.small_server import SmallServer, page
from tests.service.service_process import Service

HOST = "known.test"


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with Service(tmp_path_factory.mktemp("wrong") / "crawl", "--scope", "tld:test") as served:
        assert served.post("/crawl", {"action": "pause"}).status == 200
        assert served.post("/seed/urls", {"urls": [f"http://{HOST}/"]}).json["accepted"] == 1
        yield served


@pytest.mark.service
@pytest.mark.parametrize(
    ("path", "body", "field", "words"),
    [
        ("/url/limit", b'{"depthLimit": "ten", "urlLengthLimit": 99}', "depthLimit", 'an integer, not "ten"'),
        ("/url/limit", b'{"depthLimit": 1e400, "urlLengthLimit": 99}', "depthLimit", "not Infinity"),
        ("/url/limit", b'{"depthLimit": -7, "urlLengthLimit": 99}', "depthLimit", "at least 0, not -7"),
        ("/url/limit", b'{"depthLimit": 1, "urlLengthLimit": 70000}', "urlLengthLimit", "at most 65536, not 70000"),
        ("/url/limit", b'{"depthLimit": 1, "urlLengthLimit": 99, "deep": 1}', "deep", "deep: unknown field"),
        ("/url/limit", b"[]", None, "body: must be an object, not a list of 0"),
        ("/seed/urls", b'{"urls": [17]}', "urls.0", "must be a string, not 17"),
        ("/seed/urls", b'{"urls": 17}', "urls", "must be a list or a string, not 17"),
        ("/seed/urls", b'{"urls": " , "}', "urls", 'no URL in " , "'),
        ("/seed/urls", b'{"urls": "[]"}', "urls", 'no URL in "[]"'),
        ("/seed/urls", b'{"urls": "[\\"http://a.test/\\", 3]"}', "urls", "is not a JSON list of strings"),
        ("/seed/urls", b'{"urls": "[\\"http://a.test/\\\\u0007\\"]"}', "urls.0", "control characters"),
        ("/seed/urls", b'{"urls": ["http://a.test/\\u0007"]}', "urls.0", "http://a.test/\\u0007"),
        ("/crawl", b'{"action": "halt"}', "action", 'not "halt"'),
        (
            f"/hosts/{HOST}",
            b'{"action": "delay", "seconds": 0.001}',
            "seconds",
            "0.001 is less than the configured minimum of 0.02",
        ),
        (f"/hosts/{HOST}", b'{"action": "delay"}', "seconds", "seconds: missing"),
        (f"/hosts/{HOST}", b'{"action": "pause", "seconds": 5}', "seconds", "not with pause"),
        (
            "/dead",
            b'{"action": "drop", "host": "a.test", "urls": ["http://b.test/"]}',
            "urls",
            "cannot be combined with host",
        ),
    ],
)
def test_an_invalid_body_is_rejected_with_the_field_and_its_value(
    service: Service, path: str, body: bytes, field: str | None, words: str
) -> None:
    before = service.get("/url/limit").json, service.get(f"/hosts/{HOST}").json["paused"]

    response = service.post(path, body)

    assert (response.status, response.json["field"]) == (422, field)
    assert words in response.json["error"]
    assert (service.get("/url/limit").json, service.get(f"/hosts/{HOST}").json["paused"]) == before


@pytest.mark.service
@pytest.mark.parametrize(
    ("path", "status", "field", "words"),
    [
        ("/pages?limt=1", 422, "limt", 'unknown parameter "limt" of /pages; known parameters are after, host'),
        ("/pages?limit=1&limit=2", 422, "limit", "given more than once"),
        ("/pages?limit=x", 422, "limit", 'an integer, not "x"'),
        ("/hosts?limit=5000", 422, "limit", 'at most 1000, not "5000"'),
        ("/hosts?sort=size", 422, "sort", 'not "size"'),
        ("/explain", 422, "url", "url: missing"),
        ("/hosts/nowhere.test", 404, "host", "unknown host nowhere.test"),
        ("/nothing", 404, None, '"/nothing" does not exist'),
        ("/status/", 404, None, '"/status/" does not exist'),
        ("/seed/urls", 405, None, 'GET is not allowed for "/seed/urls"; use POST'),
    ],
)
def test_an_invalid_query_is_rejected_with_the_reason(
    service: Service, path: str, status: int, field: str | None, words: str
) -> None:
    response = service.get(path)

    assert (response.status, response.json["field"]) == (status, field)
    assert words in response.json["error"]


@pytest.mark.service
def test_access_control_gives_the_reason_of_a_refusal(service: Service) -> None:
    body = {"urls": ["http://a.test/"]}

    assert '"evil.test"' in service.get("/status", Host="evil.test").json["error"]
    assert '"http://evil.test"' in service.get("/status", Origin="http://evil.test").json["error"]
    assert '"text/plain"' in service.post("/seed/urls", body, Content_Type="text/plain").json["error"]


@pytest.mark.service
@pytest.mark.parametrize("path", ["/", "/status", "/metrics", "/hosts", "/pages", "/url/limit", "/readyz", "/healthz"])
def test_head_is_answered_as_get_without_the_body(service: Service, path: str) -> None:
    full, head = service.get(path), service.ask("HEAD", path)

    assert (head.status, head.body) == (200, b"")
    assert head.headers["content-type"] == full.headers["content-type"]
    assert int(head.headers["content-length"]) > 0


@pytest.mark.service
def test_head_of_a_stream_is_answered_and_leaves_no_client_behind(service: Service) -> None:
    for _ in range(30):  # more than may watch
        connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=60)
        connection.request("HEAD", "/events")
        answer = connection.getresponse()
        assert answer.status == 200 and answer.getheader("content-type", "").startswith("text/event-stream")
        connection.close()

    assert service.ask("HEAD", "/nothing").status == 404
    assert service.ask("HEAD", "/seed/urls").status == 405


@pytest.mark.service
def test_a_stream_takes_lines_as_they_are_and_as_json_strings_and_refuses_what_is_no_text(service: Service) -> None:
    lines = [
        b"http://lines.test/plain",
        b'"http://lines.test/\\u00e9"',
        '  "http://lines.test/\u00e9"\r'.encode(),
        b'"http://lines.test/\\r\\nX-Evil: 1"',
        b"http://lines.test/a\x01b",
        b"http://lines.test/\xff",
    ]
    response = service.post("/seed/urls", b"\n".join(lines), Content_Type="application/x-ndjson").json

    assert (response["accepted"], response["known"], response["refused"]) == (2, 1, 3)
    assert {each["reason"] for each in response["results"]} == {"bad_url"}
    assert "http://lines.test/?" in {each["given"] for each in response["results"]}
    assert {*service.pages("&host=lines.test")} == {"http://lines.test/plain", "http://lines.test/%C3%A9"}


@pytest.mark.service
def test_a_line_without_end_is_refused_by_its_number(service: Service) -> None:
    body = b"http://lines.test/1\nhttp://lines.test/2\n" + b"x" * 200_000

    response = service.post("/seed/urls", body, Content_Type="application/x-ndjson")

    assert (response.status, response.json["field"]) == (422, "line 3")


@pytest.mark.service
def test_a_client_that_reconnects_with_the_last_id_receives_what_it_missed(tmp_path: Path) -> None:
    with SmallServer({"/": page("missed")}) as site, Service(tmp_path / "crawl") as service:
        place = next(service.events())[1]
        assert service.post("/seed/urls", {"urls": [site.base + "/"]}).json["accepted"] == 1
        wait_until(lambda: service.get("/status").json["pages"] == 1, "the visit")

        back, new, strange = (_first_second(service, last) for last in (place, None, "1-0"))

    number, data = back["visits"]
    assert [visit["url"] for visit in json.loads(data)] == [site.base + "/"]
    assert number != place and number.split("-")[0] == place.split("-")[0]
    assert "visits" not in new and "visits" not in strange


def _first_second(service: Service, last: str | None) -> dict[str, tuple[str, bytes]]:
    """The first events of a new client: name -> id and data."""
    found: dict[str, tuple[str, bytes]] = {}
    for name, number, data in service.events(last):
        if name in found:
            break  # the next second begins
        found[name] = number, data
    return found


def test_a_name_that_cannot_be_is_no_place_to_listen() -> None:
    with pytest.raises(CannotListen, match=r"not\.\.a\.\.name"):
        listen("not..a..name", 0)


def test_a_long_value_is_truncated() -> None:
    assert quote("x" * 10_000) == '"' + "x" * 59 + "…"
    assert quote(["a", "b"]) == "a list of 2"
    assert quote("line\nend") == '"line\\nend"'


def test_a_string_of_seeds_has_commas_with_and_without_spaces_or_is_a_json_list(service: Service) -> None:
    for text, urls in (
        ("ftp://a/, ftp://b/,c.test:99999", ["ftp://a/", "ftp://b/", "c.test:99999"]),
        ('[\n "ftp://a/",\n "ftp://b/,c.test"\n]', ["ftp://a/", "ftp://b/,c.test"]),
        ("[::1]:99999/", ["[::1]:99999/"]),
    ):
        results = service.post("/seed/urls", {"urls": text}).json["results"]

        assert [(each["given"], each["status"]) for each in results] == [(url, "refused") for url in urls]
