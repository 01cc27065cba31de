"""A private S3 server: SeaweedFS, bound to loopback, for the tests that need one, which may kill it and start it again.

It ends with the test process, however that ends.
"""

import ctypes
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from gossamer.backends.objects.storage import ObjectStorage
from gossamer.errors import StoreFailed
from tests.integration.crawl_process import wait_until
from tests.s3_keys import KEYS

PATIENCE = 600.0
"""Seconds after which a server is taken for hanging. No test measures time by it."""
BUCKET = "crawls"
"""It has this one from the start."""
_PORTS = ("master", "volume", "filer", "s3")
_PR_SET_PDEATHSIG = 1


class S3Server:
    """One server with its files. `start`, `kill` and `stop` are called from one thread, which outlives the server."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None
        (folder / "data").mkdir(exist_ok=True)
        (folder / "s3.json").write_text(json.dumps(_identities()))
        self._ports = _free_ports(2 * len(_PORTS))

    @property
    def port(self) -> int:
        return self._ports[2 * _PORTS.index("s3")]

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def url(self, place: str, endpoint: str | None = None) -> str:
        """Address of an archive, `BUCKET/PREFIX`."""
        return f"s3://{place}?endpoint={endpoint or self.endpoint}"

    def start(self) -> None:
        """Start the server, also after it was killed, and wait until objects can be put."""
        for _ in range(5):  # a port may have been taken in the meantime
            if self._try_to_start():
                return
            if not (self._folder / "began").exists():
                self._ports = _free_ports(2 * len(_PORTS))
        raise RuntimeError(f"the server does not start:\n{self.log()[-2000:]}")

    def _try_to_start(self) -> bool:
        ports = [
            f"-{name}.port{kind}={port}"
            for (name, kind), port in zip(
                ((name, kind) for name in _PORTS for kind in ("", ".grpc")), self._ports, strict=True
            )
        ]
        command = [
            *(str(Path(sys.executable).with_name("weed")), "-logtostderr", "server"),
            *("-ip=127.0.0.1", "-ip.bind=127.0.0.1", f"-dir={self._folder / 'data'}", "-master.telemetry=false"),
            *(
                "-filer",
                f"-filer.localSocket={self._folder / 'filer.sock'}",
                "-s3",
                "-s3.iam=false",
                "-s3.port.iceberg=0",
                "-s3.port.lance=0",
            ),
            *(f"-s3.config={self._folder / 's3.json'}", f"-s3.localSocket={self._folder / 's3.sock'}"),
            *("-master.volumeSizeLimitMB=64", "-volume.max=0", *ports),
        ]
        with open(self._folder / "server.log", "ab") as log:
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, preexec_fn=_end_with_parent
            )
        process = self._process
        probe = ObjectStorage(self.url(BUCKET), seconds=30.0)

        def decided() -> bool:
            if process.poll() is not None:
                return True
            with suppress(StoreFailed):
                probe.put("probe", b"1")
                return True
            return False

        wait_until(decided, "the S3 server to answer", PATIENCE)
        if process.poll() is not None:
            self._process = None
            return False
        (self._folder / "began").touch()
        return True

    def kill(self) -> None:
        """kill -9. Its files stay as they are."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        if self._process is not None:
            self._end(signal.SIGKILL)

    def pause(self) -> None:
        """It accepts connections, and answers nothing."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        assert self._process is not None
        self._process.send_signal(signal.SIGCONT)

    def _end(self, number: int) -> None:
        assert self._process is not None
        self._process.send_signal(number)
        self._process.wait(PATIENCE)
        self._process = None

    def log(self) -> str:
        return (self._folder / "server.log").read_text(errors="replace")


def _identities() -> dict[str, object]:
    keys = {"accessKey": KEYS["AWS_ACCESS_KEY_ID"], "secretKey": KEYS["AWS_SECRET_ACCESS_KEY"]}
    return {"identities": [{"name": "tester", "credentials": [keys], "actions": ["Admin", "Read", "Write", "List"]}]}


def _free_ports(number: int) -> list[int]:
    with_sockets = [socket.socket() for _ in range(number)]
    try:
        for each in with_sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in with_sockets]
    finally:
        for each in with_sockets:
            each.close()


def _end_with_parent() -> None:
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


@contextmanager
def s3_server() -> Iterator[S3Server]:
    """A running server."""
    os.environ |= KEYS
    folder = Path(tempfile.mkdtemp(prefix="gossamer-s3-"))
    server = S3Server(folder)
    try:
        server.start()
        yield server
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)
