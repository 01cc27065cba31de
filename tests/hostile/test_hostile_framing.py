"""HTTP framing, HF-01 to HF-27: what a server may write, byte by byte, and what must become of it."""

import asyncio
from pathlib import Path

import pytest

from gossamer.backends.warc.reader import read_record
from gossamer.clock import VirtualClock
from gossamer.fetch.http.body import payload
from gossamer.fetch.http.curl import CurlFetcher
from gossamer.fetch.ports import FetchLimits
from gossamer.model.outcome import Failed, Failure, FetchOutcome, Response, Truncation
from tests.fetch.http.scripted_server import HEAD, Script, Talk, always, answered, failed, hasty
from tests.hostile.scripted import GOOD_PAGE, drive, fetched, page, site
from tests.hostile.small_crawl import SmallCrawl
from tests.hostile.survival import MIB
from tests.integration.crawl_process import Json

KIB = 1024
OK = b"HTTP/1.1 200 OK\r\n"
LENGTH = b"Content-Length: %d\r\n\r\n" % len(GOOD_PAGE)
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"


def once(answer: bytes) -> Script:
    """Answer one request, then close."""
    return always(answer, then_close=True)


def stored(answer: bytes, *, then_close: bool = False) -> Response:
    return fetched(always(answer, then_close=then_close)).response


def crawled(folder: Path, script: Script) -> tuple[list[Json], list[str]]:
    """A whole crawl of one scripted host: its pages, and the paths asked for."""

    async def with_rules(talk: Talk) -> None:
        while True:
            head = await talk.request()
            if head.startswith(b"GET /robots.txt "):
                await talk.say(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
                continue
            await script(talk)
            return

    crawl = SmallCrawl(folder)
    with site(with_rules) as server:
        crawl.run(f"http://127.0.0.1:{server.port}/")
        paths = [head.split(b" ")[1].decode() for _, head in server.heard]
    return crawl.pages(), [path for path in paths if path != "/robots.txt"]


def says(answer: bytes) -> Script:
    """Answer the request that was read already."""

    async def script(talk: Talk) -> None:
        await talk.say(answer)

    return script


# --- status line and header lines -----------------------------------------------------------------


def test_hf_01_a_status_line_that_is_none_is_refused_and_its_connection_not_used_again() -> None:
    story = fetched(once(b"HELLO WORLD\r\n\r\n"), times=2)

    assert [outcome.failure for outcome in story.outcomes if isinstance(outcome, Failed)] == [
        Failure.BAD_STATUS_LINE,
        Failure.BAD_STATUS_LINE,
    ]
    assert story.connections == 2


@pytest.mark.service
def test_hf_01_it_is_tried_three_times_and_then_a_dead_letter(tmp_path: Path) -> None:
    pages, paths = crawled(tmp_path, says(b"HELLO WORLD\r\n\r\n"))

    assert paths == ["/"] * 3
    assert [(each["state"], each["reason"]) for each in pages] == [("dead", "bad_status_line")]


def test_hf_02_a_status_line_without_a_reason_will_do() -> None:
    response = stored(b"HTTP/1.1 200\r\nContent-Type: text/html\r\n" + LENGTH + GOOD_PAGE)

    assert (response.status, response.wire_body) == (200, GOOD_PAGE)


@pytest.mark.parametrize("place", ["first", "last"])
def test_hf_03_a_line_without_a_colon_is_dropped_at_the_next_try(place: str) -> None:
    good, bad = b"Content-Type: text/html\r\nContent-Length: %d\r\n" % len(GOOD_PAGE), b"X-Broken\r\n"
    head = OK + (bad + good if place == "first" else good + bad) + b"\r\n"

    story = fetched(always(head + GOOD_PAGE), times=3, limits=FetchLimits())

    first = story.outcomes[0]
    assert isinstance(first, Failed) and first.failure is Failure.BAD_HEADER  # worth another try
    for outcome in story.outcomes[1:]:
        assert isinstance(outcome, Response)
        assert (outcome.head, outcome.wire_body, outcome.dropped_fields) == (head, GOOD_PAGE, 1)
        assert outcome.headers["content-type"] == "text/html"


@pytest.mark.service
def test_hf_03_the_page_is_stored(tmp_path: Path) -> None:
    head = OK + b"X-Broken\r\nContent-Type: text/html\r\n"

    pages, paths = crawled(tmp_path, says(head + LENGTH + GOOD_PAGE))

    assert paths == ["/", "/", "/next"]  # the second page is read at its first try, and is a duplicate
    assert sorted(str(each["state"]) for each in pages) == ["duplicate", "stored"]


def test_hf_04_names_that_are_no_names_are_dropped_and_a_space_before_the_colon_is_forgiven() -> None:
    response = stored(OK + "“Server”: x\r\nContent-Type : text/html\r\n".encode() + LENGTH + GOOD_PAGE)

    assert response.wire_body == GOOD_PAGE
    assert response.headers == {"content-type": "text/html", "content-length": str(len(GOOD_PAGE))}
    assert response.dropped_fields == 1


def test_hf_05_bare_line_feeds_and_folded_lines_will_do() -> None:
    lines = b"HTTP/1.1 200 OK\nX-Folded: a\n  b\nContent-Length: %d\n\n" % len(GOOD_PAGE)

    response = stored(lines + GOOD_PAGE)

    assert response.headers["x-folded"] == "a b"
    assert response.wire_body == GOOD_PAGE


# --- lengths ------------------------------------------------------------------------------------------


def test_hf_06_the_same_length_twice_is_one_length() -> None:
    assert stored(HEAD + b"Content-Length: 120\r\n" * 2 + b"\r\n" + b"x" * 120).wire_body == b"x" * 120


def test_hf_07_two_lengths_that_differ_are_refused() -> None:
    story = fetched(always(HEAD + b"Content-Length: 10\r\nContent-Length: 120\r\n\r\n" + b"x" * 120), times=2)

    assert story.failed.failure is Failure.CONFLICTING_LENGTH
    assert story.connections == 2


def test_hf_08_chunks_win_over_a_length_and_stray_bytes_are_nobodys_answer() -> None:
    both = HEAD + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n"
    body = b"%x\r\n%s\r\n0\r\n\r\n" % (len(GOOD_PAGE), GOOD_PAGE)
    story = fetched(always(both + body + b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil" + b"S" * 160), times=2)

    for outcome in story.outcomes:
        assert isinstance(outcome, Response)
        assert payload(outcome).body == GOOD_PAGE
    assert story.connections == 2


def test_hf_09_a_body_that_breaks_off_is_kept_as_truncated_for_the_caller_to_try_again() -> None:
    response = stored(HEAD + b"Content-Length: 10000\r\n\r\n" + b"x" * 4000, then_close=True)

    assert (response.truncated, len(response.wire_body)) == (Truncation.DISCONNECT, 4000)


@pytest.mark.service
@pytest.mark.parametrize(
    "answer",
    [HEAD + b"Content-Length: 10000\r\n\r\n" + b"x" * 4000, CHUNKED + b"100\r\nhello", CHUNKED + b"5\r\nhello\r\n"],
    ids=["HF-09", "HF-13 in a chunk", "HF-13 between chunks"],
)
def test_hf_09_and_13_what_breaks_off_is_tried_three_times_and_then_kept_as_it_is(
    tmp_path: Path, answer: bytes
) -> None:
    pages, paths = crawled(tmp_path, says(answer))

    assert paths == ["/"] * 3
    assert [each["state"] for each in pages] == ["stored"]
    place = pages[0]["warc"]
    assert isinstance(place, dict)
    record = read_record(tmp_path / "crawl" / "warc" / place["file"], place["offset"], place["length"])
    assert record.header("WARC-Truncated") == "disconnect"


@pytest.mark.service
def test_hf_09_what_is_whole_at_the_second_try_is_kept_whole(tmp_path: Path) -> None:
    asked: list[int] = []

    async def script(talk: Talk) -> None:
        asked.append(1)
        await talk.say(HEAD + b"Content-Length: 5\r\n\r\n" + (b"hel" if len(asked) == 1 else b"hello"))

    pages, paths = crawled(tmp_path, script)

    assert paths == ["/"] * 2
    assert [(each["state"], each["size"]) for each in pages] == [("stored", 5)]


def test_hf_10_bytes_past_the_length_are_dropped_with_their_connection() -> None:
    story = fetched(always(HEAD + b"Content-Length: 100\r\n\r\n" + b"x" * 100 + b"y" * 4900), times=2)

    assert story.response.wire_body == b"x" * 100
    assert story.response.truncated is None
    assert story.connections == 2


def test_hf_11_a_declared_length_reserves_nothing_and_silence_ends_it() -> None:
    async def script(talk: Talk) -> None:
        await talk.request()
        await talk.say(HEAD + b"Content-Length: 999999999999\r\n\r\n" + b"x" * 1024)
        await talk.gone()

    story = fetched(script, limits=hasty(idle=0.4), max_growth=16 * MIB)

    assert story.failed.failure is Failure.READ_TIMEOUT


# --- chunks -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [b"ZZ", b"-5", b"0x10", b"F" * 17, b"", b"5 5"])
def test_hf_12_a_chunk_size_that_is_none_is_refused(size: bytes) -> None:
    story = fetched(always(CHUNKED + size + b"\r\nhello\r\n0\r\n\r\n"), times=2)

    assert story.failed.failure is Failure.BAD_CHUNK
    assert story.connections == 2


@pytest.mark.parametrize("body", [b"100\r\nhello", b"5\r\nhello\r\n"], ids=["in a chunk", "between chunks"])
def test_hf_13_chunks_that_break_off_are_kept_as_truncated_for_the_caller_to_try_again(body: bytes) -> None:
    response = stored(CHUNKED + body, then_close=True)

    assert response.truncated is Truncation.DISCONNECT
    assert payload(response).body == b"hello"


@pytest.mark.parametrize(
    "body",
    [b"5;" + b"x" * MIB + b"\r\nhello\r\n0\r\n\r\n", b"0\r\n" + b"X: y\r\n" * 10_000 + b"\r\n"],
    ids=["extension", "trailers"],
)
def test_hf_14_endless_extensions_and_trailers_are_refused_in_little_memory(body: bytes) -> None:
    story = fetched(always(CHUNKED + body), max_growth=4 * MIB)

    assert story.failed.failure is Failure.HEADER_TOO_LARGE


# --- sizes and times of heads -------------------------------------------------------------------------


def counted(data: bytes, sent: list[int]) -> Script:
    """Say it in small pieces, each when the client has read the last, and count what went out."""

    async def script(talk: Talk) -> None:
        await talk.request()
        await talk.say(OK)
        for start in range(0, len(data), 4096):
            sent.append(len(data[start : start + 4096]))
            await talk.say_and_wait(data[start : start + 4096])

    return script


@pytest.mark.parametrize(
    ("lines", "limit"),
    [
        (b"".join(b"X-%d: v\r\n" % n for n in range(100_000)), 64 * KIB),
        (b"X: " + b"v" * (10 * MIB) + b"\r\n", 16 * KIB),
        (b"".join(b"X-%d: %s\r\n" % (n, b"v" * 15_000) for n in range(100)), 64 * KIB),
    ],
    ids=["many", "long", "many long"],
)
def test_hf_15_a_head_over_its_limits_is_refused_soon_after(lines: bytes, limit: int) -> None:
    sent: list[int] = []

    story = fetched(counted(lines, sent), limits=FetchLimits())

    assert story.failed.failure is Failure.HEADER_TOO_LARGE
    assert sum(sent) <= limit + 128 * KIB


def test_hf_15_a_status_line_over_its_limit_is_refused() -> None:
    story = fetched(always(b"HTTP/1.1 200 " + b"O" * 9000 + b"\r\n" + LENGTH + GOOD_PAGE))

    assert story.failed.failure is Failure.HEADER_TOO_LARGE


@pytest.mark.service
def test_hf_15_it_is_tried_once(tmp_path: Path) -> None:
    pages, paths = crawled(tmp_path, says(OK + b"".join(b"X-%d: v\r\n" % n for n in range(10_000)) + b"\r\n"))

    assert paths == ["/"]
    assert [(each["state"], each["reason"]) for each in pages] == [("dead", "header_too_large")]


def test_hf_16_a_head_that_drips_meets_its_deadline() -> None:
    async def script(talk: Talk) -> None:
        await talk.request()
        await talk.say(OK)
        for byte in b"X-Slow: slow\r\n" * 100:
            await talk.say(bytes((byte,)))
            await asyncio.sleep(0.02)

    story = fetched(script, limits=hasty(head=0.4))

    assert story.failed.failure is Failure.READ_TIMEOUT


# --- unusual answers ----------------------------------------------------------------------------------


def test_hf_17_informational_answers_are_skipped() -> None:
    early = b"HTTP/1.1 100 Continue\r\n\r\n" * 3 + b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"

    response = stored(early + page())

    assert (response.status, response.wire_body) == (200, GOOD_PAGE)
    assert "link" not in response.headers


def test_hf_18_no_content_has_none_whatever_follows() -> None:
    story = fetched(always(b"HTTP/1.1 204 No Content\r\nContent-Length: 50\r\n\r\n" + b"x" * 50), times=2)

    assert (story.response.status, story.response.wire_body, story.response.truncated) == (204, b"", None)
    assert story.connections == 2


def test_hf_18_not_modified_without_a_condition_is_an_error() -> None:
    story = fetched(always(b"HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\nhello"), times=2)

    assert story.failed.failure is Failure.PROTOCOL_ERROR
    assert story.connections == 2


@pytest.mark.service
def test_hf_18_not_modified_without_a_condition_is_tried_twice_and_no_content_is_stored_as_nothing(
    tmp_path: Path,
) -> None:
    pages, paths = crawled(tmp_path, says(b"HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\nhello"))

    assert paths == ["/"] * 2
    assert [(each["state"], each["reason"]) for each in pages] == [("dead", "protocol_error")]

    (tmp_path / "second").mkdir()
    pages, paths = crawled(tmp_path / "second", says(b"HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\nhello"))

    assert paths == ["/"]
    assert [(each["state"], each["size"]) for each in pages] == [("stored", 0)]


@pytest.mark.parametrize("answer", [b"<html><a href='/x'>x</a></html>", b"HTTP/2 200\r\n\r\nx", b"ICY 200 OK\r\n\r\nx"])
def test_hf_19_an_answer_without_a_status_line_is_refused(answer: bytes) -> None:
    assert fetched(once(answer)).failed.failure is Failure.BAD_STATUS_LINE


@pytest.mark.parametrize("rst", [False, True], ids=["FIN", "RST"])
def test_hf_20_a_fresh_connection_that_ends_before_any_byte_is_lost_and_counts(rst: bool) -> None:
    async def script(talk: Talk) -> None:
        await talk.request()
        if rst:
            talk.reset()

    story = fetched(script)

    assert story.failed.failure is Failure.CONNECTION_LOST
    assert (story.connections, len(story.heard)) == (1, 1)


@pytest.mark.parametrize("rst", [False, True], ids=["FIN", "RST"])
def test_hf_20_a_reused_connection_that_ends_before_any_byte_is_replaced_once_in_silence(rst: bool) -> None:
    async def script(talk: Talk) -> None:
        await talk.request()
        await talk.say(page())
        if talk.number == 0:
            await talk.request()
            if rst:
                talk.reset()
            return
        await talk.gone()

    story = fetched(script, times=2)

    assert story.response.wire_body == GOOD_PAGE
    assert (story.connections, len(story.heard)) == (2, 3)


def test_hf_20_the_silent_repeat_is_one_only() -> None:
    async def script(talk: Talk) -> None:
        await talk.request()
        if talk.number == 0:
            await talk.say(page())
            await talk.request()  # the second request is heard, and never answered on any connection

    story = fetched(script, times=2)

    assert story.failed.failure is Failure.CONNECTION_LOST
    assert (story.connections, len(story.heard)) == (2, 3)


@pytest.mark.parametrize(("count", "size"), [(200, 4096), (10, 4096)], ids=["over the limit", "within it"])
def test_hf_21_cookies_are_never_sent_back(count: int, size: int) -> None:
    cookies = [b"Set-Cookie: c%d=%s" % (n, b"v" * (size - 20)) for n in range(count)]

    story = fetched(always(page(GOOD_PAGE, *cookies)), times=2)

    if count == 10:
        assert story.response.wire_body == GOOD_PAGE
    else:
        assert story.failed.failure is Failure.HEADER_TOO_LARGE
    assert all(b"ookie" not in head and len(head) <= 8 * KIB for _, head in story.heard)


def test_hf_22_a_body_without_length_is_complete_at_its_end() -> None:
    response = stored(b"HTTP/1.0 200 OK\r\n\r\n" + GOOD_PAGE, then_close=True)

    assert (response.wire_body, response.truncated, response.protocol) == (GOOD_PAGE, None, "http/1.0")


def test_hf_23_an_empty_body_is_complete_at_once() -> None:
    # Deadlines far longer than any patience: only an answer taken as complete comes to an end here.
    story = fetched(always(HEAD + b"Content-Length: 0\r\n\r\n"), times=2, limits=FetchLimits())

    assert (story.response.wire_body, story.response.truncated) == (b"", None)
    assert (story.connections, len(story.heard)) == (1, 2)


# --- the second reader, for what libcurl refuses ------------------------------------------------------

ODD = b"HTTP/1.1 200 OK\r\nX-Broken\r\n"


@pytest.mark.parametrize(
    ("rest", "expected"),
    [
        (b"Content-Length: 5\r\n\r\nhello", b"hello"),
        (b"Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello stray", b"hello"),
        (b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", b"hello"),
        (b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\nstray", b"hello"),
        (b"X-Nul: a\0b\r\nContent-Length: 0\r\n\r\n", b""),
        (b"X-Folded: a\r\n b\r\nContent-Length: 5\r\n\r\nhello", b"hello"),
        (b"Content-Length:\r\n \t\r\n 5 \n\r\nhello", b"hello"),
        (b"\r\nhello", b"hello"),
    ],
)
def test_the_second_reader_reads_every_framing(rest: bytes, expected: bytes) -> None:
    story = fetched(once(ODD + rest), times=2)

    assert payload(story.response).body == expected
    assert story.response.truncated is None
    assert b"\r\nConnection: close\r\n" in story.heard[1][1]
    assert story.response.request_head == story.heard[1][1]


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (ODD + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello", Failure.CONFLICTING_LENGTH),
        (ODD + b"Content-Length: five\r\n\r\nhello", Failure.BAD_HEADER),
        (ODD + b"Content-Length: -5\r\n\r\nhello", Failure.BAD_HEADER),
        (ODD + b"Transfer-Encoding: chunked\r\n\r\nZZ\r\n", Failure.BAD_CHUNK),
        (ODD + b"X: " + b"v" * 20_000 + b"\r\n\r\n", Failure.HEADER_TOO_LARGE),
        (ODD + b"X: " + b"v" * 20_000, Failure.HEADER_TOO_LARGE),
        (ODD + b"X: y\r\n" * 300 + b"\r\n", Failure.HEADER_TOO_LARGE),
        (b"HTTP/1.1 304 Not Modified\r\nX-Broken\r\n\r\n", Failure.PROTOCOL_ERROR),
        (b"HELLO\r\nX-Broken\r\n\r\n", Failure.BAD_STATUS_LINE),
        (ODD, Failure.CONNECTION_LOST),
        (b"", Failure.CONNECTION_LOST),
    ],
)
def test_the_second_reader_refuses_what_the_first_does(answer: bytes, expected: Failure) -> None:
    async def script(talk: Talk) -> None:
        await talk.request()
        await talk.say(ODD + b"\r\n" if talk.number == 0 else answer)

    assert fetched(script, times=2).failed.failure is expected


def test_the_second_reader_joins_folded_lines_with_one_space() -> None:
    story = fetched(once(ODD + b"X-Folded: a \r\n\tb\r\n \r\n  c\r\nContent-Length: 0\r\n\r\n"), times=2)

    assert story.response.headers["x-folded"] == "a b c"


@pytest.mark.parametrize("fold", [b" xx\n", b" \n", b"\t" + b"x" * 8000 + b"\r\n"], ids=["short", "blank", "long"])
def test_the_second_reader_ends_a_value_that_is_folded_for_ever(fold: bytes) -> None:
    sent: list[int] = []
    endless = counted(b"X-Broken\r\nX-Folded: a\r\n" + fold * (MIB // len(fold)), sent)

    async def script(talk: Talk) -> None:
        if talk.number > 0:
            await endless(talk)
            return
        await talk.request()
        await talk.say(ODD + b"\r\n")

    story = fetched(script, times=2, limits=FetchLimits())

    assert story.failed.failure is Failure.HEADER_TOO_LARGE
    assert sum(sent) <= (16 + 128) * KIB


@pytest.mark.parametrize(
    ("said", "expected"),
    [(ODD, Failure.READ_TIMEOUT), (ODD + b"Content-Length: 9\r\n\r\nhel", Failure.READ_TIMEOUT)],
)
def test_the_second_reader_keeps_the_deadlines(said: bytes, expected: Failure) -> None:
    clock = VirtualClock()

    async def script(talk: Talk) -> None:
        await talk.request()
        if talk.number == 0:
            await talk.say(ODD + b"\r\n")
            return
        await talk.say(said)
        await talk.outwait(clock)

    story = fetched(script, times=2, limits=hasty(head=0.4, idle=0.4), clock=clock)

    assert story.failed.failure is expected


def test_the_second_reader_cuts_at_the_cap_and_at_the_end_of_the_connection() -> None:
    long = fetched(
        once(ODD + b"Content-Length: 5000\r\n\r\n" + b"x" * 5000), times=2, limits=FetchLimits(body_bytes=99)
    )
    short = fetched(once(ODD + b"Content-Length: 5000\r\n\r\n" + b"x" * 50), times=2)

    assert (len(long.response.wire_body), long.response.truncated) == (99, Truncation.LENGTH)
    assert (len(short.response.wire_body), short.response.truncated) == (50, Truncation.DISCONNECT)


def test_the_second_reader_is_for_the_odd_host_alone() -> None:
    with site(once(ODD + b"\r\nhello")) as odd, site(always(page())) as usual:

        async def work(fetcher: CurlFetcher) -> list[Response]:
            await failed(fetcher, odd.request(host="odd.test"))
            await answered(fetcher, odd.request(host="odd.test"))
            return [await answered(fetcher, usual.request(host="usual.test")) for _ in range(2)]

        responses = drive(work)

    assert [response.new_connection for response in responses] == [True, False]


# --- what only looks like HTTP, and what can be read in two ways -----------------------------------


def both_readers(*answers: bytes) -> list[tuple[object, object]]:
    """What libcurl and the lenient reader make of each answer: a failure, or a status and whether it is truncated."""

    def result(outcome: FetchOutcome) -> object:
        return outcome.failure if isinstance(outcome, Failed) else (outcome.status, outcome.truncated)

    async def work(fetcher: CurlFetcher) -> list[tuple[object, object]]:
        results = []
        for number in range(len(answers)):
            request = server.request(f"/{number}", host=f"h{number}.test")
            strict = await fetcher.fetch(request)
            fetcher._odd[request.host, request.port] = None
            results.append((result(strict), result(await fetcher.fetch(request))))
        return results

    async def script(talk: Talk) -> None:
        head = await talk.request()
        await talk.say(answers[int(head.split(b" ")[1][1:])])

    with site(script) as server:
        return drive(work)


def test_hf_24_versions_and_status_codes_that_do_not_exist_are_refused() -> None:
    bad = (
        *(b"HTTP/3.0 200", b"HTTP/3 200", b"HTTP/2.0 200", b"HTTP/2 200", b"HTTP/1.2 200", b"HTTP/1.10 200"),
        *(b"HTTP/1.1 2000", b"HTTP/1.1 20", b"HTTP/1.1 000", b"HTTP/1.1 099", b"HTTP/1.1 -200", b"HTTP/1.1 200OK"),
    )
    good = (b"HTTP/1.0 200", b"HTTP/1.1 200", b"HTTP/1.1 999")
    tail = b" X\r\n" + LENGTH + GOOD_PAGE

    results = both_readers(*(line + tail for line in (*bad, *good)))

    refused = (Failure.BAD_STATUS_LINE, Failure.BAD_STATUS_LINE)
    assert dict(zip(bad, results, strict=False)) == dict.fromkeys(bad, refused)
    assert results[len(bad) :] == [((status, None), (status, None)) for status in (200, 200, 999)]


def test_hf_25_what_libcurl_refuses_as_ambiguous_is_not_accepted_by_the_second_reader() -> None:
    moved = b"HTTP/1.1 301 X\r\n"
    bad = (
        moved + b"Location: /a\r\nLocation: /b\r\n",
        OK + b"Location: /a\r\nLocation: /b\r\n",
        OK + b"X-Value: a\rContent-Length: 3\r\n",
        OK + b"X-Value: a\r\r\n",
        OK + b"X\rY: a\r\n",
        OK + b" continued\r\n",
        OK + b"Content-Length: 5\0\r\n",
        OK + b"Transfer-Encoding: chunked\0\r\n",
        moved + b"Location: /a\0b\r\n",
    )

    results = both_readers(*(head + LENGTH + GOOD_PAGE for head in bad))

    assert dict(zip(bad, results, strict=True)) == dict.fromkeys(bad, (Failure.BAD_HEADER, Failure.BAD_HEADER))


def test_hf_25_the_same_target_twice_is_one_target() -> None:
    for fields in (b"Location: /a\r\nLocation: /a\r\n", b"Location:\r\nLocation: /a\r\n"):
        response = stored(b"HTTP/1.1 301 X\r\n" + fields + b"Content-Length: 0\r\n\r\n")

        assert response.headers["location"] == "/a"


def test_hf_26_informational_answers_without_end_have_their_own_reason() -> None:
    early = b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"

    results = both_readers(early * 20 + page(), early * 21 + page(), b"HTTP/1.1 101 Switching Protocols\r\n\r\nhello")

    refused = (Failure.UNEXPECTED_1XX, Failure.UNEXPECTED_1XX)
    assert results == [((200, None), (200, None)), refused, refused]


def test_hf_27_a_part_that_was_not_requested_is_truncated_and_a_whole_range_is_not() -> None:
    size = len(GOOD_PAGE)
    parts = [b"bytes 0-%d/%d" % (size - 1, 2 * size), b"bytes 5-%d/%d" % (size + 4, size + 5), b"bytes 0-3/*", b"x"]
    ranges = [*(b"Content-Range: " + part + b"\r\n" for part in parts), b""]
    whole = b"Content-Range: bytes 0-%d/%d\r\n" % (size - 1, size)

    results = both_readers(*(b"HTTP/1.1 206 X\r\n" + field + LENGTH + GOOD_PAGE for field in (*ranges, whole)))

    cut = (206, Truncation.DISCONNECT)
    assert results == [(cut, cut)] * len(ranges) + [((206, None), (206, None))]
