"""`gossamer status`: what a crawl waits for, at rest and running."""

import json
import os
from pathlib import Path

import pytest

from gossamer.cli.main import main
from gossamer.clock import SteadyClock
from gossamer.crawl.run.directory import STATUS, CrawlDirectory
from gossamer.model.units import Instant
from gossamer.observe.snapshot import Snapshot, Status, StatusFile, encode_status
from tests.cli.crawl_samples import change, order, small_crawl

Captured = pytest.CaptureFixture[str]


@pytest.fixture
def crawl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """One URL is queued and due; one is dead, one a duplicate."""
    monkeypatch.chdir(tmp_path)
    return small_crawl(tmp_path / "crawl")


def status(capsys: Captured) -> dict[str, object]:
    assert main(["status", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert isinstance(found, dict)
    return found


def waits(capsys: Captured) -> dict[str, object]:
    found = status(capsys)["waits"]
    assert isinstance(found, dict)
    return found


def text(capsys: Captured) -> str:
    assert main(["status"]) == 0
    return capsys.readouterr().out


def tell(crawl: Path, in_flight: int, at: Instant | None = None, *, doing: str = "") -> None:
    """As a running crawl does."""
    now = SteadyClock().now() if at is None else at
    moment = Snapshot(
        at=now,
        in_flight=in_flight,
        load="high",
        load_reason="all fetch slots busy for 1 s",
        paused=doing == "paused",
        stopping=doing == "stopping",
        store_failing=doing == "store failing",
        store_slow=doing == "store slow",
    )
    StatusFile(crawl / STATUS).write(encode_status(Status(os.getpid(), moment)))


def test_a_crawl_at_rest_waits_for_a_start(crawl: Path, capsys: Captured) -> None:
    found = waits(capsys)

    assert (found["for"], found["in_flight"], found["due"], found["ready_hosts"]) == ("a start of the crawl", 0, 1, 1)
    assert status(capsys)["next_due"] is not None
    assert "Not running\n" in text(capsys)


def test_a_retry_is_told_with_its_date(crawl: Path, capsys: Captured) -> None:
    later = SteadyClock().now() + 5000
    change(crawl, "UPDATE urls SET available_at = ?, place = ?, reason = 'server_error' WHERE state = 0", later, later)

    found = waits(capsys)

    assert (found["due"], found["ready_hosts"], found["retries"]) == (0, 0, 1)
    assert found["next_retry"] == status(capsys)["next_due"] is not None
    assert str(found["for"]).startswith("a start of the crawl, then 1 retry (due in 1:23:")
    assert "retries 1 next due " in " ".join(text(capsys).split())


def test_a_resting_host_is_told_with_the_date_it_may_be_contacted(crawl: Path, capsys: Captured) -> None:
    change(crawl, "UPDATE hosts SET next_contact = ?", SteadyClock().now() + 500)

    found = waits(capsys)

    assert (found["due"], found["ready_hosts"], found["resting_hosts"]) == (1, 0, 1)
    assert found["next_contact"] is not None
    assert "then the delay of 1 host (ready in 0:08:" in str(found["for"])


def test_a_finished_crawl_waits_for_nothing_though_dates_may_lie_ahead(crawl: Path, capsys: Captured) -> None:
    change(crawl, "UPDATE urls SET state = 4, available_at = 4e9, reason = 'missing' WHERE state = 0")
    change(crawl, "UPDATE counters SET name = 'state:missing' WHERE name = 'state:queued'")

    found = status(capsys)
    waited = waits(capsys)

    assert (found["finished"], found["next_due"], waited["for"]) == (True, None, "")
    assert (waited["missing"], waited["next_missing"]) == (1, "2096-10-02T07:06:40.000Z")
    shown = " ".join(text(capsys).split())
    assert "at rest, nothing left to do pages stored 0" in shown
    assert "Scheduled missing 1 next retry 2096-10-02" in shown


def test_no_row_but_that_of_the_pages_has_a_zero(crawl: Path, capsys: Captured) -> None:
    rows = [line.split("  ") for line in text(capsys).splitlines() if line.startswith("  ")]
    values = {name: value for name, value, *_ in ([cell.strip() for cell in row if cell.strip()] for row in rows)}

    assert values["queued"] == values["due now"] == "1"
    assert [name for name, value in values.items() if value == "0"] == ["pages stored"]


def test_of_a_running_crawl_it_is_known_what_is_in_flight(crawl: Path, capsys: Captured) -> None:
    held = CrawlDirectory(crawl)
    change(crawl, "UPDATE hosts SET next_contact = 4e9")
    tell(crawl, in_flight=3)

    found, shown = status(capsys), text(capsys)

    held.close()
    waited = found["waits"]
    assert isinstance(waited, dict)
    assert (waited["in_flight"], waited["ready_hosts"]) == (3, 0)
    assert str(waited["for"]).startswith("3 visits in flight, the delay of 1 host")
    assert found["load"] == {"mode": "high", "reason": "all fetch slots busy for 1 s", "selector_shares": []}
    assert "Waiting for 3 visits in flight" in shown
    assert "all fetch slots busy for 1 s" in shown


def test_what_a_crawl_that_was_killed_left_behind_is_not_in_flight(crawl: Path, capsys: Captured) -> None:
    tell(crawl, in_flight=3)

    assert waits(capsys)["in_flight"] == 0
    assert status(capsys)["load"] is None


def test_of_a_running_crawl_that_says_nothing_it_is_unknown(crawl: Path, capsys: Captured) -> None:
    held = CrawlDirectory(crawl)
    tell(crawl, in_flight=3, at=Instant(SteadyClock().now() - 60))

    found, shown = waits(capsys), text(capsys)

    held.close()
    assert found["in_flight"] is None
    assert "in flight unknown" in " ".join(shown.split())


def test_hosts_that_are_not_crawled_as_any_other_are_named(crawl: Path, capsys: Captured) -> None:
    nothing: dict[str, object] = {"paused": False, "paused_hosts": [], "dropped_hosts": [], "delays": {}}
    assert status(capsys)["ordered"] == nothing and "Ordered" not in text(capsys)

    many = [f"p{n}.test" for n in range(6)]
    order(crawl, paused=many, dropped=["gone.test"], delays={"slow.test": 7.5})

    assert status(capsys)["ordered"] == {
        "paused": False,
        "paused_hosts": many,
        "dropped_hosts": ["gone.test"],
        "delays": {"slow.test": 7.5},
    }
    lines = [" ".join(line.split()) for line in text(capsys).splitlines()]
    at = lines.index("Overrides set through the service")
    assert lines[at + 1 : at + 4] == [
        "paused hosts 6 p0.test, p1.test, p2.test, p3.test, p4.test …",
        "dropped hosts 1 gone.test",
        "slowed hosts 1 slow.test (7.5 s)",
    ]


def test_a_crawl_that_the_service_has_paused_is_said_to_be_so(crawl: Path, capsys: Captured) -> None:
    order(crawl, whole=True)
    held = CrawlDirectory(crawl)
    tell(crawl, in_flight=1, doing="paused")

    found, waited, shown = status(capsys), waits(capsys), text(capsys)

    held.close()
    assert (found["state"], waited["paused"]) == ("paused", True)
    assert waited["for"] == "resume (the crawl is paused), 1 visit in flight"
    assert f": paused (process {os.getpid()})\n" in shown
    assert "Waiting for resume (the crawl is paused)" in shown


def test_a_pause_of_the_whole_crawl_is_told_while_it_is_at_rest(crawl: Path, capsys: Captured) -> None:
    order(crawl, whole=True)

    found, shown = status(capsys), text(capsys)

    assert found["state"] == "at rest"
    assert isinstance(found["ordered"], dict) and found["ordered"]["paused"] is True
    assert "the crawl paused the service starts no visits until it is resumed" in " ".join(shown.split())


def test_a_pause_is_no_matter_of_a_crawl_that_is_not_served(crawl: Path, capsys: Captured) -> None:
    order(crawl, whole=True)
    held = CrawlDirectory(crawl)
    tell(crawl, in_flight=1)

    found, waited = status(capsys), waits(capsys)

    held.close()
    assert (found["state"], waited["paused"]) == ("running", False)


@pytest.mark.parametrize("word", ["stopping", "store failing", "store slow"])
def test_the_state_of_a_running_crawl_has_the_words_of_the_service(crawl: Path, capsys: Captured, word: str) -> None:
    held = CrawlDirectory(crawl)
    tell(crawl, in_flight=0, doing=word)

    found = status(capsys)["state"]

    held.close()
    assert found == word
