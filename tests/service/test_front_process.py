"""The front: a process of its own, that neither outlives the crawl nor takes it along unnoticed."""

import json
import os
import signal
import socket
from pathlib import Path

import pytest

from tests.integration.crawl_process import wait_until
from tests.service.service_process import Service

pytestmark = pytest.mark.service


def front_of(service: Service) -> int:
    children = Path(f"/proc/{service.pid}/task/{service.pid}/children").read_text().split()
    (front,) = [int(child) for child in children if _listens(int(child), service.port)]
    return front


def _listens(pid: int, port: int) -> bool:
    listening = {
        line.split()[9] for line in Path("/proc/net/tcp").read_text().splitlines()[1:] if f":{port:04X} " in line
    }
    links = []
    for each in Path(f"/proc/{pid}/fd").iterdir():
        try:
            links.append(os.readlink(each))
        except FileNotFoundError:  # closed meanwhile
            continue
    return any(f"socket:[{inode}]" in links for inode in listening)


def is_gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


def test_it_ends_with_a_crawl_that_is_killed_and_gives_its_port_back(tmp_path: Path) -> None:
    with Service(tmp_path / "crawl") as service:
        front = front_of(service)

        service.kill()

        wait_until(lambda: is_gone(front), "the front to end")
        with socket.socket() as again:
            again.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            again.bind(("127.0.0.1", service.port))


def test_a_crawl_whose_front_is_killed_stops_in_order_and_says_so(tmp_path: Path) -> None:
    with Service(tmp_path / "crawl") as service:
        urls = [f"http://127.0.0.1:8099/{number}" for number in range(3)]
        assert service.post("/seed/urls", {"urls": urls}).json["accepted"] == 3

        os.kill(front_of(service), signal.SIGKILL)

        assert service._command.ended().status == 1
    events = [json.loads(line)["event"] for line in (tmp_path / "crawl" / "crawl.log").read_text().splitlines()]
    assert events.index("service.lost") < events.index("service.ended") < events.index("crawl.ended")


def test_signals_for_the_whole_group_leave_the_end_to_the_crawl(tmp_path: Path) -> None:
    with Service(tmp_path / "crawl") as service:
        front = front_of(service)
        for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            os.kill(front, each)

        assert service.get("/crawl").json == {"state": "idle"}
        assert service.get("/healthz").status == 200
        assert service.stopped() == 0
        assert is_gone(front)


def test_status_and_events_report_the_usage_of_both_processes(tmp_path: Path) -> None:
    with Service(tmp_path / "crawl") as service:
        status = service.get("/status").json
        pictures = (json.loads(data) for name, _, data in service.events() if name == "status")
        watched = next(picture for picture in pictures if picture["front"])  # the first may know nothing of it yet
        text = service.get("/metrics").body.decode()

    for front in (status["front"], watched["front"]):
        assert front["cpu_seconds"] > 0 and 0 < front["rss_bytes"] <= front["max_rss_bytes"]
    assert status["cpu_seconds"] > 0 and status["max_rss_bytes"] > 0
    for name in ("cpu_seconds_total", "rss_bytes", "max_rss_bytes"):
        assert {f'gossamer_{name}{{process="{process}"}}' for process in ("crawl", "front")} <= {
            line.rpartition(" ")[0] for line in text.splitlines()
        }


def test_what_was_changed_is_seen_in_front_by_the_next_call(tmp_path: Path) -> None:
    with Service(tmp_path / "crawl") as service:
        service.post("/crawl", {"action": "pause"})
        for number in range(20):
            urls = [f"http://h{number}.test/{page}" for page in range(number + 1)]
            assert service.post("/seed/urls", {"urls": urls}).json["accepted"] == number + 1
            assert service.get("/status").json["discovered"] == (number + 1) * (number + 2) // 2
            assert service.get(f"/explain?url={urls[-1]}").json["state"] == "queued"
            assert len(service.get(f"/pages?host=h{number}.test").json["pages"]) == number + 1
        for number in range(20):
            action = "pause" if number % 2 else "drop"
            service.post(f"/hosts/h{number}.test", {"action": action})
            (found,) = service.get(f"/hosts?q=h{number}.test&limit=1").json["hosts"]
            assert (found["paused"], found["dropped"]) == (action == "pause", action == "drop")


def test_the_metrics_port_has_metrics_and_liveness_for_everybody_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "gossamer.toml").write_text("[service]\nmetrics_listen = '127.0.0.1:0'\n")
    with Service(tmp_path / "crawl", "--config", tmp_path / "gossamer.toml", "--host", "0.0.0.0") as service:

        def status(method: str, path: str, **headers: str) -> int:
            return service.ask(method, path, None, headers, service.metrics_port).status

        assert service.ask("GET", "/metrics", port=service.metrics_port).body.startswith(b"# HELP gossamer_")
        assert {status(method, path) for method in ("GET", "HEAD") for path in ("/metrics", "/healthz")} == {200}
        assert status("GET", "/metrics", Host="gossamer.internal:9470") == 200
        token = {"Authorization": f"Bearer {service.token}"}
        for path in ("/", "/login", "/status", "/readyz", "/crawl", "/page/style.css", "/metrics/", "/nowhere"):
            assert status("GET", path, **token) == 404, path
        assert {status(method, "/metrics", **token) for method in ("POST", "PUT", "OPTIONS")} == {405}
        assert service.get("/metrics").status == 401
