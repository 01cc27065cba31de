"""Serves the simulated web: HTTP and DNS together, in this process, in another one, or as a command.

Another process is for tests and benchmarks that measure the crawler alone.
"""

import asyncio
import contextlib
import json
import os
import select
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from types import TracebackType

import uvloop

from gossamer.clock import Clock, SteadyClock
from gossamer.errors import CannotListen
from gossamer.lab.simweb.certificates import Authority, HostCertificates
from gossamer.lab.simweb.config import SimWebConfig, at, to_json
from gossamer.lab.simweb.dns import NameServer
from gossamer.lab.simweb.server import HttpServer, Recorder, Request, listening_socket, read_log
from gossamer.lab.simweb.web import SimWeb

_READY_SECONDS = 120.0
_STOP_SECONDS = 60.0


class SimwebProcess:
    """A context manager: the server runs inside its block and is terminated on leaving it.

    `config` is the given one until the block is entered; then it has the server's port. (Its epoch stays as given: only
    transient faults depend on it.) With https, `ca_file` is the certificate to trust while the server runs. The server
    also ends if this process dies. `clock` is the file of a `SharedClock`. Raises `CannotListen` if it does not start.
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
            [sys.executable, "-m", "gossamer.lab.simweb"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            process_group=0,  # Ctrl-C at the terminal is for the parent process
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
        """User and system time that the server has used so far. Linux only: read from /proc."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        # Fields 14 and 15 of proc(5), counted from the state, which is the third.
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def web(self) -> SimWeb:
        """The web being served, for its ground truth."""
        return SimWeb(self.config)

    def requests(self) -> list[Request]:
        """The requests in the log so far; complete once the block is left."""
        if self._log is None:
            raise RuntimeError("started without a log")
        with self._log.open(encoding="utf-8") as lines:
            return read_log(lines)

    def _exchange(self, process: subprocess.Popen[str]) -> str:
        """Send the server its configuration; returns its ready line."""
        assert process.stdin is not None and process.stdout is not None and process.stderr is not None
        order = {
            "config": json.loads(to_json(self.config)),
            "http_port": self.http_port,
            "dns_port": self._dns_port,
            "log": str(self._log) if self._log is not None else None,
            "clock": str(self._clock) if self._clock is not None else None,
        }
        with contextlib.suppress(BrokenPipeError):  # it died: its error message follows
            process.stdin.write(json.dumps(order) + "\n")
            process.stdin.flush()
        readable, _, _ = select.select([process.stdout], [], [], _READY_SECONDS)
        line = process.stdout.readline() if readable else ""
        if not line:
            process.kill()
            words = process.stderr.read().strip() or f"no response within {_READY_SECONDS:g} s"
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


class RunningWeb:
    """A web that is being served. Leave its `async with` block, or await `close`, to stop it."""

    def __init__(
        self,
        web: SimWeb,
        http: HttpServer,
        names: NameServer,
        dns_transport: asyncio.DatagramTransport,
        dns_port: int,
        recorder: Recorder,
        authority: Authority | None,
    ) -> None:
        self.web = web
        self.http_port = web.config.port
        self.dns_address = f"127.0.0.1:{dns_port}"
        self.seeds = web.seeds()
        self.ca_file = str(authority.ca_file) if authority is not None else None  # the certificate to trust, with https
        self._http = http
        self._names = names
        self._dns_transport = dns_transport
        self._recorder = recorder
        self._authority = authority

    @property
    def requests(self) -> list[Request]:
        """Every request answered so far, in the order in which they were finished."""
        return self._recorder.requests

    @property
    def dns_queries(self) -> Counter[str]:
        """How often each name was looked up."""
        return self._names.queries

    async def __aenter__(self) -> "RunningWeb":
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        self._dns_transport.close()
        await self._http.close()
        self._recorder.close()
        if self._authority is not None:
            self._authority.close()


async def serve(
    config: SimWebConfig,
    *,
    http_port: int = 0,
    dns_port: int = 0,
    log: Path | None = None,
    keep: bool = True,
    clock: Clock | None = None,
) -> RunningWeb:
    """Start serving `config` on loopback; port 0 takes a free one.

    The web's port and epoch become those of this server. `log` gets a line of JSON for each request; `keep` says
    whether requests are kept in memory too. Raises `CannotListen`, also if it cannot make certificates that it needs.
    """
    clock = clock or SteadyClock()
    async with contextlib.AsyncExitStack() as undo:
        sock, check_peers = listening_socket(http_port)
        undo.callback(sock.close)
        web = SimWeb(at(config, port=sock.getsockname()[1], epoch=clock.now()))
        names = NameServer(web.address_of, zone=config.zone, ttl=config.dns_ttl)
        loop = asyncio.get_running_loop()
        try:
            transport, _ = await loop.create_datagram_endpoint(lambda: names, local_addr=("127.0.0.1", dns_port))
        except OSError as error:
            raise CannotListen(f"cannot listen on port {dns_port} for DNS: {error.strerror or error}") from error
        undo.callback(transport.close)
        recorder = Recorder(log, keep=keep)
        undo.callback(recorder.close)
        authority, tls = None, None
        if config.tls:
            authority = Authority()
            undo.callback(authority.close)
            tls = HostCertificates(authority, [host.name for host in web.hosts]).context
        http = HttpServer(web, clock, recorder, check_peers=check_peers, tls=tls)
        await http.start(sock)
        undo.pop_all()  # success: what was opened stays open
    chosen = int(transport.get_extra_info("sockname")[1])
    return RunningWeb(web, http, names, transport, chosen, recorder, authority)


def run_forever(
    config: SimWebConfig,
    *,
    http_port: int,
    dns_port: int,
    log: Path | None,
    until_eof_of: int | None = None,
    ca_file: Path | None = None,
    clock: Clock | None = None,
) -> int:
    """The command `gossamer simweb`: serve until SIGINT or SIGTERM, then return 0.

    Prints one line of JSON when ready. `until_eof_of` is a file descriptor at whose end of file the server stops too: a
    pipe from the parent process, so that the server does not outlive it. With https, `ca_file` gets a copy of the
    certificate to trust, which stays. Raises `CannotListen`.
    """
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_serve_until_stopped(config, http_port, dns_port, log, until_eof_of, ca_file, clock))
    return 0


async def _serve_until_stopped(
    config: SimWebConfig,
    http_port: int,
    dns_port: int,
    log: Path | None,
    until_eof_of: int | None,
    ca_file: Path | None,
    clock: Clock | None,
) -> None:
    loop = asyncio.get_running_loop()
    stopped = asyncio.Event()
    # Before the ready line: its reader may send a signal at once.
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopped.set)
    # Requests in memory could not be read here.
    serving = serve(config, http_port=http_port, dns_port=dns_port, log=log, keep=False, clock=clock)
    async with await serving as running:
        trusted = running.ca_file
        if ca_file is not None and trusted is not None:
            trusted = _copy(Path(trusted), ca_file)
        ready = {
            "http_port": running.http_port,
            "dns": running.dns_address,
            "seeds": list(running.seeds),
            "ca_file": trusted,
            "pid": os.getpid(),
        }
        print(json.dumps(ready), flush=True)
        if until_eof_of is not None:
            loop.add_reader(until_eof_of, _stop_at_eof, loop, until_eof_of, stopped)
        await stopped.wait()
        if until_eof_of is not None:
            loop.remove_reader(until_eof_of)
    sys.stdout.flush()


def _copy(source: Path, target: Path) -> str:
    try:
        target.write_bytes(source.read_bytes())
    except OSError as error:
        raise CannotListen(f"cannot write {target}: {error.strerror or error}") from error
    return str(target)


def _stop_at_eof(loop: asyncio.AbstractEventLoop, descriptor: int, stopped: asyncio.Event) -> None:
    if not os.read(descriptor, 4096):
        loop.remove_reader(descriptor)
        stopped.set()
