"""What readers see of the workers that share a crawl: their rows, their live status, and who owns what. Light."""

import re
from contextlib import closing
from typing import NamedTuple

from gossamer.cluster.membership import list_workers
from gossamer.cluster.ports import Session
from gossamer.crawl.member.worker import STARTER
from gossamer.crawl.run.directory import holder_of
from gossamer.crawl.run.location import CrawlLocation, store_kind
from gossamer.crawl.run.opener import open_session
from gossamer.observe.workers import WorkerFigures, WorkerStatus


def read_workers(session: Session, *, gone: bool = False) -> list[WorkerStatus]:
    """The workers that are alive, or all that ever were, by name. Raises StoreFailed."""
    found = [
        WorkerStatus(
            epoch=each.epoch,
            name=each.name,
            recorded_state=each.state,
            alive=each.alive,
            weight=each.weight,
            joined=each.joined,
            version=each.version,
            commits=each.commits,
            pages=each.stored,
            partitions=each.partitions,
            figures=WorkerFigures.decode(each.stats),
            now=each.now,
        )
        for each in list_workers(session, gone=gone)
        if each.alive or each.name != STARTER.name  # what creates a crawl by several workers crawls nothing
    ]
    return sorted(found, key=lambda worker: (_by_number(worker.name), worker.joined))


def _by_number(name: str) -> list[tuple[str, int]]:
    """Sorts worker-10 after worker-9."""
    return [(text, int(number or 0)) for text, number in re.findall(r"(\D*)(\d*)", name)]


def is_running(location: CrawlLocation) -> bool:
    """Whether a process crawls: in the directory, or as one of the workers that share the store. Raises StoreFailed."""
    if not store_kind(location.store).is_shared:
        return holder_of(location.directory) is not None
    with closing(open_session(location)) as session:
        return bool(read_workers(session))


def keep_crawl_open(session: Session, seconds: float) -> None:
    """With nothing left to do, the crawl does not end for so long: workers wait for more. Raises StoreFailed."""
    session.execute("keep_open", seconds)


class LiveWorkers(NamedTuple):
    """The workers that are alive, with what they have published."""

    workers: list[WorkerStatus]
    texts: list[bytes]  # live status


def read_live(session: Session) -> LiveWorkers:
    """Raises StoreFailed."""
    return LiveWorkers(read_workers(session), [bytes(status) for (status,) in session.fetch_all("live_of_workers")])
