"""Parses FTP directory listings and renders them as HTML pages. Pure; never raises for any input.

Formats: MLSD (RFC 3659) and the two common forms of LIST; other lines are skipped. Work is linear in the size: a line
is split into a bounded number of parts. The same entries give the same bytes, so that an unchanged directory is
recognised as unchanged.
"""

from dataclasses import dataclass
from html import escape
from typing import Final
from urllib.parse import quote_from_bytes

MAX_ENTRIES: Final = 5_000
"""The same as the limit of links per page."""

MAX_LINES: Final = 10_000
MAX_NAME_BYTES: Final = 255  # the limit of file systems
MAX_LINE_BYTES: Final = 4096

_MONTHS: Final = frozenset(b"jan feb mar apr may jun jul aug sep oct nov dec".split())
_KINDS: Final = b"-dlbcps"


@dataclass(frozen=True, slots=True)
class Entry:
    """A file or directory. `name` as the server spells it; `size` and `modified` as text, if given."""

    name: bytes
    directory: bool
    size: str = ""
    modified: str = ""


@dataclass(frozen=True, slots=True)
class Listing:
    """The entries by name, without repetitions. `cut`: some were dropped because of the limits."""

    entries: tuple[Entry, ...]
    cut: bool


def read_listing(data: bytes, *, facts: bool) -> Listing:
    """The entries of a listing. `facts`: it is the reply to MLSD, else to LIST.

    The directory itself and its parent are left out, as are names that cannot be part of a path.
    """
    read = _with_facts if facts else _as_listed
    lines = data.split(b"\n", MAX_LINES)
    cut = any(lines[MAX_LINES:])  # the part after the last line end is empty if all lines were read
    found: dict[bytes, Entry] = {}
    for line in lines[:MAX_LINES]:
        if len(line) > MAX_LINE_BYTES:
            continue
        entry = read(line.rstrip(b"\r"))
        if entry is None or not _is_name(entry.name):
            continue
        if len(found) >= MAX_ENTRIES:
            cut = True
            break
        found.setdefault(entry.name, entry)
    return Listing(tuple(found[name] for name in sorted(found)), cut)


def _is_name(name: bytes) -> bool:
    if not name or name in (b".", b"..") or len(name) > MAX_NAME_BYTES:
        return False
    return b"/" not in name and min(name) >= 0x20 and 0x7F not in name


def _with_facts(line: bytes) -> Entry | None:
    """`type=file;size=12;modify=20200131235959; name`"""
    text, space, name = line.partition(b" ")
    if not space or b"=" not in text:
        return None
    facts = dict(fact.lower().split(b"=", 1) for fact in text.split(b";", 32) if b"=" in fact)
    kind = facts.get(b"type", b"")
    if kind in (b"cdir", b"pdir"):
        return None
    return Entry(name, kind == b"dir", _number(facts.get(b"size", b"")), _number(facts.get(b"modify", b"")[:14]))


def _as_listed(line: bytes) -> Entry | None:
    return _unix(line) if line[:1] in _KINDS and line[:1] else _dos(line)


def _unix(line: bytes) -> Entry | None:
    """`drwxr-xr-x 2 owner group 4096 Jan 31 12:00 name`. Owner, group may be missing, the date `2020-01-31 12:00`."""
    kind = line[:1]
    for columns_before_size in (4, 3, 2):
        parts = line.split(None, columns_before_size + 4)
        if len(parts) > columns_before_size + 4 and parts[columns_before_size + 1].lower() in _MONTHS:
            date, name = parts[columns_before_size + 1 : -1], parts[-1]
            break
        parts = line.split(None, columns_before_size + 3)
        if len(parts) > columns_before_size + 3 and parts[columns_before_size + 1][4:5] == b"-":
            date, name = parts[columns_before_size + 1 : -1], parts[-1]
            break
    else:
        return None
    if kind == b"l":
        name = name.partition(b" -> ")[0]  # a link may lead to either; a request for it as a file will tell
    return Entry(name, kind == b"d", _number(parts[columns_before_size]), _text(b" ".join(date)))


def _dos(line: bytes) -> Entry | None:
    """`01-31-20  12:00PM  <DIR>  name`, or a size in place of the mark."""
    parts = line.split(None, 3)
    if len(parts) < 4 or parts[0].count(b"-") != 2 or b":" not in parts[1]:
        return None
    directory = parts[2].upper() == b"<DIR>"
    if not directory and not parts[2].isdigit():
        return None
    return Entry(parts[3], directory, "" if directory else _number(parts[2]), _text(b" ".join(parts[:2])))


def _number(text: bytes) -> str:
    return text.decode("ascii") if text.isdigit() and len(text) <= 20 else ""


def _text(text: bytes) -> str:
    return text[:40].decode("ascii", "replace")


CONTENT_TYPE = "text/html; charset=utf-8"


def index_page(path: bytes, listing: Listing) -> bytes:
    """An HTML page with one link per entry, relative to the directory's own URL, which ends with a slash."""
    title = f"Index of {_shown(path)}"
    lines = [f'<!DOCTYPE html>\n<html><head><meta charset="utf-8"><title>{title}</title></head>\n<body><ul>\n']
    for entry in listing.entries:
        slash = "/" if entry.directory else ""
        # Every byte is escaped, colons too: a name must not become a scheme, a query or another directory.
        href = quote_from_bytes(entry.name, safe="") + slash
        about = " ".join(filter(None, (entry.size, entry.modified)))
        lines.append(f'<li><a href="{href}">{_shown(entry.name)}{slash}</a> {escape(about)}\n')
    lines.append("</ul></body></html>\n")
    return "".join(lines).encode()


def _shown(name: bytes) -> str:
    return escape(name.decode("utf-8", "replace"))
