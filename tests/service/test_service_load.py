"""What callers and crawls of size do to the service, by the ids of the hostile web. Times are compared only within one
run. `GOSSAMER_SEEDS`, `GOSSAMER_HOSTS`, `GOSSAMER_TRAP` and `GOSSAMER_SEED_KILLS` ask for the sizes of the cases."""

import contextlib
import http.client
import json
import os
import socket
import sqlite3
import threading
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families
from running import wait_until
from serving import Service
from small_server import Answer, SmallServer, page

from name_server import NXDOMAIN, Reply

pytestmark = pytest.mark.service

SEEDS = int(os.environ.get("GOSSAMER_SEEDS", "200000"))
HOSTS = int(os.environ.get("GOSSAMER_HOSTS", "10000"))
TRAP = int(os.environ.get("GOSSAMER_TRAP", "30000"))
KILLS = int(os.environ.get("GOSSAMER_SEED_KILLS", "4"))
PER_CALL = 100
MIB = 1024 * 1024


def resident(service: Service) -> int:
    """Bytes of memory that the service has now."""
    for line in Path(f"/proc/{service.pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    raise AssertionError("no such process")


def streamed(service: Service, pieces: Iterable[bytes]) -> dict[str, int]:
    """The answer to a body without a length, a URL a line."""
    connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=500)
    headers = {"Authorization": f"Bearer {service.token}", "Content-Type": "application/x-ndjson"}
    connection.request("POST", "/seed/urls", iter(pieces), headers, encode_chunked=True)
    answer = connection.getresponse()
    told = json.loads(answer.read())
    connection.close()
    assert answer.status == 200, told
    return {name: told[name] for name in ("accepted", "known", "refused")}


def lines(urls: Iterable[str]) -> Iterator[bytes]:
    lot: list[str] = []
    for url in urls:
        lot.append(url + "\n")
        if len(lot) == 1000:
            yield "".join(lot).encode()
            lot = []
    yield "".join(lot).encode()


class Watching:
    """Asks again and again while its block runs: how long each answer took, and the most memory that was seen."""

    def __init__(self, service: Service, path: str) -> None:
        self._service = service
        self._path = path
        self._enough = threading.Event()
        self._thread = threading.Thread(target=self._ask)
        self.took: list[float] = []
        self.most_bytes = 0
        self.lasted = 0.0

    def _ask(self) -> None:
        while not self._enough.wait(0.02):
            began = time.monotonic()
            assert self._service.get(self._path).status == 200
            self.took.append(time.monotonic() - began)
            self.most_bytes = max(self.most_bytes, resident(self._service))

    def __enter__(self) -> "Watching":
        self._began = time.monotonic()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.lasted = time.monotonic() - self._began
        self._enough.set()
        self._thread.join()

    @property
    def p99(self) -> float:
        return sorted(self.took)[int(0.99 * len(self.took))]


@contextlib.contextmanager
def no_names() -> Iterator[int]:
    """A name server that knows no name; its port."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind(("127.0.0.1", 0))
        server.settimeout(0.2)
        over = threading.Event()

        def answer() -> None:
            while not over.is_set():
                with contextlib.suppress(TimeoutError):
                    query, caller = server.recvfrom(2000)
                    for packet in Reply(code=NXDOMAIN).packets(query):
                        server.sendto(packet, caller)

        thread = threading.Thread(target=answer)
        thread.start()
        yield server.getsockname()[1]
        over.set()
        thread.join()


def test_ap_04_a_stream_of_seeds_is_taken_in_bounded_memory_while_others_are_served(tmp_path: Path) -> None:
    filling = "/".join("filling" for _ in range(3)) + "/" + "x" * 150
    with Service(tmp_path / "crawl", "--no-allow-private", "--dns", "127.0.0.1:9") as service:
        service.post("/crawl", {"action": "pause"})
        before = resident(service)
        with Watching(service, "/metrics") as watched:
            told = streamed(service, lines(f"http://h{n % 500}.test/{filling}/{n}" for n in range(SEEDS)))
        plain = [f"http://h{n % 500}.test/plain/{n}" for n in range(SEEDS // 10)]
        lots = [plain[at::100] for at in range(100)]
        accepted = sum(service.post("/seed/urls", {"urls": lot}).json["accepted"] for lot in lots)
        again = streamed(service, [b"http://h1.test/plain/1\nhttp://h0.test/new\n"])
        service.kill()

    # Nothing but what is on the disk: the process was not asked to end.
    with contextlib.closing(sqlite3.connect(tmp_path / "crawl" / "crawl.db")) as db:
        assert db.execute("SELECT count(*) FROM urls").fetchone()[0] == SEEDS + len(plain) + 1
    assert told == {"accepted": SEEDS, "known": 0, "refused": 0}
    assert (accepted, again) == (len(plain), {"accepted": 1, "known": 1, "refused": 0})
    # The body has 200 bytes a seed. What stays of one are 80 bytes of the seen test, for at most a million of them;
    # the database's own cache of 64 MiB is filled, and the working set of the frontier.
    assert watched.most_bytes - before < 120 * MIB + 100 * min(SEEDS, 1_000_000)
    assert len(watched.took) >= 50 and watched.p99 < watched.lasted / 20


def test_ap_11_many_hosts_with_odd_names_leave_the_figures_small(tmp_path: Path) -> None:
    odd = ("xn--bcher-kva", "under_score", "-dash", "a" * 60, "1.2.3.4", "star*", "%C3%A4", "q'uote", "x~y")
    (tmp_path / "gossamer.toml").write_text("[retry]\nmax_tries = 1\n")
    with no_names() as port:
        options = ["--config", tmp_path / "gossamer.toml", "--dns", f"127.0.0.1:{port}", "--concurrency", 200]
        with Service(tmp_path / "crawl", "--no-allow-private", *options) as service:
            told = streamed(service, lines(f"http://{odd[n % len(odd)]}.h{n}.test/" for n in range(HOSTS)))
            assert told["accepted"] > 0.9 * HOSTS
            wait_until(lambda: service.get("/status").json["dead"] >= told["accepted"] // 2, "half of it", 500)
            text = service.get("/metrics")

    samples = [s for family in text_string_to_metric_families(text.body.decode()) for s in family.samples]
    assert len(samples) <= 2000 and len(text.body) <= MIB
    assert ".test" not in text.body.decode() and "xn--" not in text.body.decode()
    assert sum(s.value for s in samples if s.labels.get("reason") == "dns_nxdomain") >= told["accepted"] // 2


def test_ap_14_seeds_that_were_confirmed_are_there_after_a_kill(tmp_path: Path) -> None:
    for number in range(KILLS):
        with Service(tmp_path / "crawl", "--no-allow-private", "--dns", "127.0.0.1:9") as service:
            urls = [f"http://h{n}.test/{number}/{n}" for n in range(PER_CALL)]
            told = service.post("/seed/urls", {"urls": urls})
            service.kill()
            assert told.json["accepted"] == PER_CALL

    with Service(tmp_path / "crawl", "--no-allow-private", "--dns", "127.0.0.1:9") as service:
        assert service.get("/status").json["discovered"] == KILLS * PER_CALL
        everything = {
            url for n in range(PER_CALL) for url in service.pages(f"&host=h{n}.test") if url.startswith(f"http://h{n}.")
        }
    assert everything == {f"http://h{n}.test/{number}/{n}" for n in range(PER_CALL) for number in range(KILLS)}


def test_tr_11_a_seed_of_a_new_host_is_fetched_soon_though_the_frontier_is_full_of_a_trap(tmp_path: Path) -> None:
    """Two seconds are a hundred visits to the trap at its delay of 20 ms."""
    with (
        SmallServer(lambda path, _: Answer("", 404) if path == "/robots.txt" else page(path)) as trap,
        SmallServer({"/": page("new")}, "127.0.0.2") as new,
        Service(tmp_path / "crawl", "--scope", "any") as service,
    ):
        told = streamed(service, lines(f"{trap.base}/calendar/{n}" for n in range(TRAP)))
        wait_until(lambda: len(trap.asked) > 20, "the trap to be crawled")
        assert service.post("/seed/urls", {"urls": [new.base + "/"]}).json["accepted"] == 1
        accepted_at = len(trap.asked)
        wait_until(lambda: "/" in new.paths(), "the new host to be visited")
        fetched_at = len(trap.asked)
        queued = service.get("/status").json["queued"]

    assert told["accepted"] == TRAP and queued > TRAP / 2
    assert fetched_at - accepted_at <= 100


def test_bd_18_callers_are_answered_while_a_page_of_four_hundred_thousand_links_is_read(tmp_path: Path) -> None:
    anchors = "".join(f'<a href="/{n:07d}">{n}</a>' for n in range(400_000))
    site = {"/": Answer(f"<title>links</title>{anchors}"[: 10 * MIB])}
    with SmallServer(site) as served, Service(tmp_path / "crawl", "--max-depth", 1) as service:
        with Watching(service, "/status") as watched:
            service.post("/seed/urls", {"urls": [served.base + "/"]})
            service.wait_for(served.base + "/", "stored")
        told = service.get("/status").json

    assert told["pages"] == 1 and told["discovered"] <= 5_001  # 1 where the machine has no two seconds for its links
    assert len(watched.took) >= 10 and watched.p99 < watched.lasted / 2
