"""A body that nobody wants ends with its head, or with the first bytes if the head does not say what it is."""

import pytest

from gossamer.extract.content_types import Kinds
from gossamer.fetch.ports import Request
from gossamer.model.outcome import Response
from tests.fetch.http.scripted_server import PAGE, Talk, answered, fetching, run, serving
from tests.fetch.http.tls_trust import authority

FILM = b"HTTP/1.1 200 OK\r\nContent-Type: video/mp4\r\nContent-Length: 1000000000\r\n\r\n"
CHUNKED = b"HTTP/1.1 200 OK\r\nContent-Type: video/mp4\r\nTransfer-Encoding: chunked\r\n\r\n"
EMPTY = b"HTTP/1.1 200 OK\r\nContent-Type: video/mp4\r\nContent-Length: 0\r\n\r\n"
UNDECLARED = b"HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n"
UNDECLARED_CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
NO_FILMS = Kinds(["text/*"])


def asked(*requests: tuple[bytes, bool], secure: bool = False) -> tuple[list[Response], int]:
    """The responses to requests for what is answered with these heads (and whether films are wanted), and how many
    connections it took. A film goes on until the client has gone."""

    async def script(talk: Talk) -> None:
        while True:
            target = (await talk.request()).split(b" ")[1]
            head = requests[int(target[1:])][0]
            await talk.say(head)
            while head in (FILM, CHUNKED, UNDECLARED, UNDECLARED_CHUNKED):
                await talk.say(bytes(65536) if b"chunked" not in head else b"10000\r\n" + bytes(65536) + b"\r\n")

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
    return request if wanted else request._replace(wants=NO_FILMS)


@pytest.mark.parametrize("secure", [False, True])
@pytest.mark.parametrize("head", [FILM, CHUNKED])
def test_an_answer_that_is_not_wanted_has_its_head_and_no_body(head: bytes, secure: bool) -> None:
    [film], _ = asked((head, False), secure=secure)

    assert (film.status, film.head, film.wire_body, film.truncated) == (200, head, b"", None)


@pytest.mark.parametrize("head", [UNDECLARED, UNDECLARED_CHUNKED])
def test_a_body_without_a_declared_type_is_read_until_its_first_bytes_decide(head: bytes) -> None:
    [film], _ = asked((head, False))

    assert (film.status, film.truncated) == (200, None)
    assert 0 < len(film.wire_body) <= 16 * 1024


def test_a_body_that_its_first_bytes_make_wanted_is_complete() -> None:
    text = b"word " * 10_000
    plain = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(text)
    chunked = b"".join(b"1\r\n%c\r\n" % octet for octet in text) + b"0\r\n\r\n"

    (found, in_chunks), connections = asked((plain + text, False), (UNDECLARED_CHUNKED + chunked, False))

    assert (found.wire_body, found.truncated) == (text, None)
    assert (in_chunks.wire_body, in_chunks.truncated) == (chunked, None)
    assert connections == 1


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
