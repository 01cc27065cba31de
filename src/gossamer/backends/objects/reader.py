"""The archive port on object storage. What has not been delivered yet is read from spools on this machine."""

import re
import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Container, Iterator
from io import BytesIO
from typing import Final

from gossamer.backends.objects.spool import SpooledObjects
from gossamer.backends.objects.storage import ObjectStorage
from gossamer.backends.warc.reader import record_in, scan_records_in
from gossamer.errors import ArchiveError, StoreFailed
from gossamer.model.archive_record import ArchivedRecord

_RECENT: Final = 16
_KEPT_BYTES: Final = 64 * 1024 * 1024
_OURS: Final = re.compile(r"([0-9]{1,19})/[0-9]+\.warc\.gz")


class ObjectArchive:
    """`reports.ports.Archive`. A file is an object."""

    def __init__(
        self, storage: ObjectStorage, spooled: SpooledObjects, living: Callable[[], Container[int]] = frozenset[int]
    ) -> None:
        """`living`: the epochs of workers that are alive and may put objects at any time. Asked after the objects of
        the storage are listed; those of living workers are left out."""
        self._storage = storage
        self._spool = spooled
        self._living = living
        self._recent: deque[str] = deque(maxlen=_RECENT)  # objects of which a range was read
        self._kept: OrderedDict[str, bytes] = OrderedDict()
        self._lock = threading.Lock()

    def read(self, file: str, offset: int, length: int) -> ArchivedRecord:
        try:
            opened = self._spool.open(file)
        except StoreFailed as error:
            raise ArchiveError(str(error)) from error
        if opened is None:
            return record_in(self._range(file, offset, length), file, offset, length)
        with opened:
            opened.seek(offset)
            return record_in(opened.read(length), file, offset, length)

    def scan(self, file: str, end: int | None = None, start: int = 0) -> Iterator[tuple[int, int, ArchivedRecord]]:
        yield from scan_records_in(BytesIO(self._whole(file)), file, end, start)

    def content(self, file: str, end: int) -> Iterator[bytes]:
        yield self._whole(file)[:end]

    def size(self, file: str) -> int | None:
        found = self._spooled(file)
        return self._storage.size(file) if found is None else len(found)

    def files(self) -> list[str]:
        found = {entry.name for entry in self._spool.entries()}
        found.update(self._storage.names())
        living = self._living()
        names = [match for name in found if (match := _OURS.fullmatch(name))]
        return sorted(match[0] for match in names if int(match[1]) not in living)

    def cut(self, file: str, length: int) -> None:
        """Replaces the object by its beginning."""
        self._change(file, self._whole(file)[:length])

    def put_aside(self, file: str) -> None:
        """Deletes it: an object that belongs to no commit has nothing that is not fetched again."""
        if self.size(file) is None:
            raise ArchiveError(f"{file}: there is no such object in {self._storage.url}")
        self._change(file, None)

    def _range(self, file: str, offset: int, length: int) -> bytes:
        """Part of an object. One from which several records are read is got whole and kept for a while: an export reads
        most records of an object in short order, and each request takes some milliseconds."""
        with self._lock:
            kept = self._kept.get(file)
            often = kept is None and file in self._recent
            if kept is None and not often:
                self._recent.append(file)
        if often:
            kept = self._storage.get(file)
            with self._lock:
                self._kept[file] = kept
                while len(self._kept) > 1 and sum(map(len, self._kept.values())) > _KEPT_BYTES:
                    self._kept.popitem(last=False)
        return self._storage.get_range(file, offset, length) if kept is None else kept[offset : offset + length]

    def _change(self, file: str, data: bytes | None) -> None:
        with self._lock:
            self._recent.clear()
            self._kept.clear()
        try:
            if data is None:
                self._storage.delete(file)
            else:
                self._storage.put(file, data)
            self._spool.remove(file)
        except StoreFailed as error:
            raise ArchiveError(str(error)) from error

    def _whole(self, file: str) -> bytes:
        found = self._spooled(file)
        return self._storage.get(file) if found is None else found

    def _spooled(self, file: str) -> bytes | None:
        try:
            return self._spool.read(file)
        except StoreFailed as error:
            raise ArchiveError(str(error)) from error
