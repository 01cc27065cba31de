"""Reads a graph file: gzip or plain text, the number of pages and then a line of links for each of them."""

import gzip
import zlib
from array import array
from bisect import bisect_right
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from gossamer.errors import UsageError
from gossamer.simulate.graph import LinkGraph, make_graph

_GZIP = b"\x1f\x8b"
_ENDINGS = (".gz", ".graph-txt")


def read_graph(path: Path, sites: Path | None = None) -> LinkGraph:
    """The graph of a file, and its sites by the first page of each, one number a line.

    Without `sites` a file `NAME.site-starts.txt` beside the graph is used; where there is none, all pages are taken
    to be of one site. Raises UsageError naming the file and the line that cannot be.
    """
    try:
        with _open(path) as lines:
            pages = _number_of_pages(path, lines.readline())
            starts = _site_starts(sites or _beside(path), pages)
            site_of = array("q", (bisect_right(starts, page) - 1 for page in range(pages)))
            return make_graph(_stem(path), _links(path, lines, pages), site_of)
    except (OSError, EOFError, zlib.error) as error:
        raise UsageError(f"cannot read the graph {path}: {getattr(error, 'strerror', None) or error}") from error


def _open(path: Path) -> IO[bytes] | gzip.GzipFile:
    with path.open("rb") as file:
        packed = file.read(2) == _GZIP
    return gzip.open(path, "rb") if packed else path.open("rb")


def _number_of_pages(path: Path, line: bytes) -> int:
    text = line.strip()
    if not text.isdigit() or int(text) == 0:
        raise UsageError(f"{path}: the first line must be the number of pages, not {text[:40].decode('latin-1')!r}")
    return int(text)


def _links(path: Path, lines: IO[bytes] | gzip.GzipFile, pages: int) -> Iterator[list[int]]:
    for page in range(pages):
        line = lines.readline()
        if not line:
            raise UsageError(f"{path}: ends after {page} of {pages} pages")
        try:
            links = list(map(int, line.split()))
        except ValueError:
            raise UsageError(f"{path}: line {page + 2} is no list of page numbers") from None
        if links and not 0 <= min(links) <= max(links) < pages:
            raise UsageError(f"{path}: line {page + 2} links to a page that is not there")
        yield links
    # Also has the checksum of a packed file verified.
    if lines.read().strip():
        raise UsageError(f"{path}: goes on after the last of {pages} pages")


def _site_starts(path: Path | None, pages: int) -> list[int]:
    if path is None:
        return [0]
    try:
        starts = [int(line) for line in path.read_text(encoding="ascii").split()]
    except (ValueError, OSError) as error:
        raise UsageError(f"cannot read the sites {path}: {getattr(error, 'strerror', None) or error}") from error
    if not starts or starts[0] != 0 or starts != sorted(set(starts)) or starts[-1] >= pages:
        raise UsageError(f"{path}: first pages of sites must increase from 0 and stay below {pages}")
    return starts


def _stem(path: Path) -> str:
    name = path.name
    for ending in _ENDINGS:
        name = name.removesuffix(ending)
    return name


def _beside(path: Path) -> Path | None:
    beside = path.with_name(f"{_stem(path)}.site-starts.txt")
    return beside if beside.is_file() else None
