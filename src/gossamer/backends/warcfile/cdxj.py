"""A CDXJ index: a sorted line for each document in the WARC files, by which replay tools find it.

A line is the sort key of its address (`surt`), the moment of capture (14 digits, UTC) and a JSON object: url, mime,
status, digest, length, offset, filename, all of them text, as pywb's indexer writes them.
"""

import json
from collections.abc import Iterator
from pathlib import Path

from gossamer.backends.warcfile.reader import Record, scan_records
from gossamer.backends.warcfile.surt import surt

_DOCUMENTS = frozenset({"response", "resource", "revisit"})


def index_lines(path: Path, end: int | None = None, name: str | None = None) -> Iterator[str]:
    """The lines of one file in the order of its records, up to byte `end`; `name` is what the index calls it, if that
    is not the name of the file alone. Raises DamagedRecord."""
    for offset, length, record in scan_records(path, end):
        if record.kind in _DOCUMENTS:
            yield index_line(record, name or path.name, offset, length)


def index_line(record: Record, file: str, offset: int, length: int) -> str:
    """The line of a record that holds a document, or says that it is one we hold."""
    url = record.target_uri or ""
    date = "".join(c for c in record.header("WARC-Date") or "" if c.isdigit())[:14]
    fields = {"url": url, "mime": _mime(record)}
    status = _status(record)
    if status is not None:
        fields["status"] = status
    digest = record.header("WARC-Payload-Digest") or record.header("WARC-Block-Digest") or ""
    fields["digest"] = digest.removeprefix("sha1:")
    fields.update(length=str(length), offset=str(offset), filename=file)
    return f"{surt(url)} {date} {json.dumps(fields)}"


def _mime(record: Record) -> str:
    if record.kind == "revisit":
        return "warc/revisit"
    declared = record.header("Content-Type") if record.kind == "resource" else _field(record.head, b"content-type")
    return (declared or "").partition(";")[0].strip().lower() or "unk"


def _status(record: Record) -> str | None:
    """The status of an answer; none of a revisit that has no head, and none over FTP."""
    words = record.block[:32].split(None, 2)
    if len(words) > 1 and words[0].startswith(b"HTTP/") and words[1].isdigit():
        return words[1].decode("ascii")
    return None


def _field(head: bytes, name: bytes) -> str | None:
    for line in head.split(b"\n")[1:]:
        key, colon, value = line.partition(b":")
        if colon and key.strip().lower() == name:
            return value.strip().decode("latin-1")
    return None
