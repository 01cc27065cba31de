"""The store's port to the WARC files: a document is a request record and a response record."""

from base64 import b32encode
from collections.abc import Mapping

from gossamer.backends.warcfile.record import RecordIds, build_request, build_response
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

    def __call__(self, response: Response, payload_digest: bytes) -> Capture:
        answer_id, question_id = self._ids.next(), self._ids.next()
        digest = "sha1:" + b32encode(payload_digest).decode()
        # Which warcinfo record they belong to is told by the file they end up in.
        answer = build_response(response, record_id=answer_id, concurrent_to=question_id, payload_digest=digest)
        question = build_request(response, record_id=question_id, concurrent_to=answer_id)
        return Capture(response, payload_digest, (answer, question))


class WarcCaptures:
    """`CaptureFiles` on a WARC writer. Used from the store's thread only.

    Records are gathered and written a megabyte at a time. All of a transaction is in one file: the writer
    turns to the next one only when everything is committed.
    """

    def __init__(self, writer: WarcWriter, ids: RecordIds) -> None:
        self._writer = writer
        self._encode = WarcEncoder(ids)
        self._gathered: list[bytes] = []
        self._gathered_bytes = 0

    def append(self, capture: Capture) -> Location:
        """Write the two records of a document; the location is the response's."""
        if not self._gathered:
            self._writer.prepare()
        answer, question = (
            capture.records or self._encode(capture.response, capture.payload_digest).records or (b"", b"")
        )
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
