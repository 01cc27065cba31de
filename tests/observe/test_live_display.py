import io
import re
from collections.abc import Callable
from dataclasses import replace

import pytest
from rich.console import Console

from gossamer.config.load import Config
from gossamer.model.cache_fault import CacheFault
from gossamer.model.units import Instant
from gossamer.observe.display import Display, LiveDisplay, NoDisplay, PlainLines, Terminal, choose_display, plain_line
from gossamer.observe.snapshot import Rates, SharingCounts, Snapshot
from gossamer.observe.terminal_view import Shares, draw
from tests.observe.snapshots import busy_snapshot

SHARES = Shares((60, 30, 10), (80, 15, 5))


def view(snapshot: Snapshot, width: int = 79, height: int = 23) -> list[str]:
    rates = Rates()
    for second in range(int(snapshot.elapsed)):
        rates.note(busy_snapshot(float(second)))
    rates.note(snapshot)
    return [line.plain for line in draw(snapshot, rates, SHARES, width, height)]


@pytest.mark.parametrize(("width", "height"), [(79, 23), (119, 39), (200, 60), (60, 20), (40, 10), (20, 5), (1, 1)])
def test_the_view_never_exceeds_the_terminal(width: int, height: int) -> None:
    lines = view(busy_snapshot(), width, height)

    assert len(lines) <= height
    assert max(map(len, lines)) <= max(width, 20)


@pytest.mark.parametrize(("width", "height"), [(79, 23), (119, 39)])
def test_the_view_has_the_important_numbers(width: int, height: int) -> None:
    text = "\n".join(view(busy_snapshot(), width, height))

    for figure in (
        *("20,345", "400/s now", "400/s mean", "0:00:20", "216 MB", "10.8 MB/s", "71,432 of 93,021"),
        *("1,234 loaded", "61 % of 60 %", "1.2 M loaded", "10 % of 10 %", "912 known", "33 parked"),
        *("8,212", "273", "8,622", "connection_lost", "slow.test", "12.3 s", "31 % full", "160 commits, 24 ms each"),
        *("0 politeness violations", "183 MB", "cpu 80 %", "lag 12 ms"),
    ):
        assert figure in text


def test_reasons_without_a_row_of_their_own_are_summed_up() -> None:
    lines = view(busy_snapshot())

    assert any(re.match(r"3 others +12 ", line) for line in lines)


def test_the_columns_keep_their_positions_while_numbers_grow() -> None:
    early, late = view(busy_snapshot(5.0)), view(busy_snapshot(8_600.0, queued=123_456_789))

    assert [line.find("Hosts") for line in early if "Hosts" in line] == [
        line.find("Hosts") for line in late if "Hosts" in line
    ]


def test_under_load_the_targets_are_those_of_high_load() -> None:
    text = "\n".join(view(busy_snapshot(load="high")))

    assert "61 % of 80 %" in text
    assert "high load" in text


def test_an_ordering_with_one_class_has_no_targets() -> None:
    text = "\n".join(view(busy_snapshot(urls_by_front=(77,), drawn=(5,))))

    assert re.search(r"class 0 +77 loaded +100 %(?! of)", text)


def test_a_crawl_that_waits_says_for_what() -> None:
    idle = busy_snapshot(20.0, waiting_for="12 hosts until 14:03:07", in_flight=0, run_pages=0)

    assert "waiting for 12 hosts until 14:03:07" in "\n".join(view(idle))


def test_a_crawl_that_is_over_says_that_its_spool_is_being_delivered() -> None:
    waiting = "74 objects to be delivered to s3://crawls/news; Ctrl-C again leaves them in news/spool"
    left = busy_snapshot(20.0, stopping=True, delivering=True, waiting_for=waiting)

    assert f"waiting for {waiting}" in "\n".join(view(left, 119, 39))


def test_what_fails_is_shown_while_pages_flow() -> None:
    failing = busy_snapshot(20.0, blobs_failing=True, cache_fault=CacheFault.AWAY)

    assert "crawling (failing: object storage, cache)" in "\n".join(view(failing))
    assert "failing: object storage, cache" in plain_line(failing, Rates())


def test_the_workers_that_run_are_counted() -> None:
    assert "2 of 3 workers, crawling" in "\n".join(view(busy_snapshot(workers_running=2, workers_wanted=3)))
    assert "3 workers, crawling" in "\n".join(view(busy_snapshot(workers_running=3, workers_wanted=3)))
    assert "2 of 3 workers" in plain_line(busy_snapshot(workers_running=2, workers_wanted=3), Rates())


def test_a_cache_that_fails_is_said_once_with_the_reason() -> None:
    stream = io.StringIO()
    lines = PlainLines(stream)

    for second in (1.0, 2.0, 3.0):
        lines.update(
            busy_snapshot(second, cache_fault=CacheFault.AWAY, cache_problem="127.0.0.1:6379: Connection refused")
        )

    warning = "warning: the cache fails (127.0.0.1:6379: Connection refused); the crawl goes on without it"
    assert stream.getvalue().splitlines().count(warning) == 1


def test_violated_politeness_cannot_be_overlooked() -> None:
    assert "2 politeness violations" in "\n".join(view(busy_snapshot(politeness_violations=2)))


def test_text_from_the_web_cannot_move_the_cursor() -> None:
    snapshot = busy_snapshot(errors={"\x1b[2Jevil": 99}, slowest=(("a\x9b\r\nb.test", 1.0),))

    text = "".join(view(snapshot))

    assert text.isprintable()
    assert "\\x1b[2Jevil" in text


def terminal(width: int = 80, height: int = 24) -> Console:
    return Console(file=io.StringIO(), force_terminal=True, width=width, height=height, color_system="standard")


def written(console: Console) -> str:
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_the_live_display_draws_at_most_four_times_a_second() -> None:
    console = terminal()
    display = LiveDisplay(console, SHARES)

    for tick in range(100):
        display.update(busy_snapshot(tick / 100))
    display.close()

    assert written(console).count("gossamer") == 4 + 1  # and the last once more while it is taken away


def test_the_live_display_shows_the_cursor_again_and_is_silent_after_close() -> None:
    console = terminal()
    display = LiveDisplay(console, SHARES)
    display.update(busy_snapshot(1.0))
    display.close()
    display.close()
    before = written(console)

    display.update(busy_snapshot(2.0))

    assert written(console) == before
    assert before.rindex("\x1b[?25h") > before.rindex("\x1b[?25l")


def test_a_resized_terminal_is_cleared_and_drawn_in_the_new_size() -> None:
    console = terminal()
    display = LiveDisplay(console, SHARES)
    display.update(busy_snapshot(1.0))

    console.size = type(console.size)(120, 40)
    display.update(busy_snapshot(2.0))
    display.close()

    _, cleared, after = written(console).partition("\x1b[2J")
    assert cleared
    assert max(len(line) for line in re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", after).splitlines()) == 119


def test_lines_come_every_five_seconds() -> None:
    stream = io.StringIO()
    lines = PlainLines(stream)

    for tick in range(64):
        lines.update(busy_snapshot(tick / 4))

    assert len(stream.getvalue().splitlines()) == 4


def test_a_line_says_how_fast_and_how_much() -> None:
    rates = Rates()
    rates.note(busy_snapshot(0.0))
    snapshot = busy_snapshot(10.0, waiting_for="3 retries, next due in 8 s", politeness_violations=1)
    rates.note(snapshot)

    line = plain_line(snapshot, rates)

    for part in ("0:00:10", "16,345 pages", "400/s (mean 400)", "queued 71,432", "errors 135", "dead 12"):
        assert part in line
    assert "waiting for 3 retries, next due in 8 s" in line
    assert "POLITENESS VIOLATIONS 1" in line


def test_the_rate_of_one_worker_among_several_is_labelled() -> None:
    alone = replace(busy_snapshot(30.0), sharing=SharingCounts(workers=1))
    one = replace(busy_snapshot(30.0), sharing=SharingCounts(workers=3))

    assert "this worker" not in "".join([*view(alone), plain_line(alone, Rates())])
    assert all("this worker" in shown for shown in ("".join(view(one)), plain_line(one, Rates())))


def test_a_line_says_when_load_is_high() -> None:
    rates = Rates()

    assert "high load" in plain_line(busy_snapshot(10.0, load="high"), rates)
    assert "load" not in plain_line(busy_snapshot(10.0), rates)


def test_quiet_shows_nothing_and_a_pipe_gets_lines_whatever_the_environment_says(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    stream = io.StringIO()

    quiet = choose_display(Config(quiet=True), stream)
    quiet.update(busy_snapshot())
    quiet.close()

    assert isinstance(quiet, NoDisplay)
    assert stream.getvalue() == ""
    assert isinstance(choose_display(Config(), stream), PlainLines)


class FakeTerminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class HungUp(FakeTerminal):
    def write(self, text: str) -> int:
        raise BrokenPipeError


@pytest.mark.parametrize("make", [lambda: LiveDisplay(Terminal(HungUp()), SHARES), lambda: PlainLines(HungUp())])
def test_a_terminal_that_goes_away_does_not_stop_the_crawl(make: Callable[[], Display]) -> None:
    display = make()

    display.update(busy_snapshot(1.0))
    display.update(busy_snapshot(20.0))
    display.close()


@pytest.mark.parametrize(("term", "kind"), [("xterm", LiveDisplay), ("dumb", PlainLines)])
def test_a_terminal_gets_the_live_view_unless_it_is_dumb(
    term: str, kind: type[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", term)

    assert isinstance(choose_display(Config(), FakeTerminal()), kind)


def test_no_color_is_respected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("NO_COLOR", "1")
    stream = FakeTerminal()
    display = choose_display(Config(), stream)

    display.update(busy_snapshot())
    display.close()

    styles = set(re.findall(r"\x1b\[([0-9;]*)m", stream.getvalue()))
    assert styles <= {"0", "1", "2", ""}  # weight only, no colour


def test_rates_look_back_a_few_seconds_only() -> None:
    rates = Rates()
    for second in range(20):
        rates.note(busy_snapshot(float(second), run_pages=100 * min(second, 10)))

    assert rates.pages_now == 0.0
    assert rates.pages_mean == pytest.approx(1000 / 19)


def test_bytes_of_former_runs_are_no_speed_of_this_one() -> None:
    rates = Rates()
    rates.note(Snapshot(at=Instant(0.0), elapsed=0.0, bytes=10**12))
    rates.note(Snapshot(at=Instant(10.0), elapsed=10.0, bytes=10**12 + 1000))

    assert rates.bytes_mean == 100.0


def test_rates_begin_anew_with_a_worker_that_joins_again() -> None:
    rates = Rates()
    for second in (*range(60), *range(10)):
        rates.note(busy_snapshot(float(second), run_pages=10 * second))

    assert (rates.pages_now, rates.pages_mean) == (10.0, 10.0)
    assert set(rates.history()) == {10.0}
