"""A small crawl directory, made with the real writer."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from gossamer.backends.sqlite.driver import named_queries, open_for_writing, open_writer
from gossamer.clock import VirtualClock
from gossamer.config.overrides import OVERRIDES_KEY, HostOverrides, Overrides
from gossamer.frontier.orderings import Ordering
from gossamer.model.batch import Batch
from gossamer.model.settlement import Capture, Settlement
from gossamer.model.states import UrlState
from gossamer.model.task import Candidate, Via
from gossamer.model.units import Domain, Fingerprint, HostId, HostKey, Instant, Seconds, Url
from gossamer.store.ports import Location
from gossamer.store.table.writer import TableWriter

NOW = Instant(1_700_000_000.0)


class NoCaptures:
    """For crawls that store nothing."""

    def append(self, capture: Capture) -> Location:
        raise AssertionError(f"nothing is to be stored here: {capture.response.url}")

    def flush(self) -> dict[str, int]:
        return {}

    def committed(self) -> None: ...

    def moves(self) -> dict[str, bool]:
        return {}

    def roll_back(self) -> None: ...

    def close(self) -> None: ...


def small_crawl(directory: Path) -> Path:
    """Three URLs on h.test, in the order `bfs`: the first visited with status 200, the second dead, the third
    queued."""
    directory.mkdir()
    writer = TableWriter(
        open_writer(directory / "crawl.db"),
        NoCaptures(),
        lambda host: (Domain(host), 0, "test"),
        Ordering(),
        VirtualClock(NOW),
    )
    host = HostKey("h.test")
    urls = [Url(f"http://h.test/{n}") for n in (1, 2, 3)]
    batch = Batch(candidates=[Candidate(u, host, Fingerprint(i), 2, 0, Via.LINK, 0) for i, u in enumerate(urls)])
    batch.facts["order"] = "bfs"
    writer.commit(batch, NOW)
    visited = Batch()
    visited.settle(Settlement(HostId(1), 1, 0, UrlState.DUPLICATE, NOW, status=200, size=4321))
    visited.settle(Settlement(HostId(1), 2, 0, UrlState.DEAD, NOW, tries=3, reason="conn_refused", detail="port 80"))
    writer.commit(visited, NOW)
    writer.close()
    return directory


def change(crawl: Path, sql: str, *values: object) -> None:
    """Run one statement on the database of a crawl at rest, and count the URLs of its hosts again."""
    db = open_for_writing(crawl / "crawl.db")
    db.execute(sql, values)
    db.execute(named_queries("queries.sql")["count_hosts"])
    db.close()


def order(
    crawl: Path,
    *,
    whole: bool = False,
    paused: Sequence[str] = (),
    dropped: Sequence[str] = (),
    delays: Mapping[str, float] | None = None,
) -> None:
    """Orders on record as the service leaves them: `whole` pauses the crawl, the rest is for single hosts."""
    found = Overrides(
        paused=whole,
        hosts=HostOverrides(
            set(map(HostKey, paused)),
            set(map(HostKey, dropped)),
            {HostKey(host): Seconds(delay) for host, delay in (delays or {}).items()},
        ),
    )
    change(crawl, "INSERT OR REPLACE INTO facts VALUES (?, ?)", OVERRIDES_KEY, found.to_text())
