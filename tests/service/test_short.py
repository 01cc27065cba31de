"""The short way: the same answers as the long one, for those who were let in, and never at the event loop's cost."""

import re
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from time import sleep
from types import SimpleNamespace
from typing import Any

import pytest
from running import Constants
from serving import Service

from gossamer.backends.sqlite.database import open_for_writing
from gossamer.backends.sqlite.reports import PageFilter
from gossamer.clock import VirtualClock
from gossamer.errors import StoreFailed
from gossamer.model.units import Seconds
from gossamer.service.asking import Questions
from gossamer.service.metrics import Metrics
from gossamer.service.repeated import MOST_CALLERS, Answers
from gossamer.service.short import BURST, SHARE, ShortWay

FIELDS = b"Host: 127.0.0.1\r\n\r\n"


def asked(target: str, fields: bytes = FIELDS) -> bytes:
    return b"GET %b HTTP/1.1\r\n%b" % (target.encode("latin-1"), fields)


def short_to(path: bytes, query: bytes, fields: bytes) -> Callable[[], bytes] | None:
    return (lambda: b"short " + query) if path == b"/pages" else None


def answers_of(counts: Callable[[str], bool] = lambda path: True) -> Answers:
    return Answers(VirtualClock(), counts, short_to)


def test_only_whoever_was_let_in_by_the_same_path_and_fields_goes_the_short_way() -> None:
    answers = answers_of()
    answers.let_in(asked("/pages?limit=1"))

    assert answers.made(asked("/pages?limit=2")) == b"short limit=2"
    assert answers.made(asked("/pages?limit=2", b"Host: evil.test\r\n\r\n")) is None
    assert answers.made(asked("/explain?limit=2")) is None


@pytest.mark.parametrize(
    "target",
    ["/pages?a#b", "/pages?a b", "/pages?\x80", "/pages?\x01", "/pages/", "//pages", "/%70ages", "/pages?a\tb"],
)
def test_targets_that_are_not_plain_go_the_long_way(target: str) -> None:
    answers = answers_of()
    answers.let_in(asked("/pages"))

    assert answers.made(asked(target)) is None


def test_the_short_way_counts_like_any_other() -> None:
    answers = answers_of(lambda path: False)
    answers.let_in(asked("/pages"))

    assert answers.made(asked("/pages")) is None


def test_only_so_many_callers_are_remembered() -> None:
    answers = answers_of()

    for number in range(3 * MOST_CALLERS):
        answers.let_in(asked("/pages", b"X: %d\r\n\r\n" % number))

    assert len(answers._let_in) <= MOST_CALLERS


# --- what is asked ---------------------------------------------------------------------------------------


class Slow:
    """Questions that take as long as they are told."""

    def __init__(self, clock: VirtualClock) -> None:
        self._clock = clock
        self.takes = 0.0
        self.asked = 0

    def pages_at_once(self, wanted: PageFilter, after: int, most: int) -> Any:
        self.asked += 1
        self._clock.advance(Seconds(self.takes))
        return SimpleNamespace(items=[], next=None)


def way_over(questions: Any, clock: VirtualClock) -> Callable[[bytes, bytes], bytes | None]:
    crawl: Any = SimpleNamespace(config=None, latest=None)
    way = ShortWay(crawl, questions, Metrics(lambda: None), clock)

    def answer(path: bytes, query: bytes) -> bytes | None:
        make = way(path, query, FIELDS)
        return None if make is None else make()

    return answer


@pytest.mark.parametrize(
    "query",
    [
        *(b"limit=0", b"limit=101", b"limit=-1", b"limit=1&limit=2", b"after=", b"q=x", b"state=dead", b"host=x.test"),
        *(b"limit=1&after=1&limit=1", b"limit=1&", b"limit=%31", b"after=9999999999999999", b"limit=1&other=1"),
    ],
)
def test_windows_that_have_to_be_checked_or_searched_for_go_the_long_way(query: bytes) -> None:
    clock = VirtualClock()

    assert way_over(Slow(clock), clock)(b"/pages", query) is None


@pytest.mark.parametrize("query", [b"", b"url=", b"url=+", b"url=%20", b"url=a&url=b", b"url=a;b", b"uri=a"])
def test_addresses_that_have_to_be_refused_go_the_long_way(query: bytes) -> None:
    clock = VirtualClock()

    assert way_over(Slow(clock), clock)(b"/explain", query) is None


def test_after_a_slow_read_the_event_loop_has_peace_for_a_while() -> None:
    clock = VirtualClock()
    questions = Slow(clock)
    answer = way_over(questions, clock)

    questions.takes = 10 * BURST
    peace = 9 * BURST / SHARE - questions.takes  # until all but a burst is made good, from its beginning on
    assert answer(b"/pages", b"") is not None
    questions.takes = 0.0
    clock.advance(Seconds(0.9 * peace))
    assert answer(b"/pages", b"") is None
    clock.advance(Seconds(0.2 * peace))
    assert answer(b"/pages", b"") is not None
    assert questions.asked == 2


@pytest.mark.parametrize("takes", [0.0001, 0.002, 0.3])
def test_whatever_reads_take_the_crawl_keeps_most_of_the_event_loop(takes: float) -> None:
    clock = VirtualClock(0.0)
    questions = Slow(clock)
    questions.takes = takes
    answer = way_over(questions, clock)
    begun = clock.monotonic()

    for _ in range(20_000):
        clock.advance(Seconds(0.0002))  # what the loop does otherwise
        answer(b"/pages", b"")

    assert questions.asked * takes <= 1.001 * (SHARE * (clock.monotonic() - begun) + BURST + takes)
    assert questions.asked > 0


def test_a_store_that_cannot_be_read_is_told_the_long_way(tmp_path: Path) -> None:
    class Failing(Slow):
        def pages_at_once(self, wanted: PageFilter, after: int, most: int) -> Any:
            raise StoreFailed("it is gone")

    clock = VirtualClock()

    assert way_over(Failing(clock), clock)(b"/pages", b"") is None


def test_questions_at_once_take_the_connections_of_the_others(tmp_path: Path) -> None:
    open_for_writing(tmp_path / "crawl.db").close()
    questions = Questions(tmp_path, VirtualClock())

    windows = [questions.pages_at_once(PageFilter(), 0, 10) for _ in range(5)]

    assert [window.items for window in windows] == [[]] * 5
    assert len(questions._free) == 1
    questions.close()


# --- the whole service -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with Service(tmp_path_factory.mktemp("short") / "crawl") as running:
        urls = [f"http://127.0.0.1:8099/{number}?a=b%20c" for number in range(30)]
        running.post("/crawl", {"action": "pause"})
        assert running.post("/seed/urls", {"urls": urls}).json["accepted"] == 30
        yield running


class Caller:
    """One connection, over which the very bytes are sent."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=60)

    def told(self, request: bytes) -> tuple[bytes, bytes]:
        """Head and body."""
        self._socket.sendall(request)
        found = b""
        while b"\r\n\r\n" not in found:
            found += self._socket.recv(65536)
        head, _, body = found.partition(b"\r\n\r\n")
        length = re.search(rb"content-length: ([0-9]+)", head)
        assert length is not None
        while len(body) < int(length[1]):
            body += self._socket.recv(65536)
        return re.sub(rb"date: [^\r]*", b"date", head), body

    def close(self) -> None:
        self._socket.close()


@pytest.mark.service
@pytest.mark.parametrize(
    "target",
    [
        *("/healthz?x", "/pages", "/pages?limit=7", "/pages?after=3&limit=4", "/pages?limit=4&after=3"),
        *("/pages?after=29&limit=5", "/pages?after=99", "/pages?limit=101", "/pages?limit=0", "/pages?limit=1&limit=2"),
        *(
            "/explain?url=http%3A%2F%2F127.0.0.1%3A8099%2F1%3Fa%3Db%2520c",
            "/explain?url=http://127.0.0.1:8099/2?a=b%2520c",
        ),
        *("/explain?url=mailto:x", "/explain?url=%FF%C3%A4", "/explain?url=+h.test+", "/explain?url=", "/explain"),
    ],
)
def test_the_short_way_tells_what_the_long_way_tells(service: Service, target: str) -> None:
    caller = Caller(service.port)
    path = target.partition("?")[0]
    known = {"/pages": "/pages?q=nothing", "/explain": "/explain?url=x.test&y"}.get(path, path)
    # A header of its own makes a request that was never let in.
    long = caller.told(asked(target, b"X-Long: %b\r\n" % target.encode() + FIELDS))
    caller.told(asked(known))

    short = caller.told(asked(target))

    moment = re.compile(rb'"(age|wait)":[0-9.e-]+|"due_at":"[^"]*"|content-length: [0-9]+')
    assert [moment.sub(b"", part) for part in short] == [moment.sub(b"", part) for part in long]
    caller.close()


@pytest.mark.service
def test_figures_are_told_in_front_as_by_the_long_way_and_as_json_to_whoever_asks_for_that(service: Service) -> None:
    caller = Caller(service.port)
    length = re.compile(rb"content-length: [0-9]+")
    long_head, long_body = caller.told(asked("/metrics", b"X-Long: 1\r\n" + FIELDS))
    caller.told(asked("/metrics?0"))

    head, body = caller.told(asked("/metrics?1"))
    as_json = [caller.told(asked(f"/metrics?{turn}", b"Accept: application/JSON\r\n" + FIELDS))[0] for turn in (1, 2)]

    assert length.sub(b"", head) == length.sub(b"", long_head)
    names = re.compile(rb"^[^# ]+", re.MULTILINE)
    assert names.findall(body) == names.findall(long_body)
    assert all(b"content-type: application/json" in told for told in as_json)
    caller.close()


@pytest.mark.service
def test_a_connection_that_only_ever_goes_the_short_way_is_not_taken_for_one_that_brings_no_request(
    tmp_path: Path,
) -> None:
    constants = Constants({"gossamer.service.connections.PatientConnection.head_timeout": 0.5})
    with Service(tmp_path / "crawl", constants) as service:
        first, second = Caller(service.port), Caller(service.port)
        first.told(asked("/healthz"))
        bodies = set()
        for number in range(15):
            bodies.add(second.told(asked(f"/healthz?{number}"))[1])
            sleep(0.1)
        first.close()
        second.close()

    assert bodies == {b'{"status":"ok"}'}


@pytest.mark.service
def test_a_change_shows_in_the_next_answer(service: Service) -> None:
    caller = Caller(service.port)
    caller.told(asked("/status?0"))

    states = []
    for number, action in enumerate(("resume", "pause")):
        service.post("/crawl", {"action": action})
        states.append(b'"state":"paused"' in caller.told(asked(f"/status?{number}"))[1])

    assert states == [False, True]
    caller.close()
