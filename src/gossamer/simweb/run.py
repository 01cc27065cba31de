"""The simulated web up and running: HTTP and DNS together, inside a program or as a command."""

import asyncio
import contextlib
import json
import os
import signal
import sys
from collections import Counter
from pathlib import Path
from types import TracebackType

import uvloop

from gossamer.clock import Clock, SteadyClock
from gossamer.errors import CannotListen
from gossamer.simweb.certificates import Authority, HostCertificates
from gossamer.simweb.config import SimWebConfig, at
from gossamer.simweb.dns import NameServer
from gossamer.simweb.record import Recorder, Request
from gossamer.simweb.server import HttpServer, listening_socket
from gossamer.simweb.web import SimWeb


class Running:
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
        self.ca_file = str(authority.ca_file) if authority is not None else None  # whom to trust, where it is https
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
    def questions(self) -> Counter[str]:
        """How often each name was looked up."""
        return self._names.questions

    async def __aenter__(self) -> "Running":
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
) -> Running:
    """Start to serve `config` on loopback; port 0 takes a free one.

    The web's own port and epoch become those of this server. `log` gets a line of JSON for each
    request, `keep` says whether they stay in memory too. Raises `CannotListen`, also where it cannot make the
    certificates that it would need.
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
        undo.pop_all()  # all is well: what was opened stays open
    chosen = int(transport.get_extra_info("sockname")[1])
    return Running(web, http, names, transport, chosen, recorder, authority)


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

    Prints one line of JSON when ready. `until_eof_of` is a file descriptor whose end of file stops the server too:
    a pipe from whoever started it, so that it does not outlive them. Where it is https, `ca_file` gets a copy of the
    certificate to be trusted, which stays. Raises `CannotListen`.
    """
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_serve_until_told(config, http_port, dns_port, log, until_eof_of, ca_file, clock))
    return 0


async def _serve_until_told(
    config: SimWebConfig,
    http_port: int,
    dns_port: int,
    log: Path | None,
    until_eof_of: int | None,
    ca_file: Path | None,
    clock: Clock | None,
) -> None:
    loop = asyncio.get_running_loop()
    told = asyncio.Event()
    # Before the ready line: whoever reads it may signal at once.
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, told.set)
    # Nobody could read what is kept in memory here.
    serving = serve(config, http_port=http_port, dns_port=dns_port, log=log, keep=False, clock=clock)
    async with await serving as running:
        trusted = running.ca_file
        if ca_file is not None and trusted is not None:
            trusted = _copied(Path(trusted), ca_file)
        ready = {
            "http_port": running.http_port,
            "dns": running.dns_address,
            "seeds": list(running.seeds),
            "ca_file": trusted,
            "pid": os.getpid(),
        }
        print(json.dumps(ready), flush=True)
        if until_eof_of is not None:
            loop.add_reader(until_eof_of, _stop_at_eof, loop, until_eof_of, told)
        await told.wait()
        if until_eof_of is not None:
            loop.remove_reader(until_eof_of)
    sys.stdout.flush()


def _copied(source: Path, target: Path) -> str:
    try:
        target.write_bytes(source.read_bytes())
    except OSError as error:
        raise CannotListen(f"cannot write {target}: {error.strerror or error}") from error
    return str(target)


def _stop_at_eof(loop: asyncio.AbstractEventLoop, descriptor: int, told: asyncio.Event) -> None:
    if not os.read(descriptor, 4096):
        loop.remove_reader(descriptor)
        told.set()
