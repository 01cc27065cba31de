"""The store's port to the WARC files: a document is a request record and a response record.

Over FTP it is a resource record and the conversation as metadata (WARC 1.1, 6.4 and 6.6).
"""

from base64 import b32encode
from collections.abc import Mapping

from gossamer.backends.warcfile.record import (
    RecordIds,
    build_conversation,
    build_request,
    build_resource,
    build_response,
)
from gossamer.backends.warcfile.writer import WarcWriter
from gossamer.model.outcome import Response
from gossamer.store.changes import Capture
from gossamer.store.ports import Location

_GATHERED_BYTES = 1 << 20


class WarcEncoder:
    """Turns a document into its two records. On the event loop: the digests and the compression give the interpreter's
    lock away, and a second thread that wants it back a few times per page costs more than it takes over."""

    def __init__(self, ids: RecordIds) -> None:
        self._ids = ids

    def capture(self, response: Response, payload_digest: bytes) -> Capture:
        """A capture that has its records with it."""
        return Capture(response, payload_digest, self.records(response, payload_digest))

    def records(self, response: Response, payload_digest: bytes) -> tuple[bytes, bytes]:
        """The answer's record and the question's, each a gzip member."""
        answer_id, question_id = self._ids.next(), self._ids.next()
        digest = "sha1:" + b32encode(payload_digest).decode()
        if response.url.startswith("ftp:"):
            content = build_resource(response, record_id=answer_id, concurrent_to=question_id, payload_digest=digest)
            return content, build_conversation(response, record_id=question_id, concurrent_to=answer_id)
        # Which warcinfo record they belong to is told by the file they end up in.
        answer = build_response(response, record_id=answer_id, concurrent_to=question_id, payload_digest=digest)
        return answer, build_request(response, record_id=question_id, concurrent_to=answer_id)


class WarcCaptures:
    """`CaptureFiles` on a WARC writer. Used from the store's thread only.

    Records are gathered and written a megabyte at a time. All of a transaction is in one file: the writer
    turns to the next one only when everything is committed.
    """

    def __init__(self, writer: WarcWriter, ids: RecordIds) -> None:
        self._writer = writer
        self._encoder = WarcEncoder(ids)  # for captures that come without their records
        self._gathered: list[bytes] = []
        self._gathered_bytes = 0

    def append(self, capture: Capture) -> Location:
        """Write the two records of a document; the location is that of the one with the content."""
        if not self._gathered:
            self._writer.prepare()
        answer, question = capture.records or self._encoder.records(capture.response, capture.payload_digest)
        at = Location(self._writer.file_name, self._writer.length + self._gathered_bytes, len(answer))
        self._gathered += (answer, question)
        self._gathered_bytes += len(answer) + len(question)
        if self._gathered_bytes >= _GATHERED_BYTES:
            self._write()
        return at

    def _write(self) -> None:
        if self._gathered:
            together = b"".join(self._gathered)
            self._gathered.clear()
            self._gathered_bytes = 0
            self._writer.append(together)

    def flush(self) -> Mapping[str, int]:
        self._write()
        self._writer.sync()
        if self._writer.length == self._writer.committed_length:
            return {}
        return {self._writer.file_name: self._writer.length}

    def committed(self) -> None:
        self._writer.mark_committed()

    def roll_back(self) -> None:
        self._gathered.clear()
        self._gathered_bytes = 0
        self._writer.rollback()

    def close(self) -> None:
        self._writer.close()
