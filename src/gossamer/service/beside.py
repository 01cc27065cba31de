"""Beside the crawl: what answers the front, on the crawl's event loop, where all is at rest while it is asked."""

import asyncio
from dataclasses import dataclass

from gossamer.config import Config
from gossamer.crawl.pipeline import Pipeline
from gossamer.link import Link
from gossamer.observe.snapshot import Snapshot
from gossamer.service.across import Home
from gossamer.service.feed import Feed
from gossamer.service.front import Shown
from gossamer.service.gate import App, Policy
from gossamer.service.operator import Operator
from gossamer.service.standing import StandingOrders


@dataclass(frozen=True, slots=True)
class Live:
    """The crawl itself, for those who only read it."""

    operator: Operator
    feed: Feed
    pipeline: Pipeline

    @property
    def config(self) -> Config:
        return self.operator.config

    @property
    def orders(self) -> StandingOrders:
        return self.operator.orders

    @property
    def latest(self) -> Snapshot | None:
        return self.feed.latest

    @property
    def stopping(self) -> bool:
        return self.pipeline.stopping

    @property
    def paused(self) -> bool:
        return self.pipeline.paused


class Beside:
    """Shows the crawl to the front and answers its calls, until it is gone."""

    def __init__(self, app: App, crawl: Live, link: Link) -> None:
        self.ready = asyncio.Event()
        self._crawl = crawl
        self._link = link
        self._home = Home(app, link, self._show)
        self._shown: tuple[Snapshot | None, bool, bool, int] | None = None

    async def serve(self, policy: Policy) -> None:
        crawl = self._crawl
        shown = Shown(crawl.config, crawl.orders, crawl.latest, crawl.stopping, crawl.paused)
        self._link.tell("open", policy, shown)
        crawl.feed.on_picture = self._show_soon
        async for what, *rest in self._link.heard():
            if what == "ready":
                self.ready.set()
            elif what == "used":
                (crawl.feed.front,) = rest
            else:
                self._home.heard(what, *rest)
        self._home.close()

    def close(self) -> None:
        """No more calls are taken; those on their way are answered, or have had their time."""
        self._link.tell("close")

    def _show_soon(self) -> None:
        if not self._link.is_crowded:
            self._show()

    def _show(self) -> None:
        """The crawl as of its last commit: whoever is told that a change is on record is to see it in front as well."""
        crawl = self._crawl
        shown = crawl.latest, crawl.stopping, crawl.paused, crawl.operator.changes
        before, self._shown = self._shown, shown
        if before is None or shown[0] is not before[0] or shown[1:] != before[1:]:
            ordered = before is None or shown[3] != before[3]
            self._link.tell("shown", *shown[:3], (crawl.config, crawl.orders) if ordered else None)
