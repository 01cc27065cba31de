"""Beside the crawl: what answers the front, on the crawl's event loop, where all is at rest while it is asked."""

import asyncio

from gossamer.link import Link
from gossamer.observe.snapshot import Snapshot
from gossamer.service.across import Home
from gossamer.service.app import make_app
from gossamer.service.front import Shown
from gossamer.service.gate import Policy
from gossamer.service.parts import Parts


class Beside:
    """Shows the crawl to the front and answers its calls, until it is gone."""

    def __init__(self, parts: Parts, link: Link) -> None:
        self.ready = asyncio.Event()
        self._parts = parts
        self._link = link
        self._home = Home(make_app(parts), link, self._show)
        self._shown: tuple[Snapshot | None, bool, bool, int] | None = None

    async def serve(self, policy: Policy) -> None:
        operator, feed, pipeline = self._parts.operator, self._parts.feed, self._parts.pipeline
        shown = Shown(operator.config, operator.orders, feed.latest, pipeline.stopping, pipeline.paused)
        self._link.tell("open", policy, shown)
        feed.on_picture = self._show_soon
        async for what, *rest in self._link.heard():
            if what == "ready":
                self.ready.set()
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
        operator, feed, pipeline = self._parts.operator, self._parts.feed, self._parts.pipeline
        shown = feed.latest, pipeline.stopping, pipeline.paused, operator.changes
        before, self._shown = self._shown, shown
        if before is None or shown[0] is not before[0] or shown[1:] != before[1:]:
            ordered = before is None or shown[3] != before[3]
            self._link.tell("shown", *shown[:3], (operator.config, operator.orders) if ordered else None)
