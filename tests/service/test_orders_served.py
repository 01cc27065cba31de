"""Orders and settings that were left in the store: applied at the next start, once, and by whoever has left them."""

import json
import os
import signal
from contextlib import closing
from pathlib import Path

import pytest

from gossamer.backends.sqlite.driver import SqliteTables
from gossamer.config.overrides import OVERRIDES_KEY, Overrides
from gossamer.crawl.steering.orders import DEAD, SEEDS, STOP
from gossamer.model.units import HostKey, Instant
from gossamer.store.table.orders import Answer, OrderState, OrderTable, Settings
from tests.integration.crawl_process import Constants, wait_until
from tests.integration.small_server import Answer as Page
from tests.integration.small_server import SmallServer, page
from tests.service.service_process import Service

pytestmark = pytest.mark.service

NOW = Instant(4_000_000_000.0)


def tables_of(directory: Path) -> SqliteTables:
    return SqliteTables(directory / "crawl.db")


def left(directory: Path, kind: str, body: object) -> int:
    """Leave an order, as an API process that is killed before it has the answer."""
    with closing(tables_of(directory).open_steering()) as db:
        return OrderTable(db).add(kind, json.dumps(body), NOW)


def answers(directory: Path, *orders: int) -> list[Answer | None]:
    with closing(tables_of(directory).open_reader(small=True)) as db:
        return [OrderTable(db).answer(order) for order in orders]


def test_what_was_left_when_a_crawl_was_killed_is_applied_at_the_next_start_and_once(tmp_path: Path) -> None:
    directory = tmp_path / "crawl"
    (tmp_path / "gossamer.toml").write_text("[retry]\nmax_tries = 1\n")
    options = ["--config", tmp_path / "gossamer.toml", "--scope", "any"]
    with SmallServer(lambda path, _: Page("", 404) if path == "/robots.txt" else Page("sorry", 500)) as site:
        url = site.base + "/broken"
        with Service(directory, *options, url) as service:
            service.wait_for(url, "dead")
            service.kill()
        everything = {"action": "requeue", "host": None, "reason": None, "class": None, "urls": None}
        seeds, dead, stop = (
            left(directory, SEEDS, ["http://new.test/", "mailto:x"]),
            left(directory, DEAD, everything),
            left(directory, STOP, None),
        )
        with closing(tables_of(directory).open_steering()) as db:
            Settings(db).change(OVERRIDES_KEY, lambda _: Overrides(paused=True).to_text(), {}, NOW)

        for turn in range(2):  # at the second start nothing is left
            with Service(directory, *options) as service:
                assert service.get("/crawl").json["state"] == "paused"
                wait_until(lambda: None not in answers(directory, seeds, dead, stop), "the answers")
                assert service.pages()[url]["state"] == "queued", turn
                service.kill()

        assert site.paths().count("/broken") == 1
    assert answers(directory, seeds, dead, stop) == [
        Answer(OrderState.APPLIED, '[["accepted", "http://new.test/", null], ["refused", null, "bad_scheme"]]'),
        Answer(OrderState.APPLIED, "1"),
        Answer(OrderState.REFUSED, '"that run has ended"'),
    ]


def test_another_process_steers_a_crawl_through_its_store(tmp_path: Path) -> None:
    directory = tmp_path / "crawl"
    with SmallServer({"/": page("home")}) as site, Service(directory) as service:

        def pause(text: str | None) -> str:
            overrides = Overrides.from_text(text)
            overrides.hosts.pause(HostKey("127.0.0.1"))
            return overrides.to_text()

        with closing(tables_of(directory).open_steering()) as db:
            version, _ = Settings(db).change(OVERRIDES_KEY, pause, {}, NOW)
            order = OrderTable(db).add(SEEDS, json.dumps([site.base + "/"]), NOW)
            unknown = OrderTable(db).add("fly", "{}", NOW)
            wait_until(lambda: OrderTable(db).answer(order) and OrderTable(db).answer(unknown), "the answers")
            assert OrderTable(db).answer(unknown) == Answer(OrderState.REFUSED, '"unknown kind of order: fly"')
        host = service.get("/hosts/127.0.0.1").json
        assert host["paused"] is True and host["queued"] == 1 and version == 1
        assert site.asked == []
        wait_until(lambda: "host.paused" in service.log and "order.refused" in service.log, "the log")
        assert service.post("/hosts/127.0.0.1", {"action": "resume"}).json["paused"] is False
        service.wait_for(site.base + "/", "stored")
        assert service.stopped() == 0


def test_a_crawl_that_hangs_makes_changes_unavailable_and_they_are_withdrawn(tmp_path: Path) -> None:
    directory = tmp_path / "crawl"
    patience = Constants({"gossamer.service.front_process.COMMIT_PATIENCE": 0.3})
    with Service(directory, "--no-allow-private", "--dns", "127.0.0.1:9", patience) as service:
        os.kill(service.pid, signal.SIGSTOP)
        try:
            response = service.post("/seed/urls", {"urls": ["http://late.test/"]})
            status = service.get("/status").status
        finally:
            os.kill(service.pid, signal.SIGCONT)
        assert (response.status, response.headers["retry-after"], status) == (503, "1", 200)
        with closing(tables_of(directory).open_reader(small=True)) as db:
            assert OrderTable(db).new(10) == []
        other = {"urls": ["http://other.test/"]}
        wait_until(lambda: service.post("/seed/urls", other).status == 200, "changes to be accepted")

        assert service.pages().keys() == {"http://other.test/"}
