"""The server: a socket, connections with their limits, and the crawl beside them on one event loop."""

import asyncio
import contextlib
import gc
import ipaddress
import json
import logging
import signal
import socket
import sys
from collections.abc import Callable, Generator
from contextlib import closing
from pathlib import Path
from typing import ClassVar

import uvicorn
import uvloop
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from gossamer.backends.sqlite.database import open_for_reading
from gossamer.backends.sqlite.windows import fact
from gossamer.clock import SteadyClock
from gossamer.config import Config
from gossamer.crawl.session import Session, session
from gossamer.crawl.supervisor import Interrupts
from gossamer.errors import CannotListen, UsageError
from gossamer.observe.log import EventLog
from gossamer.sections import ServiceSection
from gossamer.seed.lists import Seed
from gossamer.service.app import make_app
from gossamer.service.asking import Questions
from gossamer.service.feed import Feed
from gossamer.service.gate import HEADERS, Gate, Policy, names_for
from gossamer.service.metrics import Metrics
from gossamer.service.moments import Sights
from gossamer.service.operator import Operator, Unavailable
from gossamer.service.parts import Parts
from gossamer.service.repeated import Answers, Remembering, Repeating, Short
from gossamer.service.short import ShortWay
from gossamer.service.standing import FACT, StandingOrders, from_text
from gossamer.service.token import token_in

COMMIT_PATIENCE = 3.0
"""Seconds that a caller waits for a commit before it is told to try again."""
SWITCH_SECONDS = 0.0001
"""So long a thread that commits or answers a question may keep the event loop waiting for its turn: the loop lets go of
the interpreter ten times a page, and would wait fifty times as long each time with Python's own 5 ms."""
HANDFUL = 8
"""Documents that are read at one go: callers wait for as long as that takes, some six milliseconds."""
_GRACE = 3  # seconds for answers that are on their way when the service ends


def serve(
    config: Config,
    seeds: list[Seed],
    *,
    add_seeds: bool,
    on_ready: Callable[[str, Path], None],
    reread: Callable[[], Config],
) -> int:
    """Run a crawl and its service until it is told to stop. Returns the exit status. Raises GossamerError.

    `on_ready` is told the address and where the token is. `reread` gives the configuration as it stands now; on SIGHUP
    the rules of entry are taken from it.
    """
    return uvloop.run(_serve(config, seeds, add_seeds, on_ready, reread))


async def _serve(
    config: Config,
    seeds: list[Seed],
    add_seeds: bool,
    on_ready: Callable[[str, Path], None],
    reread: Callable[[], Config],
) -> int:
    logging.getLogger("uvicorn").setLevel(logging.CRITICAL)  # our own log tells what there is to tell
    listening = listen(config.service.host, config.service.port)
    try:
        orders = orders_in(Path(config.dir))
        feed = Feed()
        async with session(orders.applied_to(config), seeds, add_seeds, feed, may_be_empty=True) as opened:
            return await _run(opened, config, orders, feed, listening, on_ready, reread)
    finally:
        listening.close()


async def _run(
    opened: Session,
    config: Config,
    orders: StandingOrders,
    feed: Feed,
    listening: socket.socket,
    on_ready: Callable[[str, Path], None],
    reread: Callable[[], Config],
) -> int:
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)
    sys.setswitchinterval(SWITCH_SECONDS)
    crawl = opened.crawl
    crawl.pipeline.keep_open = True
    crawl.pipeline.desk.handful = HANDFUL
    crawl.store.patience, crawl.store.outlasts_full_disk = config.service.patience, True
    token = token_in(crawl.directory.path)
    operator = Operator(opened, config, orders, patience=COMMIT_PATIENCE)
    feed.open(crawl.pipeline.audience, opened.watch.snapshot, lambda: crawl.store.commits, sights_of(opened, config))
    feed.update(opened.watch.snapshot())
    questions = Questions(crawl.directory.path, crawl.clock)
    loop = asyncio.get_running_loop()
    interrupts = Interrupts(crawl)

    def stop_soon() -> None:
        loop.call_soon(interrupts.received)  # whoever orders it is answered first

    parts = Parts(operator, questions, feed, Metrics(lambda: feed.latest), crawl.pipeline, stop_soon)
    address = listening.getsockname()
    policy = policy_for(config.service, token)
    gate = Gate(make_app(parts), policy, SteadyClock())
    server = Server(server_config(gate, config.service, ShortWay(parts, SteadyClock())))
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, interrupts.received)
    changes: set[asyncio.Task[None]] = set()  # the loop alone would forget them

    def hung_up() -> None:
        changes.add(task := loop.create_task(_take_again(operator, reread, opened.log)))
        task.add_done_callback(changes.discard)

    loop.add_signal_handler(signal.SIGHUP, hung_up)
    try:
        running = asyncio.create_task(crawl.pipeline.run())
        interrupts.running = running
        serving = asyncio.create_task(server.serve(sockets=[listening]))
        await asyncio.wait([asyncio.create_task(server.ready.wait()), serving], return_when=asyncio.FIRST_COMPLETED)
        where = f"http://{'[' + address[0] + ']' if ':' in address[0] else address[0]}:{address[1]}/"
        opened.log.event("service.started", address=where)
        on_ready(where, crawl.directory.path)
        await asyncio.wait([running, serving], return_when=asyncio.FIRST_COMPLETED)
        feed.close()
        server.should_exit = True
        if not running.done():
            crawl.pipeline.stop()
        await asyncio.gather(serving, return_exceptions=True)
        try:
            await running
        except asyncio.CancelledError:
            if not interrupts.count:
                raise
        opened.log.event("service.ended")
    finally:
        questions.close()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            loop.remove_signal_handler(number)
    return 0


async def _take_again(operator: Operator, reread: Callable[[], Config], log: EventLog) -> None:
    """SIGHUP. A configuration that cannot be used changes nothing; the log says why."""
    try:
        await operator.take(reread())
    except UsageError as error:
        log.event("rules.refused", error=str(error))
    except Unavailable:
        log.event("rules.refused", error="the store is not available")
    else:
        log.event("rules.changed")


def sights_of(opened: Session, config: Config) -> Sights:
    """What those who watch are shown of a crawl besides its figures."""
    frontier = config.frontier
    return Sights(
        rests=opened.crawl.frontier.rests.lengths,
        shares=lambda load: frontier.shares_under_load if load == "high" else frontier.shares,
    )


def orders_in(directory: Path) -> StandingOrders:
    """What was ordered the last time; nothing in a directory without a crawl."""
    if not (directory / "crawl.db").exists():
        return StandingOrders()
    with closing(open_for_reading(directory / "crawl.db")) as db:
        return from_text(fact(db, FACT))


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens there. Raises CannotListen."""
    try:
        kind, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        found = socket.socket(kind, socket.SOCK_STREAM)
    except OSError as error:
        raise CannotListen(f"cannot listen on {host}: {error.strerror}") from error
    try:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind(address)
        found.listen(128)
    except OSError as error:
        found.close()
        raise CannotListen(f"cannot listen on {host}:{port}: {error.strerror}") from error
    return found


def policy_for(section: ServiceSection, token: str) -> Policy:
    on_loopback = is_loopback(section.host)
    return Policy(
        token=token,
        names=names_for(section.host, section.names, on_loopback),
        on_loopback=on_loopback,
        max_body_bytes=section.max_body_bytes,
        request_timeout=section.request_timeout,
        max_requests=section.max_requests,
    )


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach what is bound there. A name other than localhost may be anything."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


# --- connections -----------------------------------------------------------------------------------------


def server_config(gate: Gate, section: ServiceSection, short: Short | None = None) -> uvicorn.Config:
    class Connection(Repeating, PatientConnection):
        answers = Answers(SteadyClock(), gate.counts, short)
        head_timeout = section.head_timeout
        most = section.max_connections
        silent: ClassVar[dict[PatientConnection, None]] = {}

    return uvicorn.Config(
        Remembering(gate, Connection.answers),
        http=Connection,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=True,
        proxy_headers=False,
        timeout_keep_alive=10,
        timeout_graceful_shutdown=_GRACE,
    )


class Server(uvicorn.Server):
    """Leaves the signals to us: what they mean concerns the crawl first."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.ready = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.ready.set()

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        yield


class PatientConnection(HttpToolsProtocol):
    """A connection that must bring the head of a request in time. There are only so many: where all are taken, the one
    that has owed its head for longest makes way for the next."""

    head_timeout = 10.0
    most = 100
    silent: ClassVar[dict["PatientConnection", None]] = {}  # those that owe a head, by age
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) > self.most:
            oldest = next(iter(self.silent), None)
            if oldest is None:
                transport.abort()
                return
            oldest._head_is_there()
            oldest.transport.abort()
        self._expect_head()

    def _expect_head(self) -> None:
        if self._timer is None:
            self._timer = self.loop.call_later(self.head_timeout, self.transport.abort)
            self.silent[self] = None

    def _head_is_there(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
            self.silent.pop(self, None)

    def data_received(self, data: bytes) -> None:
        self._expect_head()  # of this request, or of the next on the same connection
        super().data_received(data)
        if self.cycle is not None and not self.cycle.response_complete:
            self._head_is_there()

    def on_headers_complete(self) -> None:
        self._head_is_there()
        super().on_headers_complete()

    def on_response_complete(self) -> None:
        self._head_is_there()  # of a request that was answered at once, too
        super().on_response_complete()

    def send_400_response(self, msg: str) -> None:
        """What is no HTTP, or has a path of more than 64 KB, is answered in JSON like everything else."""
        body = json.dumps({"error": "this is no HTTP request that can be read", "field": None}).encode("ascii")
        own = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode("ascii"))]
        fields = [*self.server_state.default_headers, *own, *HEADERS, (b"connection", b"close")]
        lines = [b"HTTP/1.1 400 Bad Request", *(name + b": " + value for name, value in fields), b"", body]
        self.transport.write(b"\r\n".join(lines))
        self.transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        self._head_is_there()
        super().connection_lost(exc)
