import errno
import json
import random
import string
from pathlib import Path

import pytest

from gossamer.clock import VirtualClock
from gossamer.observe.log import MAX_LINE_BYTES, EventLog, format_event, without_secrets
from tests.integration.crawl_process import wait_until
from tests.table import table


def lines_of(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def a_log(path: Path, **options: int) -> EventLog:
    # The thread's own flushes stay out of the way: tests flush by hand.
    return EventLog(path, VirtualClock(), flush_every=3600.0, **options)


def test_an_event_is_one_json_line_with_its_time_and_name(tmp_path: Path) -> None:
    log = a_log(tmp_path / "crawl.log")

    log.event("fetch.failed", host="a.test", took_s=1.25, tries=2, final=False, detail=None)
    log.close()

    assert lines_of(tmp_path / "crawl.log") == [
        {
            "at": "2023-11-14T22:13:20.000Z",
            "event": "fetch.failed",
            "host": "a.test",
            "took_s": 1.25,
            "tries": 2,
            "final": False,
            "detail": None,
        }
    ]


def test_what_was_noted_is_written_without_further_events(tmp_path: Path) -> None:
    log = EventLog(tmp_path / "crawl.log", VirtualClock(), flush_every=0.001)
    log.event("a")

    path = tmp_path / "crawl.log"
    wait_until(lambda: path.exists() and path.read_bytes().endswith(b"\n"), "the line")

    written = lines_of(tmp_path / "crawl.log")
    log.close()
    assert [line["event"] for line in written] == ["a"]


def test_a_second_log_goes_on_where_the_first_ended(tmp_path: Path) -> None:
    for name in ("first", "second"):
        log = a_log(tmp_path / "crawl.log")
        log.event(name)
        log.close()

    assert [line["event"] for line in lines_of(tmp_path / "crawl.log")] == ["first", "second"]


def test_no_control_character_of_any_kind_reaches_the_file(tmp_path: Path) -> None:
    nasty = "".join(map(chr, [*range(0x20), *range(0x7F, 0xA1), 0x2028, 0x202E, 0xD800]))

    line = format_event(0.0, "x", {"text": nasty})

    assert set(line[:-1]) <= set(range(0x20, 0x7F))
    assert json.loads(line)["text"] == nasty


def test_long_lines_are_cut_to_a_kilobyte_and_say_so() -> None:
    line = format_event(0.0, "fetch.failed", {"host": "a.test", "url": "http://a.test/" + "x" * 5000, "tries": 3})

    record = json.loads(line)
    assert len(line) <= MAX_LINE_BYTES
    assert record["cut"] is True
    assert record["host"] == "a.test"
    assert record["tries"] == 3
    assert record["url"].startswith("http://a.test/xxx")


def test_any_event_makes_a_line_that_fits_and_can_be_read() -> None:
    chance = random.Random(7)
    alphabet = string.printable + "é\u2028\U0001f600\x00\x1b\ud800"
    for _ in range(300):
        fields = {
            "".join(chance.choices(string.ascii_letters, k=chance.randint(1, 200))): "".join(
                chance.choices(alphabet, k=chance.randint(0, 900))
            )
            for _ in range(chance.randint(0, 12))
        }

        line = format_event(0.0, "x" * chance.randint(1, 50), dict(fields))

        assert len(line) <= MAX_LINE_BYTES
        assert line.count(b"\n") == 1
        json.loads(line)


@table(
    "text",
    [
        "http://user:hunter2@a.test/x",
        "see //user:hunter2@a.test/x",
        "http://a@b:hunter2@c.test/",
        "login as user:hunter2@a.test failed",
        "http://a.test/?access_token=hunter2&x=1",
        "http://a.test/?x=1&TOKEN=hunter2#f",
        "http://a.test/p;jsessionid=hunter2?q",
        "Authorization: Bearer hunter2",
        "authorization=Basic hunter2, next",
        "Set-Cookie: hunter2",
        "http://" + "u" * 5000 + ":hunter2@a.test/",
        "http://user:hunter2" + "2" * 5000 + "@a.test/",
    ],
)
def test_secrets_do_not_reach_the_log(text: str) -> None:
    assert b"hunter2" not in format_event(0.0, "x", {"detail": text})


def test_fields_named_like_a_secret_are_hidden() -> None:
    assert json.loads(format_event(0.0, "x", {"authorization": "abc", "Set-Cookie": "d"}))["authorization"] == "***"


@pytest.mark.parametrize(
    "text",
    ["http://a.test:8080/x?y=1&z=2", "http://[::1]:80/", "read timed out after 20 s: 3 of 4 bytes", "a.test"],
)
def test_ordinary_text_is_left_alone(text: str) -> None:
    assert without_secrets(text) == text


def test_files_are_rotated_and_the_oldest_dropped(tmp_path: Path) -> None:
    log = a_log(tmp_path / "crawl.log", rotate_bytes=2000, keep=3)

    for number in range(200):
        log.event("tick", number=number)
        log.flush()
    log.close()

    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["crawl.log", "crawl.log.1", "crawl.log.2", "crawl.log.3"]
    assert all(path.stat().st_size < 2000 + MAX_LINE_BYTES for path in tmp_path.iterdir())
    newest_first = ["crawl.log", "crawl.log.1", "crawl.log.2", "crawl.log.3"]
    numbers = [line["number"] for name in reversed(newest_first) for line in lines_of(tmp_path / name)]
    assert numbers == list(range(200 - len(numbers), 200))


def test_one_large_flush_rotates_too(tmp_path: Path) -> None:
    log = a_log(tmp_path / "crawl.log", rotate_bytes=20_000, keep=2)

    for number in range(1000):
        log.event("tick", number=number)
    log.close()

    assert all(path.stat().st_size < 40_000 for path in tmp_path.iterdir())
    assert len(list(tmp_path.iterdir())) == 3


def test_events_lost_on_a_full_disk_are_counted_and_logged_when_writing_works_again(tmp_path: Path) -> None:
    class Full:
        def write(self, data: bytes) -> int:
            raise OSError(errno.ENOSPC, "No space left on device")

        def close(self) -> None: ...

    log = a_log(tmp_path / "crawl.log")
    log._file = Full()  # type: ignore[assignment]
    log.event("one")
    log.event("two")
    log.flush()

    assert log.lost == 2
    assert log.problem == "No space left on device"

    log.event("three")
    log.flush()
    log.event("four")
    log.close()
    written = lines_of(tmp_path / "crawl.log")
    assert [line["event"] for line in written] == ["log.lost", "three", "four"]
    assert written[0]["lines"] == 2


def test_a_log_that_cannot_be_opened_raises_nothing(tmp_path: Path) -> None:
    log = a_log(tmp_path / "no" / "such" / "crawl.log")

    log.event("x")
    log.close()

    assert log.lost == 1
    assert log.problem == "No such file or directory"


def test_what_waits_for_a_slow_disk_is_bounded(tmp_path: Path) -> None:
    log = a_log(tmp_path / "crawl.log")

    for _ in range(6000):
        log.event("x", text="y" * 900)

    assert log.lost > 0
    assert log._waiting_bytes <= 4 * 1024 * 1024
    log.close()
