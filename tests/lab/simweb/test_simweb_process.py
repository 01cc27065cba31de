"""The web as a process and as a command."""

import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from gossamer.errors import CannotListen
from gossamer.lab.simweb.audit import ground_truth
from gossamer.lab.simweb.config import SimWebConfig, to_json
from gossamer.lab.simweb.run import SimwebProcess
from gossamer.lab.simweb.server import read_log
from gossamer.model.units import Instant

pytestmark = pytest.mark.service
CONFIG = SimWebConfig(hosts=10, pages=100, fault_rate=0.0, static_pages=1.0)


def fetch(port: int, host: str, target: str = "/") -> bytes:
    with socket.create_connection(("127.0.0.1", port), timeout=60) as sock:
        sock.sendall(f"GET {target} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
        received = b""
        while piece := sock.recv(65_536):
            received += piece
    return received


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_the_server_lives_in_the_block_and_no_longer(tmp_path: Path) -> None:
    with SimwebProcess(CONFIG, log=tmp_path / "log") as server:
        pid = server.pid
        answer = fetch(server.http_port, "portal.test")
        cpu = server.cpu_seconds()

    assert answer.startswith(b"HTTP/1.1 200 OK")
    assert not is_running(pid)
    assert server.cpu_seconds_at_exit >= cpu > 0
    assert [(r.host, r.target, r.status) for r in server.requests()] == [("portal.test", "/", 200)]


def test_the_web_in_the_process_is_the_one_we_know_the_truth_of() -> None:
    with SimwebProcess(CONFIG) as server:
        web = server.web()
        truth = ground_truth(web)
        assert set(server.seeds) <= truth.stored
        for url in sorted(truth.stored)[:20]:
            authority, _, path = url.removeprefix("http://").partition("/")
            served = fetch(server.http_port, authority, f"/{path}").partition(b"\r\n\r\n")[2]
            assert served == web.respond(authority.partition(":")[0], f"/{path}", Instant(0.0)).body


def test_a_server_that_cannot_start_says_why() -> None:
    with (
        SimwebProcess(CONFIG) as first,
        pytest.raises(CannotListen, match=f"{first.http_port}.*in use"),
        SimwebProcess(CONFIG, http_port=first.http_port),
    ):
        pass


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, None], ids=["SIGINT", "SIGTERM", "end of input"])
def test_the_server_ends_cleanly_when_told(how: signal.Signals | None, tmp_path: Path) -> None:
    log = tmp_path / "log"
    order = {"config": json.loads(to_json(CONFIG)), "http_port": 0, "dns_port": 0, "log": str(log)}
    process = subprocess.Popen(
        [sys.executable, "-m", "gossamer.lab.simweb"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdin is not None and process.stdout is not None
    with process:
        process.stdin.write(json.dumps(order) + "\n")
        process.stdin.flush()
        ready = json.loads(process.stdout.readline())
        fetch(ready["http_port"], "portal.test")
        if how is not None:
            process.send_signal(how)
        else:
            process.stdin.close()
        rest = process.stdout.read()

        assert process.wait(20) == 0

    assert ready["pid"] == process.pid
    assert ready["seeds"][0] == f"http://portal.test:{ready['http_port']}/"
    assert ready["dns"].startswith("127.0.0.1:")
    assert rest == ""
    with log.open() as lines:
        assert len(read_log(lines)) == 1


def test_a_log_cut_short_by_a_kill_is_read_up_to_the_cut() -> None:
    whole = '{"host":"a","target":"/","status":200,"read_at":1.0,"written_at":2.0,"connection":1,"address":"b"}\n'

    assert len(read_log([whole, whole[:40]])) == 1
