"""A question asked again within a moment gets the same answer, and nobody gets an answer that is not for him."""

import asyncio
import http.client
import re
import socket
from collections.abc import Iterator
from typing import Any

import pytest
from serving import Service

from gossamer.clock import VirtualClock
from gossamer.model.units import Seconds
from gossamer.service.repeated import (
    FRESH,
    FRESH_LONGER,
    FRESH_LONGEST,
    LONGEST,
    MOST_BYTES,
    PATIENCE,
    Answers,
    Remembering,
)

ASKED = b"GET /status HTTP/1.1\r\nHost: x\r\n\r\n"


def everybody_may(_: str) -> bool:
    return True


@pytest.mark.parametrize(("path", "fresh"), [("/status", FRESH), ("/metrics", FRESH_LONGER)])
def test_an_answer_is_good_for_a_moment_and_not_longer(path: str, fresh: float) -> None:
    clock = VirtualClock()
    answers = Answers(clock, everybody_may)

    answers.keep(ASKED, path, b"answer", answers.changes)

    clock.advance(Seconds(0.9 * fresh))
    assert answers.repeated(ASKED) == b"answer"
    clock.advance(Seconds(0.2 * fresh))
    assert answers.repeated(ASKED) is None


def test_of_a_crowd_one_has_it_made_anew_and_the_others_get_the_old_one_meanwhile() -> None:
    clock = VirtualClock()
    answers = Answers(clock, everybody_may)
    answers.keep(ASKED, "/status", b"old", answers.changes)

    clock.advance(Seconds(1.1 * FRESH))
    assert [answers.repeated(ASKED) for _ in range(3)] == [None, b"old", b"old"]

    answers.keep(ASKED, "/status", b"new", answers.changes)
    assert answers.repeated(ASKED) == b"new"


def test_while_a_long_one_is_made_others_need_not_wait_but_now_and_then_another_one_tries() -> None:
    clock = VirtualClock()
    answers = Answers(clock, everybody_may)
    answers.keep(ASKED, "/hosts", b"old", answers.changes)

    clock.advance(Seconds(1.1 * FRESH_LONGER))
    assert [answers.repeated(ASKED) for _ in range(2)] == [None, b"old"]
    clock.advance(Seconds(0.9 * FRESH_LONGER))
    assert answers.repeated(ASKED) == b"old"
    clock.advance(Seconds(0.2 * FRESH_LONGER))
    assert [answers.repeated(ASKED) for _ in range(2)] == [None, b"old"]


def test_nobody_gets_the_old_one_for_ever() -> None:
    clock = VirtualClock()
    answers = Answers(clock, everybody_may)
    answers.keep(ASKED, "/status", b"old", answers.changes)

    clock.advance(Seconds((1.01 + PATIENCE) * FRESH))  # and it is never made anew

    assert [answers.repeated(ASKED) for _ in range(3)] == [None, None, None]


def test_only_the_very_same_request_gets_it() -> None:
    answers = Answers(VirtualClock(), everybody_may)
    answers.keep(ASKED.replace(b"\r\n\r\n", b"\r\nAuthorization: Bearer t\r\n\r\n"), "/status", b"answer", 0)

    assert answers.repeated(ASKED) is None


def test_nothing_outlasts_a_change_not_even_what_was_asked_before_it() -> None:
    answers = Answers(VirtualClock(), everybody_may)
    answers.keep(ASKED, "/status", b"before", answers.changes)
    begun = answers.changes

    answers.changed()
    answers.keep(ASKED, "/status", b"as it was before", begun)

    assert answers.repeated(ASKED) is None


def test_who_may_not_call_once_more_gets_nothing() -> None:
    answers = Answers(VirtualClock(), lambda path: path == "/healthz")
    answers.keep(ASKED, "/status", b"answer", 0)

    assert answers.repeated(ASKED) is None


def test_what_is_kept_is_bounded() -> None:
    answers = Answers(VirtualClock(), everybody_may)

    answers.keep(ASKED, "/status", b"x" * LONGEST, 0)
    assert len(answers) == 0
    for number in range(3 * MOST_BYTES // (LONGEST // 2)):
        answers.keep(b"%d" % number, "/status", b"x" * (LONGEST // 2), 0)
        answers.keep(b"%d" % number, "/status", b"x" * (LONGEST // 2), 0)
        assert len(answers) * LONGEST // 2 <= MOST_BYTES


def asked_of(app: Any, *, method: str = "GET", headers: tuple[tuple[bytes, bytes], ...] = ()) -> None:
    scope = {"type": "http", "method": method, "path": "/status", "http_version": "1.1", "headers": headers}

    async def send(_: object) -> None:
        pass

    asyncio.run(app({**scope, "gossamer.asked": ASKED}, None, send))


def answering(status: int, *bodies: bytes) -> Any:
    async def app(scope: object, receive: object, send: Any) -> None:
        head = [(b"content-length", b"%d" % sum(map(len, bodies)))]
        await send({"type": "http.response.start", "status": status, "headers": head})
        for left, body in zip(range(len(bodies) - 1, -1, -1), bodies, strict=True):
            await send({"type": "http.response.body", "body": body, "more_body": left > 0})

    return app


def test_a_whole_good_answer_is_kept_with_its_head() -> None:
    answers = Answers(VirtualClock(), everybody_may)

    asked_of(Remembering(answering(200, b"abc"), answers))

    assert answers.repeated(ASKED) == b"content-length: 3\r\n\r\nabc"


@pytest.mark.parametrize(
    ("app", "headers"),
    [
        (answering(404, b"no"), ()),
        (answering(200, b"a", b"b"), ()),
        (answering(200, b"abc"), ((b"connection", b"close"),)),
        (answering(200, b"abc"), ((b"content-length", b"7"),)),
    ],
    ids=["an error", "a stream", "the last of its connection", "an answer to more than a head"],
)
def test_other_answers_are_not_kept(app: Any, headers: tuple[tuple[bytes, bytes], ...]) -> None:
    answers = Answers(VirtualClock(), everybody_may)

    asked_of(Remembering(app, answers), headers=headers)

    assert answers.repeated(ASKED) is None


def test_a_change_forgets_what_was_told() -> None:
    answers = Answers(VirtualClock(), everybody_may)
    asked_of(Remembering(answering(200, b"abc"), answers))

    asked_of(Remembering(answering(200, b"done"), answers), method="POST")

    assert answers.repeated(ASKED) is None


class Waiting:
    """An application that answers when it is told to, and counts its calls."""

    def __init__(self, *bodies: bytes, status: int = 200) -> None:
        self.go = asyncio.Event()
        self.calls = 0
        self._bodies = bodies
        self._status = status

    async def __call__(self, scope: Any, receive: object, send: Any) -> None:
        self.calls += 1
        if scope["method"] == "GET":
            await self.go.wait()
        await answering(self._status, *self._bodies)(scope, receive, send)


def ask(app: Any, told: list[Any], method: str = "GET") -> "asyncio.Task[None]":
    scope = {"type": "http", "method": method, "path": "/hosts", "http_version": "1.1", "headers": ()}

    async def send(message: Any) -> None:
        told.append(message.get("body"))

    return asyncio.ensure_future(app({**scope, "gossamer.asked": ASKED}, None, send))


def test_what_many_ask_at_once_is_made_once() -> None:
    async def crowd() -> tuple[int, list[Any]]:
        told: list[Any] = []
        app = Waiting(b"abc")
        remembering = Remembering(app, Answers(VirtualClock(), everybody_may))
        asking = [ask(remembering, told) for _ in range(5)]
        await asyncio.sleep(0)
        app.go.set()
        await asyncio.gather(*asking)
        return app.calls, told

    calls, told = asyncio.run(crowd())

    assert calls == 1
    assert sorted(told, key=str) == [None] * 5 + [b"abc"] * 5  # heads and bodies


@pytest.mark.parametrize("app", [Waiting(b"no", status=404), Waiting(b"a", b"b")], ids=["an error", "a stream"])
def test_nobody_waits_for_an_answer_that_is_not_for_all(app: Waiting) -> None:
    async def crowd() -> list[Any]:
        told: list[Any] = []
        app.go = asyncio.Event()
        remembering = Remembering(app, Answers(VirtualClock(), everybody_may))
        asking = [ask(remembering, told) for _ in range(3)]
        await asyncio.sleep(0)
        app.go.set()
        await asyncio.gather(*asking)
        return told

    assert asyncio.run(crowd()).count(None) == 3  # heads
    assert app.calls == 3


def test_a_question_that_is_given_up_does_not_take_the_others_with_it() -> None:
    async def crowd() -> list[Any]:
        told: list[Any] = []
        app = Waiting(b"abc")
        remembering = Remembering(app, Answers(VirtualClock(), everybody_may))
        first, second = ask(remembering, told), ask(remembering, told)
        await asyncio.sleep(0)
        first.cancel()
        await asyncio.sleep(0)
        app.go.set()
        await second
        return told

    assert asyncio.run(crowd()) == [None, b"abc"]


def test_whoever_asks_after_a_change_does_not_wait_for_what_was_asked_before_it() -> None:
    async def crowd() -> int:
        told: list[Any] = []
        app = Waiting(b"abc")
        remembering = Remembering(app, Answers(VirtualClock(), everybody_may))
        before = ask(remembering, told)
        await asyncio.sleep(0)
        await ask(remembering, told, "POST")
        after = ask(remembering, told)
        await asyncio.sleep(0)
        app.go.set()
        await asyncio.gather(before, after)
        return app.calls

    assert asyncio.run(crowd()) == 3


# --- the whole service -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with Service(tmp_path_factory.mktemp("repeated") / "crawl") as running:
        yield running


@pytest.mark.service
def test_one_connection_asks_many_times_and_is_always_answered_in_full(service: Service) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=60)
    heads, bodies = [], []
    for _ in range(50):
        connection.request("GET", "/healthz")
        answer = connection.getresponse()
        heads.append({name.lower() for name, _ in answer.getheaders()})
        bodies.append(answer.read())
    connection.close()

    assert set(bodies) == {b'{"status":"ok"}'}
    assert all({"date", "content-security-policy", "cache-control"} <= head for head in heads)


@pytest.mark.service
def test_whoever_changes_something_is_told_of_it_at_once(service: Service) -> None:
    for action, state in (("pause", "paused"), ("resume", "idle")) * 5:
        service.get("/crawl")
        service.post("/crawl", {"action": action})

        assert service.get("/crawl").json == {"state": state}


@pytest.mark.service
def test_requests_sent_one_after_the_other_are_answered_in_order(service: Service) -> None:
    head = b" HTTP/1.1\r\nHost: 127.0.0.1\r\n"
    lot = [b"GET /healthz" + head + b"\r\n", b"GET /nothing" + head + b"\r\n", b"GET /crawl" + head]
    with socket.create_connection(("127.0.0.1", service.port), timeout=60) as raw:
        for _ in range(3):
            raw.sendall(lot[0])
            told = b""
            while not told.endswith(b'{"status":"ok"}'):
                told += raw.recv(65536)
        raw.sendall(b"".join(lot) + b"Connection: close\r\n\r\n")
        told = b""
        while piece := raw.recv(65536):
            told += piece

    assert re.findall(rb"HTTP/1.1 ([0-9]+)", told) == [b"200", b"404", b"200"]


def test_while_making_answers_takes_much_of_the_time_they_are_good_for_longer_and_never_too_long() -> None:
    clock = VirtualClock()

    def dear(path: bytes, query: bytes, fields: bytes) -> Any:
        def make() -> bytes:
            clock.advance(Seconds(0.002))
            return query

        return make

    def one(number: int, path: bytes = b"/explain") -> bytes:
        return b"GET %b?%d HTTP/1.1\r\nHost: x\r\n\r\n" % (path, number)

    answers = Answers(clock, everybody_may, dear)
    for path in (b"/explain", b"/status"):
        answers.let_in(one(0, path))
    assert answers.made(one(0)) == b"0"
    clock.advance(Seconds(1.1 * FRESH_LONGER))
    assert answers.repeated(one(0)) is None  # a single one is never dear

    for number in range(2_000):  # four fifths of the time go into making them
        assert answers.made(one(number)) == b"%d" % number
        clock.advance(Seconds(0.0005))
    assert answers.made(one(1, b"/status")) == b"1"

    clock.advance(Seconds(0.5 * FRESH_LONGEST))
    assert answers.repeated(one(1_999)) == b"1999"
    assert answers.repeated(one(1, b"/status")) is None  # what tells of the moment does so
    answers.changed()
    assert answers.repeated(one(1_999)) is None
    assert answers.made(one(1_999)) == b"1999"
    clock.advance(Seconds(1.1 * FRESH_LONGEST))
    assert answers.repeated(one(1_999)) is None


def test_where_there_is_no_room_for_all_the_oldest_go_first() -> None:
    answers = Answers(VirtualClock(), everybody_may)
    most = MOST_BYTES // (LONGEST // 2 + 10)
    for number in range(most + 5):
        answers.keep(b"%010d" % number, "/pages", b"x" * (LONGEST // 2), 0)

    assert [answers.repeated(b"%010d" % number) is None for number in (0, 4, 5, most + 4)] == [True, True, False, False]
