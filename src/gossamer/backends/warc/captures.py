"""The port for writing captures, on WARC files: a document is a response record and a request record.

A document fetched over FTP is a resource record, with the control conversation as metadata (WARC 1.1, 6.4 and 6.6). A
document that is already stored is a revisit record instead. The links of a page may follow as metadata.
"""

from collections.abc import Mapping, Sequence

from gossamer.backends.warc.record import (
    Original,
    RecordIds,
    base32,
    build_conversation,
    build_outlinks,
    build_request,
    build_resource,
    build_response,
    build_revisit,
)
from gossamer.backends.warc.writer import WarcWriter
from gossamer.model import settlement
from gossamer.model.outcome import Response
from gossamer.model.settlement import Capture
from gossamer.model.units import Url
from gossamer.store.ports import Location

_GATHERED_BYTES = 1 << 20


class WarcEncoder:
    """Turns a document into its records. On the event loop: digests and compression release the interpreter's lock, and
    a second thread that takes it back several times per page costs more than it saves."""

    def __init__(self, ids: RecordIds) -> None:
        self._ids = ids

    def capture(self, response: Response, payload_digest: bytes, outlinks: Sequence[Url] | None = None) -> Capture:
        """A capture with its records."""
        return Capture(response, payload_digest, self.records(response, payload_digest, outlinks))

    def records(
        self, response: Response, payload_digest: bytes, outlinks: Sequence[Url] | None = None
    ) -> tuple[bytes, ...]:
        """The records of response and request, each a gzip member; then the links of the page, if they are given."""
        answer_id, question_id = self._ids.next(), self._ids.next()
        digest = _text(payload_digest)
        if outlinks is not None:
            links = build_outlinks(response, outlinks, record_id=self._ids.next(), concurrent_to=answer_id)
            return *self._pair(response, answer_id, question_id, digest), links
        return self._pair(response, answer_id, question_id, digest)

    def revisit_records(
        self, response: Response, original: settlement.Original, payload_digest: bytes | None = None
    ) -> tuple[bytes, bytes]:
        """A revisit record that refers to `original`, and the request. Unless the body has the same bytes
        (`payload_digest`), the head is left out: it would not fit the original's body."""
        answer_id, question_id = self._ids.next(), self._ids.next()
        over_ftp = response.url.startswith("ftp:")
        fits = response.status == 304 or payload_digest == original.payload_digest
        answer = build_revisit(
            response,
            record_id=answer_id,
            original=Original(original.url, original.captured_at),
            concurrent_to=question_id,
            payload_digest=_text(original.payload_digest),
            with_head=fits and not over_ftp,
        )
        ask = build_conversation if over_ftp else build_request
        return answer, ask(response, record_id=question_id, concurrent_to=answer_id)

    def encode(self, capture: Capture) -> tuple[bytes, ...]:
        """The records of a capture that comes without them."""
        if capture.original is None:
            return self.records(capture.response, capture.payload_digest)
        return self.revisit_records(capture.response, capture.original, capture.payload_digest)

    def _pair(self, response: Response, answer_id: str, question_id: str, digest: str) -> tuple[bytes, bytes]:
        if response.url.startswith("ftp:"):
            content = build_resource(response, record_id=answer_id, concurrent_to=question_id, payload_digest=digest)
            return content, build_conversation(response, record_id=question_id, concurrent_to=answer_id)
        # Their warcinfo record is that of the file to which they are written.
        answer = build_response(response, record_id=answer_id, concurrent_to=question_id, payload_digest=digest)
        return answer, build_request(response, record_id=question_id, concurrent_to=answer_id)


class WarcCaptures:
    """`CaptureFiles` on a WARC writer. Used from the store's thread only.

    Records are buffered and written a megabyte at a time. A transaction is in one file: the writer opens the next one
    only when everything is committed.
    """

    def __init__(self, writer: WarcWriter, ids: RecordIds) -> None:
        self._writer = writer
        self._encoder = WarcEncoder(ids)  # for captures that come without their records
        self._gathered: list[bytes] = []
        self._gathered_bytes = 0

    def append(self, capture: Capture) -> Location:
        """Write the records of a document; the location is that of the record with the content, or of the revisit."""
        if not self._gathered:
            self._writer.prepare()
        records = capture.records or self._encoder.encode(capture)
        at = Location(self._writer.file_name, self._writer.length + self._gathered_bytes, len(records[0]))
        self._gathered += records
        self._gathered_bytes += sum(map(len, records))
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

    def moves(self) -> Mapping[str, bool]:
        return {}  # there is no spool

    def committed(self) -> None:
        self._writer.mark_committed()

    def roll_back(self) -> None:
        self._gathered.clear()
        self._gathered_bytes = 0
        self._writer.rollback()

    def close(self) -> None:
        self._writer.close()


def _text(digest: bytes) -> str:
    return "sha1:" + base32(digest)
