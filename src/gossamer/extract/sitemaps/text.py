"""Sitemaps in plain text: one URL on a line."""

import codecs
from typing import Final

from gossamer.extract.sitemaps.entries import MAX_HREF, Entry, Fault, ListKind, ReadLimits

_PATIENCE: Final = 256 * 1024  # characters without a URL after which it is none of ours
_STARTS: Final = ("http://", "https://", "ftp://")


class TextLines:
    """Reads lines as they come. Lines that are no absolute URL are passed over: comments, or damage."""

    def __init__(self, limits: ReadLimits, encoding: str = "utf-8") -> None:
        self._limits = limits
        self._decoder = codecs.getincrementaldecoder(encoding)("replace")
        self._rest = ""
        self._skipping = False  # the rest of a line that is too long
        self._read = 0
        self.entries: list[Entry] = []
        self.found = 0
        self.dropped = 0
        self.home: str | None = None
        self.fault: tuple[Fault, str] | None = None

    @property
    def kind(self) -> ListKind:
        return ListKind.TEXT if self.found > self.dropped else ListKind.UNKNOWN

    def feed(self, data: bytes, *, last: bool = False) -> None:
        text = self._decoder.decode(data, last)
        self._read += len(text)
        lines = (self._rest + text).splitlines()
        open_line = not last and bool(lines) and not text.endswith(("\n", "\r"))
        self._rest = lines.pop() if open_line else ""
        for line in lines:
            if self._skipping:
                self._skipping = False
                continue
            self._take(line.strip())
        if len(self._rest) > MAX_HREF:
            if not self._skipping:
                self._take(self._rest.lstrip())
            self._skipping, self._rest = True, ""
        if self.kind is ListKind.UNKNOWN and (last or self._read > _PATIENCE):
            self.fault = Fault.NOT_A_LIST, "neither XML nor a line with a URL"

    def _take(self, line: str) -> None:
        if not line[:8].lower().startswith(_STARTS):
            return
        self.found += 1
        if self.found > self._limits.max_entries or len(line) > MAX_HREF:
            self.dropped += 1
        else:
            self.entries.append(Entry(line))
