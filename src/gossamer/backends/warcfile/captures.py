"""The store's port to the WARC files: a document is a request record and a response record."""

from base64 import b32encode
from collections.abc import Mapping

from gossamer.backends.warcfile.record import RecordIds, build_request, build_response
from gossamer.backends.warcfile.writer import WarcWriter
from gossamer.store.changes import Capture
from gossamer.store.ports import Location


class WarcCaptures:
    """`CaptureFiles` on a WARC writer. Used from the store's thread only."""

    def __init__(self, writer: WarcWriter, ids: RecordIds) -> None:
        self._writer = writer
        self._ids = ids

    def append(self, capture: Capture) -> Location:
        """Write the two records of a document; the location is the response's."""
        writer, response = self._writer, capture.response
        response_id, request_id = self._ids.next(), self._ids.next()
        digest = "sha1:" + b32encode(capture.payload_digest).decode()
        writer.prepare()
        warcinfo_id = writer.warcinfo_id
        found = writer.append(
            build_response(
                response,
                record_id=response_id,
                warcinfo_id=warcinfo_id,
                concurrent_to=request_id,
                payload_digest=digest,
            )
        )
        writer.append(build_request(response, record_id=request_id, warcinfo_id=warcinfo_id, concurrent_to=response_id))
        return Location(found.file_name, found.offset, found.length)

    def flush(self) -> Mapping[str, int]:
        self._writer.sync()
        if self._writer.length == self._writer.committed_length:
            return {}
        return {self._writer.file_name: self._writer.length}

    def committed(self) -> None:
        self._writer.mark_committed()

    def roll_back(self) -> None:
        self._writer.rollback()

    def close(self) -> None:
        self._writer.close()
