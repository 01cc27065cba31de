"""A CDXJ index: a sorted line for each document in the WARC files, by which replay tools find it.

A line is the sort key of its URL, the time of the capture (14 digits, UTC) and a JSON object: url, mime, status,
digest, length, offset, filename, all of them strings, as pywb's indexer writes them.

The sort key (`surt`) has the labels of the host in reverse, so that a domain is one range of the index:
`http://www.example.org:8080/A/?b=2&a=1` is `org,example:8080)/a?a=1&b=2`. The form is that of the Internet Archive's
tools, with which pywb and others look up a URL. URLs that they take for one page have one key: upper and lower case,
`www.`, a slash at the end, the order of the query and session ids make no difference.

`SortedLines` sorts more lines than fit into memory, by runs on disk that are merged when they are read. The order is
that of the bytes (`LC_ALL=C sort`), which is what readers of an index search by.
"""

import heapq
import json
import re
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Final

from gossamer.model.archive_record import ArchivedRecord
from gossamer.reports.ports import Archive

_WWW: Final = re.compile(r"www\d*\.")
_ESCAPED: Final = re.compile(rb"%([0-9A-Fa-f]{2})")
_TO_ESCAPE: Final = re.compile(rb"[\x00-\x20\x7f-\xff#%]")
_PORTS: Final = {"http": "80", "https": "443", "ftp": "21"}
_SESSION_VALUES: Final = {
    "jsessionid": re.compile("[0-9a-z]{32}"),
    "phpsessid": re.compile("[0-9a-z]{32}"),
    "sid": re.compile("[0-9a-z]{32}"),
}
_ASP_NAME: Final = re.compile("aspsessionid[a-z]{8}")
_ASP_SEGMENT: Final = re.compile(r"\(([a-z]\([0-9a-z]{24}\))+\)|\([0-9a-z]{24}\)")
_ROUNDS: Final = 8  # an address escaped more often than this is none that anybody asks for


def surt(url: str) -> str:
    """The key of an absolute address. Never raises; what has no host is its own key, in lower case."""
    scheme, separator, rest = url.partition("://")
    if not separator:
        return url.lower()
    rest, _, _ = rest.partition("#")
    authority, _, tail = rest.partition("/")
    if "?" in authority:
        authority, _, query = authority.partition("?")
        path, mark = "", "?"
    else:
        path, mark, query = tail.partition("?")
    host, port = _host_and_port(authority.rpartition("@")[2].lower())
    key = ",".join(reversed(_WWW.sub("", host, count=1).split("."))) if not host.startswith("[") else host
    if port and port != _PORTS.get(scheme.lower()):
        key += ":" + port
    return f"{key}){_path('/' + path)}{_query(query) if mark else ''}"


def _host_and_port(authority: str) -> tuple[str, str]:
    host, colon, port = authority.rpartition(":")
    if not colon or (authority.startswith("[") and authority.endswith("]")):
        return authority, ""
    return host, port


def _path(path: str) -> str:
    path = _plain(path).lower()
    segments = [s for i, s in enumerate(path.split("/")) if s or i == 0]  # two slashes are one
    if segments[-1].find(".aspx") > 0:
        segments = [s for s in segments if not _ASP_SEGMENT.fullmatch(s)]
    return "/".join(segments) or "/"


def _query(query: str) -> str:
    parameters = sorted(part.split("=", 1) for part in _plain(query).lower().split("&"))
    names = {part[0] for part in parameters}
    cold_fusion = {"cfid", "cftoken"} if {"cfid", "cftoken"} <= names else set()
    kept = [part for part in parameters if part[0] not in cold_fusion and not _is_session(part)]
    text = "&".join("=".join(part) for part in kept)
    return "?" + text if text else ""


def _is_session(parameter: list[str]) -> bool:
    name, value = parameter[0], parameter[1] if len(parameter) > 1 else ""
    expected = _SESSION_VALUES.get(name)
    if expected is not None:
        return expected.fullmatch(value) is not None
    return _ASP_NAME.fullmatch(name) is not None and len(value) == 24 and value.isalpha()


def _plain(text: str) -> str:
    """Escapes taken off, however often they were put on, and put back where an index cannot do without."""
    if text.isascii() and "%" not in text and text.isprintable() and " " not in text:
        return text
    raw = text.encode("utf-8", "surrogatepass")
    for _ in range(_ROUNDS):
        opened = _ESCAPED.sub(lambda found: bytes([int(found[1], 16)]), raw)
        if opened == raw:
            break
        raw = opened
    return _TO_ESCAPE.sub(lambda found: b"%%%02X" % found[0][0], raw).decode("ascii")


_DOCUMENTS = frozenset({"response", "resource", "revisit"})


def index_lines(archive: Archive, file: str, end: int | None = None) -> Iterator[str]:
    """The lines of one file in the order of its records, up to byte `end`. Raises ArchiveError."""
    for offset, length, record in archive.scan(file, end):
        if record.kind in _DOCUMENTS:
            yield index_line(record, file, offset, length)


def index_line(record: ArchivedRecord, file: str, offset: int, length: int) -> str:
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


def _mime(record: ArchivedRecord) -> str:
    if record.kind == "revisit":
        return "warc/revisit"
    declared = record.header("Content-Type") if record.kind == "resource" else _field(record.head, b"content-type")
    return (declared or "").partition(";")[0].strip().lower() or "unk"


def _status(record: ArchivedRecord) -> str | None:
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


LINES_IN_MEMORY = 50_000
BYTES_IN_MEMORY = 32 * 1024 * 1024
MOST_RUNS = 64
"""Files that are merged at a time, and so open at a time."""


class SortedLines:
    """Takes lines in any order and gives them back sorted, once. Use it in a `with` block: it has files to remove."""

    def __init__(self, folder: Path | None = None, lines: int = LINES_IN_MEMORY, size: int = BYTES_IN_MEMORY) -> None:
        self._most_lines = lines
        self._most_bytes = size
        self._stack = ExitStack()
        self._folder = Path(self._stack.enter_context(tempfile.TemporaryDirectory(prefix=".sort-", dir=folder)))
        self._lines: list[bytes] = []
        self._bytes = 0
        self._runs: list[Path] = []
        self._made = 0

    def __enter__(self) -> "SortedLines":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def add(self, lines: Iterable[str]) -> int:
        """Returns how many there were."""
        number = 0
        for line in lines:
            raw = line.encode("utf-8", "backslashreplace") + b"\n"
            self._lines.append(raw)
            self._bytes += len(raw)
            number += 1
            if len(self._lines) >= self._most_lines or self._bytes >= self._most_bytes:
                self._spill()
        return number

    def __iter__(self) -> Iterator[bytes]:
        """All lines with their line feeds."""
        self._lines.sort()
        with ExitStack() as stack:
            files = [stack.enter_context(run.open("rb")) for run in self._runs]
            yield from heapq.merge(*files, self._lines)

    def _spill(self) -> None:
        self._lines.sort()
        self._write_run(self._lines)
        self._lines = []
        self._bytes = 0
        if len(self._runs) >= MOST_RUNS:
            merged, self._runs = self._runs, []
            with ExitStack() as stack:
                self._write_run(heapq.merge(*(stack.enter_context(run.open("rb")) for run in merged)))
            for run in merged:
                run.unlink()

    def _write_run(self, lines: Iterable[bytes]) -> None:
        path = self._folder / f"{self._made}"
        self._made += 1
        with path.open("wb") as file:
            file.writelines(lines)
        self._runs.append(path)
