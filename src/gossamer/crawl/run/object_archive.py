"""Opens the archive of a crawl in object storage for writing: what its last life left in the spool is delivered.

Besides `opener` and `store`, the only module that imports backends.
"""

from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from typing import NamedTuple

from gossamer.backends.objects.captures import ObjectCaptures
from gossamer.backends.objects.delivery import PUT_SECONDS, ObjectDelivery
from gossamer.backends.objects.spool import Spool
from gossamer.backends.warc.record import RecordIds, Warcinfo
from gossamer.clock import Clock
from gossamer.config.sections import ObjectsSection
from gossamer.crawl.run.opener import object_storage
from gossamer.errors import ArchiveError, DirectoryError, StoreFailed
from gossamer.reports.ports import Archive
from gossamer.store.ports import CaptureFiles, Delivery
from gossamer.store.table.metadata import Metadata
from gossamer.store.threads import BatchLimits

TARGET_BYTES = 8 * 1024 * 1024
"""Of an object, if the crawl is fast enough for that."""


class OpenObjects(NamedTuple):
    """An archive in object storage."""

    captures: CaptureFiles
    reading: Archive
    delivery: Delivery


def open_objects(
    blobs: str,
    folder: Path,
    *,
    spool_bytes: int,
    facts: Metadata,
    epoch: int,
    warcinfo: Warcinfo,
    ids: RecordIds,
    clock: Clock,
) -> OpenObjects:
    """The archive at a URL, with its spool in a folder. A crawl that has captures goes on although its storage cannot
    be reached. Raises DirectoryError for a new one, and if the credentials are refused; NotThisCrawl if the objects are
    another crawl's."""
    quick, patient = object_storage(blobs, PUT_SECONDS), cache(partial(object_storage, blobs))
    from gossamer.backends.objects.owner import check_owner, settle_owner  # not part of every installation
    from gossamer.backends.objects.reader import ObjectArchive
    from gossamer.backends.objects.storage import AccessRefused

    crawl_id = facts.fact("crawl_id") or ""
    is_new = not facts.has_captures()
    try:
        (settle_owner if is_new else check_owner)(quick, crawl_id)
    except (ArchiveError, StoreFailed) as error:
        if is_new or isinstance(error, AccessRefused):
            raise DirectoryError(f"cannot use {blobs}: {error}") from error
    spool = Spool(folder, spool_bytes)
    spool.tidy()
    spooled = {*facts.spooled_files()}
    for entry in spool.entries():
        if entry.name not in spooled:  # of a transaction that was never committed, or given up by a repair
            spool.remove(entry.name)
    delivery = ObjectDelivery(quick, patient, spool, spool_bytes)
    left = spool.entries()
    delivery.resume(left)
    with suppress(ArchiveError):  # then it is recorded by a later start
        for name in spooled - {entry.name for entry in left}:
            if quick.size(name) is not None:
                delivery.note_delivered(name)
    captures = ObjectCaptures(delivery, epoch=epoch, info=warcinfo, ids=ids, clock=clock)
    return OpenObjects(captures, ObjectArchive(object_storage(blobs), spool), delivery)


def object_batches(section: ObjectsSection) -> BatchLimits:
    """A commit is an object, and few large ones are better than many small ones."""
    return BatchLimits(linger=section.linger, full_settlements=1_024, full_weight=TARGET_BYTES)
