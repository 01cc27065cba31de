"""Every bounded queue of a running crawl, by name, and how full it is (X1). docs/ARCHITECTURE.md says what slows when
one fills."""

from typing import Final

from gossamer.crawl.pipeline import Pipeline
from gossamer.crawl.store_reads import StoreReads
from gossamer.fetch.dns.resolver import MOST_ASKED, ResolverStatistics
from gossamer.fetch.http.room import BodyRoom
from gossamer.model.fill import Fill
from gossamer.observe.log import EventLog
from gossamer.store.thread import StoreThread

QUEUES: Final = ("hosts", "names", "visits", "bodies", "documents", "store_reads", "batch", "listeners", "log")
"""In the order in which a document passes them; the log is beside them. The labels of the metrics are these."""


def queues_of(
    pipeline: Pipeline, dns: ResolverStatistics, bodies: BodyRoom, reads: StoreReads, store: StoreThread, log: EventLog
) -> dict[str, Fill]:
    """One moment of them all. Costs some microseconds."""
    (hosts, visits), documents = pipeline.fills, pipeline.desk.fill
    fills = (
        hosts,
        Fill(dns.asking, MOST_ASKED),
        visits,
        bodies.fill(visits.items),
        documents,
        Fill(reads.waiting, visits.most_items + documents.most_items),
        store.fill,
        pipeline.audience.fill,
        log.fill,
    )
    return dict(zip(QUEUES, fills, strict=True))
