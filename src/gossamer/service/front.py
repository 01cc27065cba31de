"""The front: connections have a process of their own.

The crawl's event loop is busy for milliseconds at a time, and its threads compete for the interpreter; whoever asks for
figures should not wait for that, nor slow it down. What passes the gate and is only read (the database, the last
picture of the crawl) is answered here; the rest goes over the link to the application beside the crawl
(`service.across`), which alone touches it.
"""

import asyncio
import gc
import logging
import os
import signal
import socket
import sys
import traceback
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, NoReturn

import uvloop

from gossamer.clock import SteadyClock, clock_of
from gossamer.config import Config
from gossamer.crawl.memory import own_use
from gossamer.filter.domains import registrable_domain
from gossamer.link import Link
from gossamer.model.units import HostKey
from gossamer.observe.snapshot import ProcessUse, Snapshot
from gossamer.service.across import Across
from gossamer.service.asking import Questions
from gossamer.service.connections import Server, server_config
from gossamer.service.gate import App, Gate, Policy
from gossamer.service.metrics import Metrics
from gossamer.service.parts import Parts
from gossamer.service.standing import StandingOrders
from gossamer.service.starting import answered_until

_PATIENCE: Final = 10.0  # seconds; connections have three


@dataclass(slots=True)
class Shown:
    """What the front knows of the crawl: the last that it was shown."""

    config: Config
    orders: StandingOrders
    latest: Snapshot | None = None
    stopping: bool = False
    paused: bool = False

    def with_own_use(self) -> ProcessUse:
        """Have the picture tell what this process has taken."""
        used = own_use()
        self.latest = None if self.latest is None else replace(self.latest, front=used)
        return used


def forked(listening: socket.socket, app: App, parts: Parts) -> tuple[int, socket.socket]:
    """A front for this socket: the number of its process, and our end of the link. It waits until it is opened, fills
    in the parts of the application that are read there, and ends when our end is closed. To be called before there is
    any thread or event loop."""
    ours, theirs = socket.socketpair()
    registrable_domain(HostKey("host.test"))  # has the list of suffixes read, once for both
    sys.stdout.flush()
    sys.stderr.flush()
    number = os.fork()
    if number == 0:
        ours.close()
        _live(listening, theirs, app, parts)
    theirs.close()
    return number, ours


def end_of(number: int, link: socket.socket) -> None:
    """End the front, by closing the link. Calls that are on their way have their time."""
    with link, suppress(OSError):
        link.shutdown(socket.SHUT_WR)
        link.settimeout(_PATIENCE)
        while link.recv(65536):
            pass  # the last words of somebody whom nobody asks any more
    with suppress(ProcessLookupError):
        os.kill(number, signal.SIGKILL)  # it has ended, unless its time is up
    os.waitpid(number, 0)


def _live(listening: socket.socket, end: socket.socket, app: App, parts: Parts) -> NoReturn:
    """What the front's process does. Nothing of its parent's clearing up is done here a second time."""
    for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(each, signal.SIG_IGN)  # they concern the crawl; it tells us
    status = 1
    try:
        logging.getLogger("uvicorn").setLevel(logging.CRITICAL)
        gc.freeze()  # what both processes have is for neither to look through
        gc.set_threshold(50_000, 20, 50)
        uvloop.run(_serve(listening, end, app, parts))
        status = 0
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(status)


async def _serve(listening: socket.socket, end: socket.socket, app: App, parts: Parts) -> None:
    link = await Link.over(end)
    heard = link.heard()
    opening = await answered_until(anext(heard, None), listening)
    if opening is None:
        return  # there is no crawl after all
    _, policy, shown = opening
    _fill_in(parts, shown)
    link.tell("used", shown.with_own_use())
    questions = parts.questions
    server, across = _made(link, app, policy, shown)

    async def hear() -> None:
        async for what, *rest in heard:
            if what == "shown":
                shown.latest, shown.stopping, shown.paused, ordered = rest
                link.tell("used", shown.with_own_use())
                shown.config, shown.orders = ordered or (shown.config, shown.orders)
            elif what == "close":
                server.should_exit = True
            else:
                across.heard(what, *rest)
        across.lost()
        server.should_exit = True

    hearing = asyncio.create_task(hear())
    await server.serve(sockets=[listening])
    hearing.cancel()
    questions.close()


def _fill_in(parts: Parts, shown: Shown) -> None:
    directory = Path(shown.config.dir)
    parts.crawl = shown
    parts.questions = Questions(directory, clock_of(directory))
    parts.metrics = Metrics(lambda: shown.latest)


def _made(link: Link, app: App, policy: Policy, shown: Shown) -> tuple[Server, Across]:
    across = Across(app, link)
    gate = Gate(across, policy, SteadyClock())
    return Server(server_config(gate, shown.config.service), lambda: link.tell("ready")), across
