import io
import json
from pathlib import Path

import pytest

from gossamer.cli.crawl import files_of
from gossamer.crawl.run.location import CrawlLocation
from gossamer.model.units import Instant
from gossamer.observe import formatter
from gossamer.observe.report import print_report, report_sections
from gossamer.observe.snapshot import SeedCounts, Snapshot, to_contract
from tests.observe.snapshots import busy_snapshot

PROMISED = {
    *("pages", "fetched", "bytes", "discovered", "queued", "duplicates", "near_duplicates", "errors", "excluded"),
    *("dead", "hosts", "seconds", "cpu_seconds", "max_rss_bytes", "politeness_violations", "finished"),
    *("stopped", "seeds"),
}


def report(snapshot: Snapshot, directory: Path, max_pages: int | None = None, more: int | None = None) -> str:
    stream = io.StringIO()
    files = files_of(CrawlLocation(directory))
    print_report(snapshot, directory, stream, files, max_pages=max_pages, more=more)
    return stream.getvalue()


def test_the_contract_has_every_promised_key() -> None:
    assert to_contract(Snapshot(at=Instant(0.0))).keys() >= PROMISED


def test_the_contract_is_json_with_the_values_of_the_snapshot() -> None:
    snapshot = busy_snapshot(20.0, finished=True, selector_shares=(61.0, 29.0, 10.004), load="high")

    found = json.loads(json.dumps(to_contract(snapshot)))

    assert found["pages"] == 20_345
    assert found["hosts"] == 912
    assert found["seconds"] == 20.0
    assert found["errors"] == snapshot.errors
    assert found["excluded"] == {"robots_denied": 410, "out_of_scope": 8_212}
    assert found["finished"] is True
    assert (found["selector_shares"], found["load"]) == ([61.0, 29.0, 10.0], "high")


def test_the_report_says_totals_rates_and_reasons(tmp_path: Path) -> None:
    text = report(busy_snapshot(), tmp_path)

    for part in (
        "20,345",
        "8,000 in this run, 400/s",
        "216 MB",
        "connection_lost",
        "robots_denied",
        "912 hosts",
    ):
        assert part in text


def test_the_report_says_until_when_missing_urls_wait(tmp_path: Path) -> None:
    waiting, unknown = busy_snapshot(missing=3, gone=2, next_missing=Instant(1e9)), busy_snapshot(missing=3, gone=0)

    assert "3  next retry 2001-09-09T01:46:40Z, by the next run or with --keep-fresh; plus 2 gone" in report(
        waiting, tmp_path
    )
    assert "next retry" not in report(unknown, tmp_path)
    assert to_contract(waiting)["next_missing"] == "2001-09-09T01:46:40.000Z"


def test_the_report_of_an_unfinished_crawl_has_the_command_that_continues_it(tmp_path: Path) -> None:
    full, interrupted = busy_snapshot(stopped="page_limit"), busy_snapshot(stopped="interrupted")
    done = busy_snapshot(finished=True, stopped="finished", queued=0)
    resume = f" gossamer crawl --dir {tmp_path} "

    assert f"{resume}--more 30 " in report(full, tmp_path, 30)
    assert f"{resume}--more 10 " in report(full, tmp_path, 40, more=10)
    assert resume in report(interrupted, tmp_path, 30)
    assert "--more" not in report(interrupted, tmp_path, 30)
    assert "gossamer crawl" not in report(done, tmp_path, 30)


REFUSED = SeedCounts(2, 0, {"conn_refused": 1, "blocked_address": 1})


@pytest.mark.parametrize(
    ("snapshot", "max_pages", "headline"),
    [
        (busy_snapshot(stopped="finished", queued=0), 30, "Finished: nothing left to crawl"),
        (busy_snapshot(stopped="finished", pages=0), 30, "Finished: no page could be fetched"),
        (
            busy_snapshot(stopped="finished", pages=0, seeds=REFUSED),
            30,
            "Finished: no page could be fetched (2 seeds: 1 blocked address, 1 connection refused)",
        ),
        (
            busy_snapshot(stopped="finished", pages=0, seeds=SeedCounts(1, 0, {"status_404": 1})),
            30,
            "Finished: no page could be fetched (1 seed: 1 status 404)",
        ),
        (busy_snapshot(stopped="page_limit", queued=462), 30, "Stopped: page limit (30) reached; 462 URLs queued"),
        (busy_snapshot(stopped="page_limit", queued=1), 30, "Stopped: page limit (30) reached; 1 URL queued"),
        (busy_snapshot(stopped="interrupted", queued=1), 30, "Interrupted; 1 URL queued"),
        (
            busy_snapshot(stopped="paused_hosts", hosts_held=3, queued=120),
            None,
            "Stopped: only paused hosts are left (3 hosts, 120 URLs)",
        ),
        (
            busy_snapshot(stopped="paused_hosts", hosts_held=1, queued=1),
            None,
            "Stopped: only paused hosts are left (1 host, 1 URL)",
        ),
        (busy_snapshot(stopped="requested"), None, "Stopped: 71,432 URLs queued"),
    ],
)
def test_the_headline_says_why_the_crawl_ended(
    snapshot: Snapshot, max_pages: int | None, headline: str, tmp_path: Path
) -> None:
    assert (
        report_sections(snapshot, tmp_path, files_of(CrawlLocation(tmp_path)), max_pages=max_pages)[0].title == headline
    )


def test_single_things_are_in_the_singular(tmp_path: Path) -> None:
    text = report(busy_snapshot(hosts_known=1, sitemaps=1, sitemap_urls=5, politeness_violations=1), tmp_path)

    for part in ("on 1 host\n", "in 1 sitemap\n", "1 politeness violation\n"):
        assert part in text


def test_dead_letters_are_pointed_out_only_where_there_are_any(tmp_path: Path) -> None:
    assert f"gossamer dead list --dir {tmp_path}" in report(busy_snapshot(), tmp_path)
    assert "gossamer dead" not in report(busy_snapshot(dead=0), tmp_path)


def test_the_report_names_the_files(tmp_path: Path) -> None:
    (tmp_path / "warc").mkdir()
    (tmp_path / "warc" / "gossamer-20240501120000-00001.warc.gz").write_bytes(b"x" * 1500)
    (tmp_path / "crawl.db").touch()

    text = report(busy_snapshot(), tmp_path)

    assert f"{tmp_path}/warc" in text
    assert "1 file, 1.50 kB" in text
    assert f"{tmp_path}/crawl.db" in text
    assert "crawl.log" not in text


def test_politeness_violations_are_reported(tmp_path: Path) -> None:
    assert "0 politeness violations" in report(busy_snapshot(), tmp_path)
    assert "please report it" not in report(busy_snapshot(), tmp_path)
    assert "3 politeness violations" in report(busy_snapshot(politeness_violations=3), tmp_path)
    assert "please report it" in report(busy_snapshot(politeness_violations=3), tmp_path)


def test_plain_text_has_no_escapes_and_aligned_numbers(tmp_path: Path) -> None:
    text = report(busy_snapshot(), tmp_path)

    assert "\x1b" not in text
    answers = text.split("Status codes\n")[1].split("\n\n")[0].splitlines()
    assert len({len(line) for line in answers}) == 1


def test_a_terminal_gets_the_same_words_in_colour(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "160")
    monkeypatch.delenv("NO_COLOR", raising=False)
    stream = Terminal()

    print_report(busy_snapshot(), tmp_path, stream, files_of(CrawlLocation(tmp_path)))

    assert "\x1b[" in stream.getvalue()
    for word in ("pages stored", "connection_lost", "politeness", "gossamer pages"):
        assert word in stream.getvalue()


@pytest.mark.parametrize(
    ("number", "shown"),
    [(0, "0 B"), (999, "999 B"), (1000, "1.00 kB"), (999_600, "1.00 MB"), (12_345_678, "12.3 MB"), (5e14, "500 TB")],
)
def test_sizes_have_three_digits(number: float, shown: str) -> None:
    assert formatter.size(number) == shown


@pytest.mark.parametrize(
    ("seconds", "shown"), [(0.0, "0:00:00"), (59.9, "0:00:59"), (3661, "1:01:01"), (90_061, "1 d 1:01:01")]
)
def test_durations_read_like_a_clock(seconds: float, shown: str) -> None:
    assert formatter.clock_time(seconds) == shown


def test_long_spans_are_in_days_and_dates_are_shown_to_the_second() -> None:
    day = 86_400.0
    spans = [formatter.span(value) for value in (3.4, 120, 0.99 * day, day - 20, 1.5 * day, 14 * day - 24, 4000 * day)]
    assert spans == ["3.4 s", "0:02:00", "23:45:36", "1 day", "1.5 days", "14 days", "4,000 days"]
    assert (formatter.date_time(1_700_000_000.999), formatter.date_time(None)) == ("2023-11-14T22:13:20Z", None)


def test_short_counts_fit_six_characters() -> None:
    assert max(len(formatter.short_count(10**n - 1)) for n in range(1, 12)) <= 8
    assert formatter.short_count(1_234_567) == "1.2 M"
