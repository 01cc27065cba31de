"""`gossamer hosts`: how each host stands."""

import json
from pathlib import Path

import pytest

from gossamer.cli.main import main
from gossamer.filter.trap_budget import HostBudget, PageValue, TrapPolicy
from gossamer.filter.url_shape import Shape
from gossamer.frontier.breaker import HostFailures
from gossamer.model.units import Instant
from tests.cli.crawl_samples import NOW, change, order, small_crawl

Captured = pytest.CaptureFixture[str]


@pytest.fixture
def crawl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return small_crawl(tmp_path / "crawl")


def another(crawl: Path, host: str, number: int, **columns: object) -> None:
    change(crawl, "INSERT INTO hosts (id, host, domain_id) VALUES (?, ?, 1)", number, host)
    for name, value in columns.items():
        change(crawl, f"UPDATE hosts SET {name} = ? WHERE id = ?", value, number)


def hosts(capsys: Captured, *options: str) -> list[dict[str, object]]:
    assert main(["hosts", "--json", *options]) == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def cut_budget() -> str:
    policy = TrapPolicy(patience=3, grace=0)
    budget = HostBudget(refused={"trap:repeats": 2})
    for _ in range(3):
        budget.count(Shape("/cal?m&y", "/cal?*"), PageValue.SAME, policy)
    return budget.to_text()


def test_a_host_is_told_with_its_counts_its_delay_and_its_state(crawl: Path, capsys: Captured) -> None:
    change(crawl, "UPDATE hosts SET next_contact = ?, last_took = 0.5, address = '192.0.2.1'", NOW)

    (host,) = hosts(capsys)

    assert (host["host"], host["domain"], host["state"]) == ("h.test", "h.test", "ready")
    assert (host["queued"], host["fetched"], host["known"]) == (1, 1, 3)
    assert (host["delay"], host["last_took"], host["address"]) == (5.0, 0.5, "192.0.2.1")
    assert (host["trouble"], host["excluded"], host["cuts"]) == (None, {}, [])


def test_every_state_has_its_word(crawl: Path, capsys: Captured) -> None:
    trouble = HostFailures(4, Instant(1.0), Instant(2.0), "conn_refused")
    another(crawl, "done.test", 2, next_contact=NOW)
    another(crawl, "failing.test", 3, next_contact=9e9, trouble=trouble.to_text())
    states = {str(host["host"]): host["state"] for host in hosts(capsys)}
    change(crawl, "UPDATE hosts SET next_contact = 9e9 WHERE id = 1")
    (later,) = hosts(capsys, "--host", "h.test")
    (failing,) = hosts(capsys, "--host", "failing.test")

    assert states == {"h.test": "new", "done.test": "done", "failing.test": "failing"}
    assert later["state"] == "resting"
    assert failing["trouble"] == "conn_refused, 4 in a row"


def test_what_was_cut_is_told_by_reason_and_by_shape(crawl: Path, capsys: Captured) -> None:
    change(crawl, "INSERT INTO budgets (host_id, state) VALUES (1, ?)", cut_budget())
    change(crawl, "UPDATE urls SET state = 6, reason = 'trap:same' WHERE id = 3")
    another(crawl, "other.test", 2)

    (host,) = hosts(capsys, "--cut")
    assert main(["hosts", "--cut"]) == 0
    _, first, *shapes = capsys.readouterr().out.splitlines()

    assert host["excluded"] == {"trap:repeats": 2, "trap:same": 1}
    assert [(cut["reason"], cut["shape"]) for cut in host["cuts"]] == [  # type: ignore[attr-defined]
        ("trap:same", "/cal?m&y"),
        ("trap:same", "/cal?*"),
    ]
    assert first.startswith("h.test") and "excluded: trap:repeats 2, trap:same 1" in first
    assert shapes[0].strip() == "trap:same  /cal?m&y: 3 fetched, 0 new, 0 alike, credit 0"


@pytest.mark.parametrize(
    ("options", "shown"),
    [
        ([], ["h.test", "a.b.test", "b.test"]),
        (["--sort", "host"], ["b.test", "a.b.test", "h.test"]),
        (["--sort", "next"], ["h.test", "a.b.test", "b.test"]),
        (["--limit", "1"], ["h.test"]),
        (["--host", "*.b.test"], ["a.b.test"]),
        (["--host", "B.test."], ["b.test"]),
        (["--host", "nowhere.test"], []),
    ],
)
def test_hosts_are_chosen_and_sorted(crawl: Path, capsys: Captured, options: list[str], shown: list[str]) -> None:
    another(crawl, "a.b.test", 2, next_contact=NOW)
    another(crawl, "b.test", 3, next_contact=NOW)

    assert [host["host"] for host in hosts(capsys, *options)] == shown


def test_what_was_ordered_through_the_service_is_told_of_each_host(crawl: Path, capsys: Captured) -> None:
    another(crawl, "slow.test", 2, next_contact=NOW)
    another(crawl, "gone.test", 3, next_contact=NOW)
    another(crawl, "free.test", 4, next_contact=NOW)
    order(crawl, paused=["h.test"], dropped=["gone.test"], delays={"slow.test": 7.5})

    told = {str(host["host"]): (host["paused"], host["dropped"], host["ordered_delay"]) for host in hosts(capsys)}
    delays = {str(host["host"]): host["delay"] for host in hosts(capsys)}
    assert main(["hosts", "--sort", "host"]) == 0
    lines = {line.split()[0]: line for line in capsys.readouterr().out.splitlines()}

    assert told == {
        "h.test": (True, False, None),
        "gone.test": (False, True, None),
        "slow.test": (False, False, 7.5),
        "free.test": (False, False, None),
    }
    assert (delays["slow.test"], delays["free.test"]) == (7.5, 1.0)
    assert lines["HOST"].split() == ["HOST", "STATE", "QUEUED", "FETCHED", "DELAY", "NEXT"]
    assert lines["h.test"].split()[-5:] == ["s", "-", "paused", "through", "the", "service"][-5:]
    assert "dropped through the service" in lines["gone.test"]
    assert lines["slow.test"].split()[4:] == ["7.5", "s", "now", "delay", "set", "through", "the", "service"]
    assert lines["free.test"].split()[4:] == ["1.0", "s", "now"]


def test_the_delay_in_force_is_that_of_robots_txt_where_it_is_the_longest(crawl: Path, capsys: Captured) -> None:
    change(crawl, "UPDATE hosts SET next_contact = ?", NOW)
    another(crawl, "other.test", 2, next_contact=NOW)
    rows = [
        ("http://h.test", 1, b"User-agent: *\nCRAWL-DELAY: 12\n"),
        ("https://h.test", 1, b"User-agent: gossamer\nCrawl-delay: 8\n"),
        ("http://other.test", 2, b"User-agent: another\nCrawl-delay: 30\n"),
    ]
    for origin, host, body in rows:
        columns = "origin, host_id, status, fetched_at, expires_at, body"
        change(crawl, f"INSERT INTO robots ({columns}) VALUES (?, ?, 200, ?, 4e9, ?)", origin, host, NOW, body)

    assert {str(host["host"]): host["delay"] for host in hosts(capsys)} == {"h.test": 12.0, "other.test": 1.0}
