"""Announces documents on a Redis stream after their commit. Hot: benchmarks/bench_cache.py.

Best effort: what cannot be announced in time is not announced later. Every document has a number, so readers see how
many are missing and where. An epoch stands for one life of a worker; until its first announcement is acknowledged, they
say how many documents the worker had stored in the epochs before (`after`), so that those missing at their ends are
seen. A worker that ends, and whose last documents could not be announced, says how many it had stored (`end`), if it
can. The stream of a crawl is `gossamer:CRAWL:documents`; the ids of crawls that announce
documents are in the set `gossamer:crawls`.
"""

from collections.abc import Sequence
from functools import partial
from typing import Final

from gossamer.backends.redis.connection import Command, Replies
from gossamer.backends.redis.tier import CacheTier
from gossamer.model.announcement import Announcement
from gossamer.model.formats import sha1_text

CRAWLS: Final = "gossamer:crawls"


_EPOCHS: Final = 100
"""Positions of earlier epochs that are kept at most."""


def stream_of(crawl_id: str) -> str:
    return f"gossamer:{crawl_id}:documents"


class RedisDocumentLog:
    """The announcements of one worker (`store.ports.DocumentLog`)."""

    def __init__(self, tier: CacheTier, epoch: int, most: int, before: str | None = None) -> None:
        """About `most` documents are kept in the stream. `before` is the last position that the worker stored in its
        epoch before this one."""
        self._tier = tier
        self._epoch = epoch
        self._most = most
        self._crawl_id = tier.scope.crawl_id
        self._stream = stream_of(self._crawl_id)
        self._serial = 0
        self._before: str | None = before  # None: readers know it
        self._last_announced = 0  # its serial number
        self.announced = 0
        self.unannounced = 0  # also those of which we do not know

    def position_after(self, documents: int) -> str:
        """The epoch, and the number of its last document after a commit of this many documents; then the same of
        earlier epochs, unless they were announced. Stored with that commit."""
        before = () if self._before is None else self._before.split()[: 2 * _EPOCHS - 2]
        return " ".join((str(self._epoch), str(self._serial + documents), *before))

    def announce(self, commit: int, documents: Sequence[Announcement | None]) -> None:
        first, number = self._serial + 1, len(documents)
        self._serial += number
        if not number:
            return

        if not self._tier.is_usable:
            self.unannounced += number
            return
        after = self._after()
        request: list[Command] = [("SADD", CRAWLS, self._crawl_id)]
        for index, document in enumerate(documents):
            if document is None:
                self.unannounced += 1
                continue
            url, digest, file, offset, length, status, at, title, text = document
            fields: Command = (
                *(*self._entry(first + index), *after, "commit", commit, "index", index),
                *("url", url, "digest", sha1_text(digest)),
                *("file", file, "offset", offset, "length", length, "status", status, "at", at),
            )
            if title is not None:
                fields = (*fields, "title", _encoded(title))
            if text is not None:
                fields = (*fields, "text", _encoded(text))
            request.append(fields)
            self._tier.send(request, partial(self._on_done, first + index))
            request = []

    def _on_done(self, serial: int, replies: Replies | None) -> None:
        """One document was announced, or not."""
        if replies is None:
            self.unannounced += 1
        else:
            self.announced += 1
            self._before = None
            self._last_announced = serial

    def finish(self) -> None:
        if self._last_announced < self._serial or self._before is not None:
            self._tier.send(((*self._entry(self._serial), *self._after(), "end", 1),), lambda replies: None)

    def _entry(self, serial: int) -> Command:
        """The beginning of an entry."""
        return ("XADD", self._stream, "MAXLEN", "~", self._most, "*", "epoch", self._epoch, "serial", serial)

    def _after(self) -> Command:
        return () if self._before is None else ("after", self._before)


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "replace")  # a page may have lone surrogates
