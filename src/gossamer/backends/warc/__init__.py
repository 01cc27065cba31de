"""WARC 1.1 files on local disk: every capture, as it was on the wire.

A `Response` becomes a record (`record`), a gzip member of its own, so that every record can be read alone; a document
fetched over FTP is a resource record, with the control conversation as metadata. `writer` appends members to the open
file. The location of a record and the new length of its file are committed in the same database transaction as the
page's row; after a crash every file is cut back to its committed length. So a record is in a file exactly if its row is
in the database. `captures` is the port for writing, `reader` the port for reading by location.

Invariants:
  * a file begins with a warcinfo record and contains whole gzip members only, up to its committed length;
  * committed bytes are never overwritten, cut or moved;
  * a new file is opened only between transactions: a transaction concerns one file;
  * block digests cover the block as stored, payload digests the body as stored, transfer coding and all (ADR 4);
  * a document that is stored already under another URL is a revisit record, which names that URL and its date.
"""

from gossamer.backends.warc.reader import WarcArchive, read_record, scan_records
from gossamer.backends.warc.record import (
    Original,
    RecordIds,
    Warcinfo,
    build_conversation,
    build_outlinks,
    build_request,
    build_resource,
    build_response,
    build_revisit,
    build_warcinfo,
    payload_digest_of,
)
from gossamer.backends.warc.writer import Repair, RepairKind, WarcWriter, cut_back

__all__ = [
    "Original",
    "RecordIds",
    "Repair",
    "RepairKind",
    "WarcArchive",
    "WarcWriter",
    "Warcinfo",
    "build_conversation",
    "build_outlinks",
    "build_request",
    "build_resource",
    "build_response",
    "build_revisit",
    "build_warcinfo",
    "cut_back",
    "payload_digest_of",
    "read_record",
    "scan_records",
]
