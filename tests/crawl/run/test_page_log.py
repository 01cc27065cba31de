"""The page log has whole lines, and neither a full disk nor a reader that is slow or gone holds up the crawl."""

import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from gossamer.crawl.events import Outcome
from gossamer.crawl.run import page_log
from gossamer.crawl.run.page_log import PageLog
from gossamer.model.states import UrlState
from gossamer.model.units import Instant, Url

NEVER = 3600.0  # the thread's own flushes stay out of the way


def outcome(number: int = 1) -> Outcome:
    url = Url(f"http://h.test/{number}")
    return Outcome(url, UrlState.STORED, Instant(1_700_000_000.0), 2, 200, None, None, None, None, 12.34, 4321)


def lines_of(path: Path) -> list[list[str]]:
    return [line.split() for line in path.read_text().splitlines()]


def test_a_visit_is_a_line_with_time_priority_depth_size_status_and_url(tmp_path: Path) -> None:
    log = PageLog(str(tmp_path / "pages.log"), flush_every=NEVER)

    log.publish(outcome(1))
    log.publish(outcome(2)._replace(state=UrlState.QUEUED, status=None, reason="conn_refused", size=None))
    log.publish(outcome(3)._replace(state=UrlState.EXCLUDED, status=None, reason="robots_denied", size=None))
    log.publish(outcome(4)._replace(state=UrlState.EXCLUDED, reason="noindex"))
    log.publish(outcome(5)._replace(status=None, url=Url("ftp://h.test/\x1b[2J")))
    log.close()

    when = "2023-11-14T22:13:20Z"
    assert lines_of(tmp_path / "pages.log") == [
        [when, "12.3400", "2", "4321", "200", "http://h.test/1"],
        [when, "12.3400", "2", "-", "conn_refused", "http://h.test/2"],
        [when, "12.3400", "2", "4321", "200", "http://h.test/4"],
        [when, "12.3400", "2", "4321", "stored", "ftp://h.test/\\x1b[2J"],
    ]
    assert log.lost == 0


def test_a_log_goes_on_where_the_last_one_ended_on_a_line_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "pages.log"
    path.write_bytes(b"a line\ncut off by a cra")

    log = PageLog(str(path), flush_every=NEVER)
    log.publish(outcome())
    log.close()

    first, second, third = path.read_text().splitlines()
    assert (first, second) == ("a line", "cut off by a cra")
    assert third.endswith("http://h.test/1")


@contextmanager
def room_for(octets: int) -> Iterator[None]:
    """No file of this process may become longer."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (octets, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_full_disk_costs_lines_but_leaves_none_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "pages.log"
    log = PageLog(str(path), flush_every=NEVER)

    with room_for(10_010):
        for number in range(1000):
            log.publish(outcome(number))
        log.flush()
    log.publish(outcome(9999))
    log.close()

    lines = lines_of(path)
    assert all(len(line) == 6 for line in lines)
    assert lines[-1][-1] == "http://h.test/9999"
    assert [line[-1] for line in lines[:-1]] == [f"http://h.test/{number}" for number in range(len(lines) - 1)]
    assert log.lost == 1001 - len(lines) > 0
    assert log.problem == "File too large"


def test_a_reader_that_is_slow_or_gone_costs_lines_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    reading, writing = os.pipe()
    monkeypatch.setattr(page_log, "_STDOUT", writing)
    slow = PageLog("-", flush_every=0.001)
    for number in range(100_000):
        slow.publish(outcome(number))
    slow.close(patience=0.01)
    lost_by_slow = slow.lost
    received = os.read(reading, 100)
    gone = PageLog("-", flush_every=NEVER)
    os.close(reading)
    gone.publish(outcome())
    gone.close()
    os.close(writing)

    assert lost_by_slow > 0 and slow.saturation == 0.0
    assert slow.problem == "its reader is too slow"
    assert received.startswith(b"2023-11-14T22:13:20Z")
    assert (gone.lost, gone.problem) == (1, "Broken pipe")
