"""A worker: a process that crawls its share, as long as its supervisor is running.

Started as `python -m gossamer.workers.worker LINK GATES`, with the file descriptors of its end of the link and of the
table of addresses. Everything else comes over the link.
"""

import asyncio
import gc
import signal
import socket
import sys
from typing import Any

import uvloop

from gossamer.crawl.run.session import Session, session
from gossamer.crawl.run.signals import Interrupts
from gossamer.errors import GossamerError, UsageError
from gossamer.ipc import Link
from gossamer.observe.snapshot import Snapshot
from gossamer.workers.hub import (
    ACKNOWLEDGED,
    ALLOW,
    BEGIN,
    ENDED,
    FAILED,
    OPEN,
    RESTARTED,
    RULES,
    SNAPSHOT,
    START,
    STOP,
    URLS,
    Begin,
)
from gossamer.workers.outbox_exchange import OutboxExchange
from gossamer.workers.shared_gates import SharedGates


class SnapshotSender:
    """A display that sends snapshots to the supervisor."""

    def __init__(self, link: Link) -> None:
        self._link = link

    def update(self, snapshot: Snapshot) -> None:
        if not self._link.is_backed_up:
            self._link.send(SNAPSHOT, snapshot)

    def close(self) -> None:
        pass


class Worker:
    """An open share, and the messages of the supervisor."""

    def __init__(self, opened: Session, begin: Begin, link: Link) -> None:
        self._opened = opened
        self._exchange = OutboxExchange(opened.crawl, begin.part, link)
        self._interrupts = Interrupts(opened.crawl)
        self._go = asyncio.Event()

    async def run(self) -> Snapshot:
        """Crawl until stopped. Returns the last snapshot, with everything committed."""
        engine = self._opened.crawl.engine
        engine.keep_open()
        await self._go.wait()
        watching = asyncio.create_task(self._exchange.report_activity())
        self._exchange.send_all()
        try:
            await self._interrupts.run()
        finally:
            watching.cancel()
            self._exchange.close()
        return self._opened.watch.last_snapshot()

    def on_message(self, what: str, *rest: Any) -> None:
        """Handle a message of the supervisor."""
        exchange = self._exchange
        if what == URLS:
            exchange.receive(*rest)
        elif what == ACKNOWLEDGED:
            exchange.on_acknowledged(*rest)
        elif what == RESTARTED:
            exchange.on_worker_restarted(*rest)
        elif what == ALLOW:
            exchange.set_page_limit(*rest)
        elif what == START:
            self._go.set()
        elif what == RULES:
            self._change_rules(*rest)
        elif what == STOP:
            self.stop()

    def stop(self) -> None:
        self._go.set()
        self._interrupts.on_signal()

    def _change_rules(self, config: Any) -> None:
        try:
            self._opened.crawl.change_rules(config)
        except UsageError as error:
            self._opened.log.event("rules.refused", error=str(error))
        else:
            self._opened.log.event("rules.changed")


async def _work(end: socket.socket, table: int) -> int:
    link = await Link.connect(end)
    messages = link.messages()
    first = await anext(messages, None)
    if first is None or first[0] != BEGIN:
        return 1
    begin: Begin = first[1]
    gates = SharedGates(table, begin.part.number + 1)
    try:
        opening = session(
            begin.config,
            begin.seeds,
            begin.add_seeds,
            SnapshotSender(link),
            may_be_empty=True,
            part=begin.part,
            fingerprint_key=begin.fingerprint_key,
        )
        async with opening as opened:
            gc.freeze()
            gc.set_threshold(50_000, 20, 50)
            crawl = opened.crawl
            crawl.frontier.gates.share_with(gates, crawl.clock.now())
            worker = Worker(opened, begin, link)
            asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, worker.stop)
            link.send(OPEN, crawl.engine.pages)
            working = asyncio.create_task(worker.run())
            listening = asyncio.create_task(_dispatch(messages, worker))
            await asyncio.wait([working, listening], return_when=asyncio.FIRST_COMPLETED)
            if not working.done():
                worker.stop()  # the supervisor is gone
            last = await working
            listening.cancel()
    except GossamerError as error:
        link.send(FAILED, error)
        await link.drain()
        return 1
    link.send(ENDED, last)
    await link.drain()
    return 0


async def _dispatch(messages: Any, worker: Worker) -> None:
    async for message in messages:
        worker.on_message(*message)


def main() -> int:
    end, table = (int(text) for text in sys.argv[1:3])
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the supervisor handles it
    return uvloop.run(_work(socket.socket(fileno=end), table))


if __name__ == "__main__":
    sys.exit(main())
