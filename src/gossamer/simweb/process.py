"""The simulated web in a process of its own, for tests and benchmarks that measure the crawler's alone."""

import contextlib
import json
import os
import select
import subprocess
import sys
from pathlib import Path
from types import TracebackType

from gossamer.errors import CannotListen
from gossamer.simweb.config import SimWebConfig, at, to_json
from gossamer.simweb.record import Request, read_log
from gossamer.simweb.web import SimWeb

_READY_SECONDS = 120.0
_STOP_SECONDS = 60.0


class SimwebProcess:
    """A context manager: the server runs inside its block and is ended, by its id, on leaving it.

    `config` is the one given until the block is entered; then it has the server's port. (Its epoch stays as
    given: only transient faults depend on it.) Where it is https, `ca_file` is whom to trust, as long as the server
    lives. The server also ends by itself when this process dies. `clock` is the file of a `SharedClock`.
    Raises `CannotListen` if it does not come up.
    """

    def __init__(
        self,
        config: SimWebConfig,
        log: Path | None = None,
        *,
        http_port: int = 0,
        dns_port: int = 0,
        clock: Path | None = None,
    ) -> None:
        self.config = config
        self.http_port = http_port
        self.dns_address = ""
        self.seeds: tuple[str, ...] = ()
        self.ca_file: str | None = None
        self.cpu_seconds_at_exit = 0.0
        self._dns_port = dns_port
        self._log = log
        self._clock = clock
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> "SimwebProcess":
        process = subprocess.Popen(
            [sys.executable, "-m", "gossamer.simweb"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            process_group=0,  # Ctrl-C at the terminal is meant for whoever started us
        )
        self._process = process
        try:
            ready = json.loads(self._exchange(process))
        except BaseException:
            self._stop()
            raise
        self.http_port = ready["http_port"]
        self.dns_address = ready["dns"]
        self.seeds = tuple(ready["seeds"])
        self.ca_file = ready["ca_file"]
        self.config = at(self.config, port=self.http_port, epoch=self.config.epoch)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop()

    @property
    def pid(self) -> int:
        if self._process is None:
            raise RuntimeError("the server runs only inside the block")
        return self._process.pid

    def cpu_seconds(self) -> float:
        """User and system time the server has used up to now. Linux only: read from /proc."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        # Fields 14 and 15 of proc(5), counted from the state, which is the third.
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def web(self) -> SimWeb:
        """The web being served, for its ground truth."""
        return SimWeb(self.config)

    def requests(self) -> list[Request]:
        """What the log holds so far; complete once the block is left."""
        if self._log is None:
            raise RuntimeError("started without a log")
        with self._log.open(encoding="utf-8") as lines:
            return read_log(lines)

    def _exchange(self, process: subprocess.Popen[str]) -> str:
        """Tell the server what to serve; returns its ready line."""
        assert process.stdin is not None and process.stdout is not None and process.stderr is not None
        order = {
            "config": json.loads(to_json(self.config)),
            "http_port": self.http_port,
            "dns_port": self._dns_port,
            "log": str(self._log) if self._log is not None else None,
            "clock": str(self._clock) if self._clock is not None else None,
        }
        with contextlib.suppress(BrokenPipeError):  # it died: its last words follow
            process.stdin.write(json.dumps(order) + "\n")
            process.stdin.flush()
        readable, _, _ = select.select([process.stdout], [], [], _READY_SECONDS)
        line = process.stdout.readline() if readable else ""
        if not line:
            process.kill()
            words = process.stderr.read().strip() or f"no sign of life within {_READY_SECONDS:g} s"
            raise CannotListen(f"the simulated web did not start: {words}")
        return line

    def _stop(self) -> None:
        process = self._process
        if process is None:
            return
        if process.poll() is None:
            with contextlib.suppress(OSError):
                self.cpu_seconds_at_exit = self.cpu_seconds()
            process.terminate()
            try:
                process.wait(_STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe is not None:
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()
        self._process = None
