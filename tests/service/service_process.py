"""A real `gossamer serve` on loopback, and a caller."""

import http.client
import json
import os
import select
import socket
from collections.abc import Generator, Mapping
from contextlib import closing, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

from tests.integration.crawl_process import Command, Constants, wait_until

PATIENCE = 300.0
"""Seconds after which something that should come is taken for lost. No test measures time by it."""
UNHURRIED = Constants(
    {"gossamer.service.front_process.COMMIT_PATIENCE": PATIENCE, "gossamer.service.access.WRONG_TOKENS": 1_000_000.0}
)
"""A slow disk is waited for, and wrong tokens are all answered in the same way."""


class Answer(NamedTuple):
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Service:
    """The service of a directory while its block runs; ended as Ctrl-C would end it."""

    def __init__(self, directory: Path, *options: object) -> None:
        self.directory = directory
        fixed = ["--dir", directory, "--port", 0, "--allow-private", "--delay", 0.02, "--delay-factor", 0, "--json"]
        self._command = Command("serve", *fixed, UNHURRIED, *options)
        self.port = self.metrics_port = 0

    def __enter__(self) -> Self:
        out = self._command.process.stdout
        assert out is not None
        ready, _, _ = select.select([out], [], [], PATIENCE)
        line = out.readline() if ready else ""
        if not line:
            self._command.__exit__()
            raise AssertionError("the service did not start")
        self.announced: dict[str, Any] = json.loads(line)
        told = self.announced
        self.port = int(told["address"].rstrip("/").rpartition(":")[2])
        self.metrics_port = int(told.get("metrics_address", ":0").rstrip("/").rpartition(":")[2])
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._command.__exit__()

    @property
    def pid(self) -> int:
        return self._command.process.pid

    @property
    def token(self) -> str:
        return (self.directory / "service.token").read_text().strip()

    @property
    def log(self) -> str:
        """What it has logged so far. The file is there from the first line on."""
        path = self.directory / "crawl.log"
        return path.read_text() if path.exists() else ""

    def kill(self) -> None:
        self._command.kill()

    def stopped(self) -> int:
        """Stop it through the API; its exit status."""
        assert self.post("/crawl", {"action": "stop"}).status == 200
        status: int = self._command.ended().status
        return status

    def ask(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        port: int | None = None,
    ) -> Answer:
        connection = http.client.HTTPConnection("127.0.0.1", port or self.port, timeout=PATIENCE)
        try:
            connection.request(method, path, body, dict(headers or {}))
            answer = connection.getresponse()
            fields = {name.lower(): value for name, value in answer.getheaders()}
            return Answer(answer.status, fields, answer.read())
        finally:
            connection.close()

    def get(self, path: str, **headers: str) -> Answer:
        return self.ask("GET", path, None, headers)

    def post(self, path: str, body: object, **headers: str) -> Answer:
        """With the token, as JSON, unless `headers` say otherwise."""
        usual = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        return self.ask("POST", path, raw, {**usual, **{name.replace("_", "-"): v for name, v in headers.items()}})

    def events(self, last: str | None = None) -> Generator[tuple[str, str, bytes], None, None]:
        """The events of a new client as they come: name, id and data of each."""
        headers = {} if last is None else {"Last-Event-ID": last}
        with closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)) as connection:
            connection.request("GET", "/events", headers=headers)
            stream = connection.getresponse()
            fields: dict[bytes, bytes] = {}
            while line := stream.readline():
                name, _, value = line.rstrip(b"\n").partition(b": ")
                if name:
                    fields[name] = value
                elif b"event" in fields:
                    yield fields[b"event"].decode(), fields.get(b"id", b"").decode(), fields[b"data"]
                    fields = {}

    def pages(self, query: str = "") -> dict[str, Any]:
        """URL -> page."""
        return {page["url"]: page for page in self.get("/pages?limit=1000" + query).json["pages"]}

    def wait_for(self, url: str, state: str) -> None:
        wait_until(lambda: self.pages().get(url, {}).get("state") == state, f"{url} to be {state}", PATIENCE)


def lasting_port() -> int:
    """A port that the kernel does not hand out, so it stays free between two services."""
    first = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    for port in range(first - 1 - os.getpid() % 10_000, 1_024, -1):
        with socket.socket() as tried, suppress(OSError):
            tried.bind(("127.0.0.1", port))
            return port
    raise AssertionError("no port is free")
