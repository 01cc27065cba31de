"""What callers and crawls of size do to the service, by the ids of the hostile web. `GOSSAMER_SEEDS`, `GOSSAMER_HOSTS`,
`GOSSAMER_TRAP` and `GOSSAMER_SEED_KILLS` ask for the sizes of the cases."""

import contextlib
import http.client
import json
import os
import socket
import sqlite3
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.integration.crawl_process import Constants, wait_until
from tests.integration.small_server import Answer, SmallServer, page
from tests.name_server import NXDOMAIN, Reply
from tests.service.service_process import Service

pytestmark = pytest.mark.service

SEEDS = int(os.environ.get("GOSSAMER_SEEDS", "40000"))
HOSTS = int(os.environ.get("GOSSAMER_HOSTS", "2000"))
TRAP = int(os.environ.get("GOSSAMER_TRAP", "6000"))
KILLS = int(os.environ.get("GOSSAMER_SEED_KILLS", "2"))
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
    response = json.loads(answer.read())
    connection.close()
    assert answer.status == 200, response
    return {name: response[name] for name in ("accepted", "known", "refused")}


def lines(urls: Iterable[str]) -> Iterator[bytes]:
    lot: list[str] = []
    for url in urls:
        lot.append(url + "\n")
        if len(lot) == 1000:
            yield "".join(lot).encode()
            lot = []
    yield "".join(lot).encode()


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
        answers: list[int] = []
        memory: list[int] = []

        def pieces() -> Iterator[bytes]:
            for number, lot in enumerate(lines(f"http://h{n % 500}.test/{filling}/{n}" for n in range(SEEDS))):
                yield lot
                if number % 10 == 9:  # in the midst of the stream
                    answers.extend(service.get(path).status for path in ("/metrics", "/crawl"))
                    memory.append(resident(service))

        response = streamed(service, pieces())
        plain = [f"http://h{n % 500}.test/plain/{n}" for n in range(SEEDS // 10)]
        lots = [plain[at::100] for at in range(100)]
        accepted = sum(service.post("/seed/urls", {"urls": lot}).json["accepted"] for lot in lots)
        again = streamed(service, [b"http://h1.test/plain/1\nhttp://h0.test/new\n"])
        service.kill()

    # Nothing but what is on the disk: the process was not asked to end.
    with contextlib.closing(sqlite3.connect(tmp_path / "crawl" / "crawl.db")) as db:
        assert db.execute("SELECT count(*) FROM urls").fetchone()[0] == SEEDS + len(plain) + 1
    assert response == {"accepted": SEEDS, "known": 0, "refused": 0}
    assert (accepted, again) == (len(plain), {"accepted": 1, "known": 1, "refused": 0})
    # The body has 200 bytes a seed. What stays of one are 80 bytes of the seen test, for at most a million of them;
    # the database's own cache of 64 MiB is filled, and the working set of the frontier.
    assert max(memory) - before < 120 * MIB + 100 * min(SEEDS, 1_000_000)
    assert answers == [200] * (2 * (SEEDS // 10_000))


def test_ap_11_many_hosts_with_odd_names_leave_the_metrics_small(tmp_path: Path) -> None:
    odd = ("xn--bcher-kva", "under_score", "-dash", "a" * 60, "1.2.3.4", "%C3%A4", "dash-", "_dmarc", "--")
    (tmp_path / "gossamer.toml").write_text("[retry]\nmax_tries = 1\n")
    with no_names() as port:
        options = ["--config", tmp_path / "gossamer.toml", "--dns", f"127.0.0.1:{port}", "--concurrency", 200]
        with Service(tmp_path / "crawl", "--no-allow-private", *options) as service:
            response = streamed(service, lines(f"http://{odd[n % len(odd)]}.h{n}.test/" for n in range(HOSTS)))
            assert response["accepted"] > 0.9 * HOSTS
            wait_until(lambda: service.get("/status").json["dead"] >= response["accepted"] // 2, "half of it", 500)
            text = service.get("/metrics")

    samples = [s for family in text_string_to_metric_families(text.body.decode()) for s in family.samples]
    assert len(samples) <= 2000 and len(text.body) <= MIB
    assert ".test" not in text.body.decode() and "xn--" not in text.body.decode()
    assert sum(s.value for s in samples if s.labels.get("reason") == "dns_nxdomain") >= response["accepted"] // 2


def test_ap_14_seeds_that_were_confirmed_are_there_after_a_kill(tmp_path: Path) -> None:
    for number in range(KILLS):
        with Service(tmp_path / "crawl", "--no-allow-private", "--dns", "127.0.0.1:9") as service:
            urls = [f"http://h{n}.test/{number}/{n}" for n in range(PER_CALL)]
            response = service.post("/seed/urls", {"urls": urls})
            service.kill()
            assert response.json["accepted"] == PER_CALL

    with Service(tmp_path / "crawl", "--no-allow-private", "--dns", "127.0.0.1:9") as service:
        assert service.get("/status").json["discovered"] == KILLS * PER_CALL
        everything = {
            url for n in range(PER_CALL) for url in service.pages(f"&host=h{n}.test") if url.startswith(f"http://h{n}.")
        }
    assert everything == {f"http://h{n}.test/{number}/{n}" for n in range(PER_CALL) for number in range(KILLS)}


def test_tr_11_a_seed_of_a_new_host_is_fetched_soon_though_the_frontier_is_full_of_a_trap(tmp_path: Path) -> None:
    """Two seconds are a hundred visits to the trap at its delay of 20 ms."""
    visits_before: list[int] = []

    def new_site(path: str, _: int) -> Answer:
        if path == "/robots.txt":
            return Answer("", 404)
        visits_before.append(len(trap.asked))
        return page("new")

    with (
        SmallServer(lambda path, _: Answer("", 404) if path == "/robots.txt" else page(path)) as trap,
        SmallServer(new_site, "127.0.0.2") as new,
        Service(tmp_path / "crawl", "--scope", "any") as service,
    ):
        response = streamed(service, lines(f"{trap.base}/calendar/{n}" for n in range(TRAP)))
        wait_until(lambda: len(trap.asked) > 20, "the trap to be crawled")
        assert service.post("/seed/urls", {"urls": [new.base + "/"]}).json["accepted"] == 1
        accepted_at = len(trap.asked)
        wait_until(lambda: visits_before, "the new host to be visited")

    assert response["accepted"] == TRAP
    assert visits_before[0] - accepted_at <= 100


PATIENT = Constants({"gossamer.extract.large_pages.READING_SECONDS": 600.0})
"""Large pages are read however slow the machine is."""


def test_bd_18_callers_are_answered_while_a_page_of_four_hundred_thousand_links_is_read(tmp_path: Path) -> None:
    anchors = "".join(f'<a href="/{n:07d}">{n}</a>' for n in range(400_000))
    site = {"/": Answer(f"<title>links</title>{anchors}"[: 10 * MIB])}
    answers: list[tuple[int, int]] = []
    with SmallServer(site) as served, Service(tmp_path / "crawl", "--max-depth", 1, PATIENT) as service:

        def all_links_are_known() -> bool:
            answers.append((service.get("/crawl").status, service.get("/metrics").status))
            return bool(service.get("/status").json["discovered"] == 5_001)  # at most 5,000 links of a page

        service.post("/seed/urls", {"urls": [served.base + "/"]})
        wait_until(all_links_are_known, "5,000 links of the page")

    assert set(answers) == {(200, 200)}
