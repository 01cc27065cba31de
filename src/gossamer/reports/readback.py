"""Documents read back from the archive: the response in a record, and the document in the response."""

from gossamer.fetch.http.body import Payload, payload
from gossamer.fetch.http.headers import parse_fields
from gossamer.model.archive_record import ArchivedRecord
from gossamer.model.outcome import Response, Truncation
from gossamer.model.units import Instant, Seconds, Url
from gossamer.reports.ports import Archive

MAX_DOCUMENT_BYTES = 256 * 1024 * 1024
"""More than any crawl stores of a document. The crawl's own limit cut it already, where it had to."""

_WORDS = {truncation.value: truncation for truncation in Truncation}


def read_response(archive: Archive, file: str, offset: int, length: int) -> Response | None:
    """The response at a location; None for a revisit, which has no body. Raises ArchiveError."""
    record = archive.read(file, offset, length)
    if record.kind not in ("response", "resource"):
        return None
    return response_in(record)


def response_in(record: ArchivedRecord) -> Response:
    """The response in a response or resource record. How long it took is not on record."""
    if record.kind == "resource":
        head, body = b"", record.block
        headers = {"content-type": record.header("Content-Type") or "application/octet-stream"}
    else:
        head, body = record.head, record.http_body
        headers, _ = parse_fields(head)
    return Response(
        url=Url(record.target_uri or ""),
        status=_status_in(head),
        request_head=b"",
        head=head,
        wire_body=body,
        headers=headers,
        address=record.header("WARC-IP-Address") or "",
        started=Instant(0.0),
        took=Seconds(0.0),
        truncated=_WORDS.get(record.header("WARC-Truncated") or ""),
    )


def document_in(response: Response, max_bytes: int = MAX_DOCUMENT_BYTES) -> Payload:
    """The document without its codings, as the crawl has seen it if `max_bytes` is the crawl's own limit."""
    return payload(response, max_bytes)


def _status_in(head: bytes) -> int:
    """The code of the status line; 200 where there is none, as FTP has none."""
    words = head[:32].split(None, 2)
    return int(words[1]) if len(words) > 1 and words[1].isdigit() and len(words[1]) == 3 else 200
