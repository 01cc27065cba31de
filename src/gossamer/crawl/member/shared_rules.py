"""The rules that all workers of a crawl follow: scope rules, settings and seeds, under one version in the store."""

import asyncio
from collections.abc import Awaitable, Callable

from gossamer.cluster.heartbeat import Heartbeat
from gossamer.config.load import CONFIG_KEY
from gossamer.crawl.member.ownership import PartitionOwnership
from gossamer.crawl.member.shared_store import SharedStore
from gossamer.store.ports import Database

_LOOK = 0.25
"""Seconds between two looks at the versions that the other workers follow."""


class SharedRules:
    """Which version this worker follows, and which the others do. `followed` is for any thread, everything else for the
    event loop."""

    def __init__(
        self, store: SharedStore, ownership: PartitionOwnership, heartbeat: Heartbeat, version_at_start: int
    ) -> None:
        self._store, self._ownership, self._heartbeat = store, ownership, heartbeat
        self._version_at_start = version_at_start
        self.catch_up: Callable[[int], Awaitable[None]] | None = None
        """Applies rules of this version or a later one, unless that is done. Raises StoreFailed."""
        self.applied = 0
        """The version that is applied: everything that former rules have decided is committed, and so is what these
        rules change of the URLs that are known."""

    @property
    def version(self) -> int:
        """On record, as of the last heartbeat."""
        view = self._heartbeat.view
        return self._version_at_start if view is None else view.rules_version

    def followed(self) -> int:
        """The version that this worker reports. One that only delivers captures refuses no links."""
        view = self._heartbeat.view
        return view.rules_version if self._ownership.is_retired and view is not None else self.applied

    async def follow(self, version: int) -> None:
        """Apply rules of this version or a later one. Raises StoreFailed."""
        if self.catch_up is not None:
            await self.catch_up(version)

    async def announce(self, config: str, max_pages: int | None) -> None:
        """Have all workers use another configuration. Raises StoreFailed, WorkerEnded."""

        def announce(db: Database) -> None:
            db.write_rows("set_fact", [(CONFIG_KEY, config)])
            db.execute("change_page_limit", max_pages)

        await self._store.write(announce)

    async def until_all_follow(self) -> None:
        """Wait until all workers have applied the rules that are on record now, and have committed everything that
        former rules refused. Raises StoreFailed."""
        version = await self._store.read(lambda loader: loader.rules_version())
        heartbeat = self._heartbeat
        while heartbeat.view is None or any(  # noqa: ASYNC110 - a thread reads it
            member.rules_version < version for member in heartbeat.view.members
        ):
            await asyncio.sleep(_LOOK)
