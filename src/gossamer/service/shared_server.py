"""Starts the service of a crawl that workers share: the front process with the API, and worker processes of its own, or
none. Any number of services can run at the same time, on any machine; each shows and steers the whole crawl."""

import os
import signal
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from threading import Thread
from types import FrameType

import msgspec
import uvloop

from gossamer.config.load import CONFIG_KEY, Config, config_from_text
from gossamer.crawl.member.worker import STARTER
from gossamer.crawl.run.assemble import assemble
from gossamer.crawl.run.directory import TOKEN
from gossamer.crawl.run.location import CrawlLocation
from gossamer.crawl.run.opener import crawl_exists, open_crawl, open_session, shown_crawl
from gossamer.crawl.run.private_store import SharedStore
from gossamer.crawl.run.workers import keep_crawl_open
from gossamer.errors import DirectoryError, UsageError
from gossamer.seed.lists import Seed
from gossamer.service.access import token_in
from gossamer.service.all_workers import KEPT_OPEN, Awaited
from gossamer.service.front_process import READY, Front, fork_front
from gossamer.service.server import Addresses, NoDisplay, open_sockets
from gossamer.workers.local_workers import run_local_workers


def serve_shared(
    store: SharedStore,
    seeds: list[Seed],
    *,
    workers: int,
    on_ready: Callable[[Addresses, Path], None],
    reread: Callable[[], Config],
) -> int:
    """Serve a crawl, which is created if there is none, until a signal comes or all of the workers that this process
    starts have ended. Returns the exit status. Raises GossamerError."""
    config = store.config
    location, directory = CrawlLocation.of(config), Path(config.dir)
    is_new = _shared_text(location) is None
    if seeds and not workers and not is_new:
        raise UsageError(f"--workers 0: the crawl in {shown_crawl(location)} is running elsewhere; add seeds over HTTP")
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DirectoryError(f"cannot use {directory}: {error.strerror}") from error
    token_in(directory / TOKEN)  # creates it, or says what is wrong with it
    listening, addresses = open_sockets(config)
    awaited = Awaited.WORKER if workers else Awaited.NOTHING
    front = fork_front(listening, config, lambda: _stored_config(config), awaited)
    try:
        for each in listening.opened:
            each.close()  # the front process has its own copy
        if is_new:
            uvloop.run(_create(config, seeds))
        attendance = _Attendance(front, lambda: on_ready(addresses, directory))
        if workers:
            attendance.start()
            with closing(open_session(location)) as session:
                keep_crawl_open(session, KEPT_OPEN)  # the front process goes on with that, as soon as it can
            try:
                run_local_workers(store, seeds, add_seeds=True, display=NoDisplay(), reread=reread)
            finally:
                attendance.end()
        else:
            attendance.run_until_signal()
        return 1 if attendance.is_lost else 0
    finally:
        front.wait()


class _Attendance:
    """Waits for the front process, which must not end before this one."""

    def __init__(self, front: Front, on_ready: Callable[[], None]) -> None:
        self.is_lost = False
        self._front = front
        self._on_ready = on_ready
        self._ending = False

    def start(self) -> None:
        """In a thread: if the front process is lost, end this one as by SIGTERM."""

        def attend() -> None:
            self._attend()
            if self.is_lost:
                os.kill(os.getpid(), signal.SIGTERM)

        Thread(target=attend, name="gossamer-front", daemon=True).start()

    def end(self) -> None:
        """From now on the front process may end."""
        self._ending = True

    def run_until_signal(self) -> None:
        """In the main thread."""

        def on_signal(number: int, frame: FrameType | None) -> None:
            self.end()
            self._front.close()

        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, on_signal)
        signal.signal(signal.SIGHUP, lambda *_: self._front.reload())
        self._attend()

    def _attend(self) -> None:
        with suppress(OSError):  # it was closed
            if self._front.end.recv(1) == READY:
                self._on_ready()
                self._front.end.recv(1)
            self.is_lost = not self._ending


async def _create(config: Config, seeds: list[Seed]) -> None:
    """Create the crawl, as a worker that gets no partitions."""
    own = msgspec.structs.replace(config, workers=1)
    crawl = assemble(own, seeds, add_seeds=True, may_be_empty=True, worker=STARTER)
    await crawl.close()


def _shared_text(location: CrawlLocation) -> str | None:
    """The configuration that the workers share, as text; None if the crawl has not been started."""
    if not crawl_exists(location):
        return None
    with open_crawl(location) as crawl:
        return crawl.reader.status.fact(CONFIG_KEY)


def _stored_config(config: Config) -> Config:
    """The configuration that the workers share, with the parts that concern this process."""
    text = _shared_text(CrawlLocation.of(config))
    if text is None:
        return config
    shared = config_from_text(text, dir=config.dir, store=config.store, unsafe_store=config.unsafe_store)
    return msgspec.structs.replace(shared, service=config.service, max_pages=config.max_pages)
