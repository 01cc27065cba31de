"""A real `gossamer serve` on loopback, and a caller."""

import http.client
import json
import select
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

from running import Command, Constants, wait_until

PATIENCE = 60.0
"""Seconds after which something that should come is taken for lost. No test measures time by it."""
UNHURRIED = Constants(
    {"gossamer.service.server.COMMIT_PATIENCE": PATIENCE, "gossamer.service.gate.WRONG_TOKENS": 1_000_000.0}
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
        self.port = 0

    def __enter__(self) -> Self:
        out = self._command.process.stdout
        assert out is not None
        ready, _, _ = select.select([out], [], [], PATIENCE)
        line = out.readline() if ready else ""
        if not line:
            self._command.__exit__()
            raise AssertionError("the service did not start")
        self.port = int(json.loads(line)["address"].rstrip("/").rpartition(":")[2])
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

    def kill(self) -> None:
        self._command.kill()

    def stopped(self) -> int:
        """Stop it through the API; its exit status."""
        assert self.post("/crawl", {"action": "stop"}).status == 200
        status: int = self._command.ended().status
        return status

    def ask(
        self, method: str, path: str, body: bytes | None = None, headers: Mapping[str, str] | None = None
    ) -> Answer:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
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

    def pages(self, query: str = "") -> dict[str, Any]:
        """URL -> page."""
        return {page["url"]: page for page in self.get("/pages?limit=1000" + query).json["pages"]}

    def wait_for(self, url: str, state: str) -> None:
        wait_until(lambda: self.pages().get(url, {}).get("state") == state, f"{url} to be {state}", PATIENCE)
