"""A body that nobody wants ends with its head."""

from collections.abc import Mapping

import pytest

from gossamer.fetch.ports import Request
from gossamer.model.outcome import Response
from tests.fetch.http.scripted_server import PAGE, Talk, answered, fetching, run, serving
from tests.fetch.http.tls_trust import authority

FILM = b"HTTP/1.1 200 OK\r\nContent-Type: video/mp4\r\nContent-Length: 1000000000\r\n\r\n"
CHUNKED = b"HTTP/1.1 200 OK\r\nContent-Type: video/mp4\r\nTransfer-Encoding: chunked\r\n\r\n"
EMPTY = b"HTTP/1.1 200 OK\r\nContent-Type: video/mp4\r\nContent-Length: 0\r\n\r\n"


def no_films(status: int, headers: Mapping[str, str]) -> bool:
    return not (status == 200 and headers.get("content-type", "").startswith("video/"))


def asked(*requests: tuple[bytes, bool], secure: bool = False) -> tuple[list[Response], int]:
    """The responses to requests for what is answered with these heads (and whether films are wanted), and how many
    connections it took. A film goes on until the client has gone."""

    async def script(talk: Talk) -> None:
        while True:
            target = (await talk.request()).split(b" ")[1]
            head = requests[int(target[1:])][0]
            await talk.say(head)
            while head in (FILM, CHUNKED):
                await talk.say(bytes(65536) if head is FILM else b"10000\r\n" + bytes(65536) + b"\r\n")

    async def main() -> tuple[list[Response], int]:
        tls = authority().server_side("x.test") if secure else None
        async with serving(script, tls=tls) as server, fetching(ca_file=authority().ca_file) as fetcher:
            found = []
            for number, (_, wanted) in enumerate(requests):
                request = server.request(f"/{number}", scheme="https" if secure else "http")
                found.append(await answered(fetcher, _with(request, wanted)))
            return found, server.connections

    return run(main())


def _with(request: Request, wanted: bool) -> Request:
    return request if wanted else request._replace(wants=no_films)


@pytest.mark.parametrize("secure", [False, True])
@pytest.mark.parametrize("head", [FILM, CHUNKED])
def test_an_answer_that_is_not_wanted_has_its_head_and_no_body(head: bytes, secure: bool) -> None:
    [film], _ = asked((head, False), secure=secure)

    assert (film.status, film.head, film.wire_body, film.truncated) == (200, head, b"", None)


def test_the_question_is_asked_for_its_own_request_only() -> None:
    (film, page, empty, again), connections = asked((FILM, False), (PAGE, False), (EMPTY, True), (PAGE, False))

    assert film.wire_body == b""
    assert page.wire_body == again.wire_body == b"hello"
    assert empty.status == 200
    assert connections == 2  # only the one with the film was closed


def test_answers_that_are_no_documents_are_read_whatever_they_are() -> None:
    error = b"HTTP/1.1 404 No\r\nContent-Type: video/mp4\r\nContent-Length: 2\r\n\r\nno"

    [response], _ = asked((error, False))

    assert (response.status, response.wire_body) == (404, b"no")
