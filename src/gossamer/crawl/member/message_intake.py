"""Takes in the messages of other workers: URLs, link gains, change hints and sitemap names, and hosts asked for."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from gossamer.cluster import inbox
from gossamer.cluster.heartbeat import Heartbeat
from gossamer.cluster.inbox import Message
from gossamer.crawl.member.crawl_end import Idleness
from gossamer.crawl.member.host_lending import HostLending
from gossamer.crawl.member.ownership import PartitionOwnership
from gossamer.crawl.member.shared_rules import SharedRules
from gossamer.crawl.run.crawl import Crawl
from gossamer.errors import StoreFailed
from gossamer.model.states import UrlState
from gossamer.store.table.foreign import unpack

INBOX = 0.2
"""Seconds between two looks at empty inboxes ..."""
INBOX_IDLE = 1.0
"""... if this worker is the only one: seeds and orders come from outside."""


class MessageIntake:
    """Reads the inboxes of the partitions that this worker visits. Owned by the event loop."""

    def __init__(
        self,
        crawl: Crawl,
        ownership: PartitionOwnership,
        lending: HostLending,
        rules: SharedRules,
        idleness: Idleness,
        heartbeat: Heartbeat,
    ) -> None:
        self._crawl, self._ownership = crawl, ownership
        self._lending, self._rules = lending, rules
        self._idleness, self._heartbeat = idleness, heartbeat
        self._taking_in = asyncio.Lock()

    @asynccontextmanager
    async def paused(self) -> AsyncIterator[None]:
        """Messages that were read are committed, and no others are read meanwhile."""
        async with self._taking_in:
            yield

    async def run(self) -> None:
        """Until cancelled."""
        crawl = self._crawl
        while True:
            async with self._taking_in:
                parts = list(self._ownership.visited.numbers)
                found = await crawl.reads.ask(crawl.loader.read_messages, parts, inbox.MOST) if parts else []
                messages = [Message(part, n, inbox.Kind(kind), body, rules) for part, n, kind, body, rules in found]
                is_done = await self._take_in(messages)
            if not is_done:
                view = self._heartbeat.view
                alone = view is not None and len(view.members) == 1
                await asyncio.sleep(INBOX_IDLE if alone and not self._idleness.is_idle else INBOX)

    async def _take_in(self, messages: list[Message]) -> bool:
        """False if all of them have to wait."""
        done = 0
        for message in messages:
            if message.kind is inbox.Kind.HOLD:
                done += await self._lending.lend(message)
            elif message.kind is inbox.Kind.RETURN:
                done += await self._lending.take_back(message)
        others = [message for message in messages if message.kind not in (inbox.Kind.HOLD, inbox.Kind.RETURN)]
        return (bool(others) and await self._admit(others)) or done > 0

    async def _admit(self, messages: list[Message]) -> bool:
        """Admit what messages report, under rules that are not older than those of their senders. False if they have to
        wait."""
        crawl = self._crawl
        try:
            await self._rules.follow(max(message.rules_version for message in messages))
        except StoreFailed:
            return False
        contents = unpack((message.kind.value, message.body) for message in messages)
        excluded: Counter[str] = Counter()
        batch = crawl.store.batch
        batch.candidates += crawl.admission.admit_from_inbox(contents.urls, excluded)
        batch.gains += contents.gains
        batch.hints += contents.hints
        batch.sitemap_names += contents.names
        # A queued URL that its former owner excludes may be in flight here; its visit excludes it.
        batch.bulk_changes += [change for change in contents.changes if change.from_state is not UrlState.QUEUED]
        batch.received += [(message.part, message.id) for message in messages]
        for reason, n in excluded.items():
            crawl.counters.count(batch, "excluded:" + reason, n)
        self._idleness.end()
        crawl.store.hasten()
        await crawl.store.until_commit()
        return True
