"""What readers see of the workers that share a crawl: their rows, their live status, and who owns what. Light."""

from contextlib import closing
from typing import NamedTuple

from gossamer.cluster.membership import list_workers
from gossamer.cluster.ports import Session
from gossamer.crawl.run.directory import holder_of
from gossamer.crawl.run.location import CrawlLocation, store_kind
from gossamer.crawl.run.opener import open_session
from gossamer.observe.workers import WorkerFigures, WorkerStatus


def read_workers(session: Session, *, gone: bool = False) -> list[WorkerStatus]:
    """The workers that are alive, or all that ever were, in the order in which they joined. Raises StoreFailed."""
    return [
        WorkerStatus(
            epoch=found.epoch,
            name=found.name,
            recorded_state=found.state,
            alive=found.alive,
            weight=found.weight,
            joined=found.joined,
            version=found.version,
            commits=found.commits,
            pages=found.stored,
            partitions=found.partitions,
            figures=WorkerFigures.decode(found.stats),
            now=found.now,
        )
        for found in list_workers(session, gone=gone)
    ]


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
