"""WARC 1.1 files on local disk: every capture, as it was on the wire.

A `Response` becomes a record (`record.py`), a gzip member of its own so that any record can be read alone; what came
over FTP is a resource record, with the conversation as metadata. The writer (`writer.py`) appends members to the open
file and says where each one lies. That place, and the file's new length, are committed in the same database transaction
as the page's row; after a crash every file is cut back to its committed length (`recover.py`). So a record is in a file
exactly if its row is in the database. `reader.py` reads one back, for `explain` and `verify`.

What always holds:
  * a file begins with a warcinfo record and holds whole gzip members only, up to its committed length;
  * committed bytes are never written again, cut or moved;
  * a file changes hands between transactions only: one transaction concerns one file;
  * block digests cover the block as stored, payload digests the body as stored, transfer coding and all (ADR 4);
  * a document that is stored already under another URL is a revisit record, which names that URL and its date.
"""

from gossamer.backends.warc.archive import WarcArchive
from gossamer.backends.warc.reader import read_record, scan_records
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
