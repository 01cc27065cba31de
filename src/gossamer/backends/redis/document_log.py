"""Announces documents on a Redis stream after their commit. Hot: benchmarks/bench_cache.py.

Best effort: what cannot be announced in time is not announced later. Every document has a number, so readers see how
many are missing and where. An epoch stands for one life of a worker; until its first announcement is acknowledged, they
say how many documents the worker had stored in the epoch before (`after`), so that those missing at its end are seen.
The stream of a crawl is `gossamer:CRAWL:documents`; the ids of crawls that announce
documents are in the set `gossamer:crawls`.
"""

from collections.abc import Sequence
from typing import Final

from gossamer.backends.redis.connection import Command, Replies
from gossamer.backends.redis.tier import CacheTier
from gossamer.model.announcement import Announcement
from gossamer.model.formats import sha1_text

CRAWLS: Final = "gossamer:crawls"


def stream_of(crawl_id: str) -> str:
    return f"gossamer:{crawl_id}:documents"


class RedisDocumentLog:
    """The announcements of one worker (`store.ports.DocumentLog`)."""

    def __init__(self, tier: CacheTier, epoch: int, most: int, before: str | None = None) -> None:
        """About `most` documents are kept in the stream. `before` is the last `position` of the worker's epoch before
        this one."""
        self._tier = tier
        self._epoch = epoch
        self._most = most
        self._crawl_id = tier.scope.crawl_id
        self._stream = stream_of(self._crawl_id)
        self._serial = 0
        self._before: str | None = before
        self.announced = 0
        self.unannounced = 0  # also those of which we do not know

    def position_after(self, documents: int) -> str:
        """The epoch, and the number of its last document after a commit of this many documents. Stored with that
        commit."""
        return f"{self._epoch} {self._serial + documents}"

    def announce(self, commit: int, documents: Sequence[Announcement | None]) -> None:
        first, number = self._serial + 1, len(documents)
        self._serial += number
        if not number:
            return

        if not self._tier.is_usable:
            self.unannounced += number
            return
        begin = ("XADD", self._stream, "MAXLEN", "~", self._most, "*", "epoch", self._epoch, "serial")
        after: Command = () if self._before is None else ("after", self._before)
        request: list[Command] = [("SADD", CRAWLS, self._crawl_id)]
        for index, document in enumerate(documents):
            if document is None:
                self.unannounced += 1
                continue
            url, digest, file, offset, length, status, at, title, text = document
            fields: Command = (
                *(*begin, first + index, *after, "commit", commit, "index", index),
                *("url", url, "digest", sha1_text(digest)),
                *("file", file, "offset", offset, "length", length, "status", status, "at", at),
            )
            if title is not None:
                fields = (*fields, "title", _encoded(title))
            if text is not None:
                fields = (*fields, "text", _encoded(text))
            request.append(fields)
            self._tier.send(request, self._on_done)
            request = []

    def _on_done(self, replies: Replies | None) -> None:
        """One document was announced, or not."""
        if replies is None:
            self.unannounced += 1
        else:
            self.announced += 1
            self._before = None


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "replace")  # a page may have lone surrogates
