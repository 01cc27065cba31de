"""Changes the states of known URLs at an operator's request: requeues excluded URLs, requeues or drops dead letters.

Changes are made in slices, one per commit, since they may concern many URLs. A crawl that ends in between has changed
some. Repeating a change does no harm: the store changes only URLs that still have the expected state.
"""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing

from gossamer.config.overrides import HOST_DROPPED
from gossamer.crawl.document.admission import Admission
from gossamer.model.batch import BulkChange
from gossamer.model.states import UrlState
from gossamer.model.units import HostKey
from gossamer.reports.ports import CrawlReader
from gossamer.reports.records import DeadFilter, ExcludedUrl
from gossamer.store.table.bulk_changes import DROPPED, MOST
from gossamer.store.threads import WriterThread


async def commit(store: WriterThread) -> None:
    """Wait until the open batch is committed. A store that fails is waited for."""
    store.hasten()
    await store.until_commit()


class StateChanges:
    """Changes states through the open batch of one crawl. Owned by the event loop."""

    def __init__(self, store: WriterThread, admission: Admission, open_reader: Callable[[], CrawlReader]) -> None:
        """`open_reader` opens the store of the crawl for reading; it is called in another thread."""
        self._store = store
        self._admission = admission
        self._open_reader = open_reader

    async def change(
        self, ids: Sequence[int], state: UrlState, to: UrlState, reasons: tuple[str, ...], because: str | None = None
    ) -> int:
        """Change the state of those of these URLs that are in `state`, for one of `reasons` if any are given, to `to`
        because of another reason. Returns their number."""
        done = 0
        for at in range(0, len(ids), MOST):
            change = BulkChange(tuple(ids[at : at + MOST]), state, to, reasons, because)
            self._store.batch.bulk_changes.append(change)
            await commit(self._store)
            done += change.changed
        return done

    async def readmit(self, host: HostKey) -> int:
        """Requeue the URLs of a host that were excluded because it was dropped, as far as they are allowed. Returns
        their number."""
        reasons = (HOST_DROPPED,)
        await commit(self._store)
        pages, files = self._admission.rules, self._admission.file_rules

        def next_allowed(after: Iterator[list[ExcludedUrl]]) -> list[int] | None:
            chunk = next(after, None)
            if chunk is None:
                return None
            return [
                number
                for number, url, host, depth, sitemap in chunk
                if (files if sitemap else pages).may_enter(url, host, depth) is None
            ]

        done = 0
        with closing(await asyncio.to_thread(self._open_reader)) as reader:
            chunks = reader.dead_letters.excluded(reasons, host)
            while (ids := await asyncio.to_thread(next_allowed, chunks)) is not None:
                done += await self.change(ids, UrlState.EXCLUDED, UrlState.QUEUED, reasons)
        return done

    async def change_dead(self, wanted: DeadFilter | Sequence[str], *, drop: bool) -> int:
        """Drop or requeue dead letters: all that are `wanted`, or those with these URLs, in canonical form. Returns
        their number."""
        to, because = (UrlState.EXCLUDED, DROPPED) if drop else (UrlState.QUEUED, None)
        done, after = 0, 0
        with closing(await asyncio.to_thread(self._open_reader)) as reader:
            letters = reader.dead_letters
            if not isinstance(wanted, DeadFilter):
                ids = await asyncio.to_thread(letters.ids_of, wanted)
                return await self.change(ids, UrlState.DEAD, to, (), because)
            # Ids only grow, so URLs that die again meanwhile are not requeued a second time.
            while ids := await asyncio.to_thread(letters.ids, wanted, after=after, most=MOST):
                after = ids[-1]
                done += await self.change(ids, UrlState.DEAD, to, (), because)
        return done
