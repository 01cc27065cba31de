"""A served crawl and visits that come due again: one goes on without the other."""

from pathlib import Path
from urllib.parse import quote

import pytest

from tests.integration.changing_site import SOON, ChangingSite, Document, Validators
from tests.integration.crawl_process import wait_until
from tests.service.service_process import Service

pytestmark = pytest.mark.service


def site() -> ChangingSite:
    return ChangingSite({"/": Document("home", Validators.HONEST), "/late": Document("late")})


def options(folder: Path) -> list[object]:
    (folder / "gossamer.toml").write_text(SOON)
    return ["--config", folder / "gossamer.toml"]


def test_a_served_crawl_visits_again_rests_when_paused_and_takes_seeds(tmp_path: Path) -> None:
    with site() as pages, Service(tmp_path / "crawl", *options(tmp_path)) as service:
        home, late = pages.server.base + "/", pages.server.base + "/late"
        assert service.post("/seed/urls", {"urls": [home]}).json["accepted"] == 1
        wait_until(lambda: pages.visits("/") >= 3, "a third visit")
        assert service.get(f"/explain?url={quote(home, safe='')}").json["recrawl"]["policy"] == "adaptive"

        assert service.post("/crawl", {"action": "pause"}).status == 200
        wait_until(lambda: service.get("/status").json["in_flight"] == 0, "the last visit to end")
        visited = pages.visits("/")
        assert service.post("/seed/urls", {"urls": [late]}).json["accepted"] == 1
        assert (pages.visits("/"), pages.visits("/late")) == (visited, 0)

        assert service.post("/crawl", {"action": "resume"}).status == 200
        wait_until(lambda: pages.visits("/") > visited and pages.visits("/late") >= 2, "visits after the pause")
        wait_until(lambda: service.get("/status").json["pages"] == 2, "both pages to be status of")
        status = service.get("/status").json
        assert status["refreshed"] >= 2
        assert set(pages["/"].answered) <= {200, 304} and 304 in pages["/"].answered
        assert service.stopped() == 0


def test_a_served_crawl_that_does_not_keep_fresh_leaves_what_comes_due_to_its_next_start(tmp_path: Path) -> None:
    with site() as pages:
        home, late = pages.server.base + "/", pages.server.base + "/late"
        once = [*options(tmp_path), "--no-keep-fresh"]
        with Service(tmp_path / "crawl", *once, home) as service:
            service.wait_for(home, "stored")
            wait_until(lambda: service.get("/crawl").json["state"] == "idle", "nothing to be left")
            assert service.post("/seed/urls", {"urls": [late]}).json["accepted"] == 1
            service.wait_for(late, "stored")
            assert pages.visits("/") == 1
            assert service.stopped() == 0
        with Service(tmp_path / "crawl", *once) as service:
            wait_until(lambda: pages.visits("/") == 2, "what was due at the start")
            assert service.stopped() == 0
