"""`gossamer serve` as a caller sees it: a real process, a real site on loopback."""

import json
import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.backends.postgres.postgres_databases import PostgresDatabases
from tests.integration.crawl_process import gossamer, wait_until
from tests.integration.small_server import Answer, SmallServer, links, page
from tests.service.service_process import Service

pytestmark = pytest.mark.service


def answer(path: str, before: int) -> Answer:
    """A site: a home page, a chain of pages, one that fails until it was asked four times."""
    if path == "/":
        return links("/a", "/deep/1", "/private/x")
    if path == "/broken":
        return Answer("sorry", 500) if before < 2 else page("mended")
    if path.startswith("/deep/"):
        return links(f"/deep/{int(path[6:]) + 1}") if int(path[6:]) < 4 else page("the end")
    return Answer("nothing", 404) if path == "/robots.txt" else page(path)


@pytest.fixture(scope="module")
def site() -> Iterator[SmallServer]:
    with SmallServer(answer) as served:
        yield served


def test_a_crawl_is_served_steered_stopped_and_taken_up_again(site: SmallServer, tmp_path: Path) -> None:
    """One long story, since every start of a process costs seconds: each step is what a caller relies on."""
    tell_the_story(site, tmp_path, [])


def test_a_crawl_on_postgresql_is_served_in_the_same_way(tmp_path: Path, postgres_databases: PostgresDatabases) -> None:
    with SmallServer(answer) as site, postgres_databases.one() as url:
        tell_the_story(site, tmp_path, ["--store", url])


def tell_the_story(site: SmallServer, tmp_path: Path, store: list[str]) -> None:
    directory, base = tmp_path / "crawl", site.base
    (tmp_path / "gossamer.toml").write_text("unsafe_store = true\n[retry]\nmax_tries = 2\ndelay = 0.05\n")
    options = ["--config", tmp_path / "gossamer.toml", *store]
    with Service(directory, *options) as service:
        the_token_is_private(service)
        seeds_are_answered_one_by_one(service, base)
        the_pages_come_out(service, base)
        limits_change_and_are_lifted(service, base)
        a_host_is_paused_and_resumed(service, base)
        dead_letters_are_requeued_and_dropped(service, base)
        check_consistency(service, base)
        service.post("/url/limit", {"excludedDomains": ["evil.test"], "depthLimit": 7, "urlLengthLimit": 500})
        service.post("/crawl", {"action": "pause"})
        assert service.stopped() == 0

    with Service(directory, *options) as service:
        kept = service.get("/url/limit").json
        assert (kept["excludedDomains"], kept["depthLimit"], kept["urlLengthLimit"]) == (["evil.test"], 7, 500)
        assert service.get("/crawl").json["state"] == "paused"
        added = service.post("/seed/urls", {"urls": f"{base}/late"})
        assert added.json["accepted"] == 1
        service.kill()

    # What was acknowledged survives, and the command line goes on with the same directory under the same limits.
    ended = gossamer("crawl", "--dir", directory, "--allow-private", "--delay", 0.02, "--json", "--quiet", *options)
    assert ended.status == 0 and ended.report["finished"] is True
    found = {line["url"]: line["state"] for line in gossamer("pages", "--dir", directory, *store, "--json").lines}
    assert found[f"{base}/late"] == "stored"
    assert json.loads(gossamer("status", "--dir", directory, *store, "--json").out)["options"]["max_depth"] == 7
    log = (directory / "crawl.log").read_text()
    assert service.token not in log


def the_token_is_private(service: Service) -> None:
    assert stat.S_IMODE(os.stat(service.directory / "service.token").st_mode) == 0o600
    body = {"urls": ["http://a.test/"]}
    assert service.post("/seed/urls", body, Authorization="").status == 401
    assert service.post("/seed/urls", body, Authorization="Bearer wrong").status == 401
    assert service.post("/seed/urls", body, Authorization=f"Basic {service.token}").status == 401
    assert service.get("/status").json["discovered"] == 0


def seeds_are_answered_one_by_one(service: Service, base: str) -> None:
    given = [f"{base}/", f"{base}/#again", "ftp://a.test/", "http://x.test:99999/", "not a url"]
    response = service.post("/seed/urls", {"urls": given}).json

    assert [each["status"] for each in response["results"]] == ["accepted", "known", "refused", "refused", "refused"]
    assert [each["reason"] for each in response["results"]] == [None, None, "bad_scheme", "bad_url", "bad_url"]
    assert (response["accepted"], response["known"], response["refused"]) == (1, 1, 3)
    several = service.post("/seed/urls", {"urls": f"{base}/a, {base}/b,{base}/broken"}).json
    assert several["accepted"] + several["known"] == 3
    lines = f"{base}/n1\n{base}/n2\n\nmailto:x\n".encode()
    streamed = service.post("/seed/urls", lines, Content_Type="application/x-ndjson").json
    assert (streamed["accepted"], streamed["refused"]) == (2, 1)


def the_pages_come_out(service: Service, base: str) -> None:
    for path in ("/", "/a", "/b", "/deep/4", "/private/x", "/n2"):
        service.wait_for(base + path, "stored")
    home = service.pages("&q=/deep/&state=stored")
    assert set(home) == {f"{base}/deep/{n}" for n in range(1, 5)}
    first = service.get("/pages?limit=2").json
    rest = service.get(f"/pages?limit=1000&after={first['next']}").json
    assert len(first["pages"]) == 2 and not {p["url"] for p in first["pages"]} & {p["url"] for p in rest["pages"]}
    assert rest["next"] is None


def limits_change_and_are_lifted(service: Service, base: str) -> None:
    service.post("/crawl", {"action": "pause"})
    assert service.get("/crawl").json["state"] == "paused"
    service.post("/seed/urls", {"urls": [f"{base}/{'long' * 30}", f"{base}/short"]})
    response = service.post("/url/limit", {"depthLimit": 20, "urlLengthLimit": 60})
    assert response.status == 200 and response.json["excludedDomains"] == []
    service.post("/crawl", {"action": "resume"})
    service.wait_for(f"{base}/short", "stored")
    service.wait_for(f"{base}/{'long' * 30}", "excluded")
    assert service.pages()[f"{base}/{'long' * 30}"]["reason"] == "url_too_long"
    refused = service.post("/seed/urls", {"urls": [f"{base}/{'more' * 30}"]}).json
    assert refused["results"][0]["reason"] == "url_too_long"

    lifted = service.post("/url/limit", {"depthLimit": 20, "urlLengthLimit": 2000}).json
    assert lifted["returned"] == 1
    service.wait_for(f"{base}/{'long' * 30}", "stored")
    for wrong, field in (
        ({"depthLimit": -1, "urlLengthLimit": 100}, "depthLimit"),
        ({"depthLimit": "ten", "urlLengthLimit": 100}, "depthLimit"),
        ({"depthLimit": 1, "urlLengthLimit": 0}, "urlLengthLimit"),
        ({"depthLimit": 1, "urlLengthLimit": 100, "extra": 1}, "extra"),
        ({"depthLimit": 1, "urlLengthLimit": 100, "excludedDomains": ["no domain/"]}, "excludedDomains"),
    ):
        answer = service.post("/url/limit", wrong)
        assert (answer.status, answer.json["field"]) == (422, field)
    assert service.get("/url/limit").json["depthLimit"] == 20


def a_host_is_paused_and_resumed(service: Service, base: str) -> None:
    host = "127.0.0.1"
    assert service.post(f"/hosts/{host}", {"action": "pause"}).json["paused"] is True
    service.post("/seed/urls", {"urls": [f"{base}/held"]})
    assert service.post(f"/hosts/{host}", {"action": "delay", "seconds": 0.0}).json["field"] == "seconds"
    assert service.post(f"/hosts/{host}", {"action": "delay", "seconds": 0.05}).json["delay"] == 0.05
    assert service.pages()[f"{base}/held"]["state"] == "queued"
    assert service.post(f"/hosts/{host}", {"action": "resume"}).json["paused"] is False
    service.wait_for(f"{base}/held", "stored")

    service.post(f"/hosts/{host}", {"action": "drop"})
    service.post("/seed/urls", {"urls": [f"{base}/dropped"]})
    service.wait_for(f"{base}/dropped", "excluded")
    assert service.pages()[f"{base}/dropped"]["reason"] == "host_dropped"
    assert service.post(f"/hosts/{host}", {"action": "resume"}).json["returned"] == 1
    service.wait_for(f"{base}/dropped", "stored")
    assert service.post("/hosts/unknown.test", {"action": "pause"}).status == 404


def dead_letters_are_requeued_and_dropped(service: Service, base: str) -> None:
    service.wait_for(f"{base}/broken", "dead")
    (letter,) = service.get("/dead?host=127.0.0.1").json["dead"]
    assert (letter["url"], letter["reason"], letter["tries"]) == (f"{base}/broken", "server_error", 2)
    assert service.get("/dead?reason=dns_nxdomain").json["dead"] == []
    assert service.post("/dead", {"action": "drop", "reason": "dns_nxdomain"}).json == {"done": 0}
    assert service.post("/dead", {"action": "requeue", "urls": [f"{base}/broken"]}).json == {"done": 1}
    service.wait_for(f"{base}/broken", "stored")
    assert service.get("/dead").json["dead"] == []


def check_consistency(service: Service, base: str) -> None:
    wait_until(lambda: service.get("/crawl").json["state"] == "idle", "the crawl to have nothing to do")
    status, pages = service.get("/status").json, service.pages()
    stored = sum(each["state"] == "stored" for each in pages.values())
    assert (status["pages"], status["discovered"], status["queued"]) == (stored, len(pages), 0)
    assert status["politeness_violations"] == 0
    plain = service.get("/metrics", Accept="application/json").json
    assert plain["gossamer_urls"]["stored"] == stored
    text = service.get("/metrics")
    assert text.headers["content-type"].startswith("text/plain")
    assert re.search(rf'^gossamer_urls{{state="stored"}} {stored}\.0$', text.body.decode(), re.MULTILINE)
    story = service.get(f"/explain?url={base}/short").json
    assert story["state"] == "stored" or story["url"]
    (host,) = service.get("/hosts?sort=fetched&limit=1").json["hosts"]
    assert host["host"] == "127.0.0.1" and host["stored"] == stored
    assert service.get("/healthz").json == service.get("/readyz").json == {"status": "ok"}
