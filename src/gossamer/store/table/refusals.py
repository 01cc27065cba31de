"""Reads what was refused or excluded for reasons that may no longer hold. Every statement covers a window of URLs."""

from collections.abc import Sequence
from typing import NamedTuple

from gossamer.model.batch import RobotsRecord
from gossamer.model.states import UrlState
from gossamer.model.units import Fingerprint, HostId, HostKey, Instant, Url
from gossamer.store.ports import Database
from gossamer.store.table.windows import url_windows

_WINDOW = 20_000


class RefusedPage(NamedTuple):
    """A page with links that were refused, and where its document is."""

    url_id: int
    url: Url
    host: HostKey
    host_id: HostId
    domain_id: int
    fingerprint: Fingerprint
    depth: int
    sitemap: int
    at: Instant
    warc_file: str
    warc_offset: int
    warc_length: int


class RefusedUrl(NamedTuple):
    """A URL that is excluded, or that redirects to one that was refused."""

    url_id: int
    url: Url
    host: HostKey
    depth: int
    sitemap: int
    state: UrlState
    reason: str
    redirect_to: str | None


class NamingHost(NamedTuple):
    """A host whose robots.txt may name sitemaps."""

    host_id: HostId
    host: HostKey
    depth: int  # of its first URL in the window


class RefusalWindow(NamedTuple):
    """What was refused among the URLs up to an id, and which of their hosts may name sitemaps."""

    upto: int
    pages: list[RefusedPage]
    urls: list[RefusedUrl]
    hosts: list[NamingHost]


class RefusalReader:
    """Owned by the reader thread. Raises StoreFailed."""

    def __init__(self, db: Database) -> None:
        self._db = db

    def last_id(self) -> int:
        return int(self._db.fetch_value("last_url"))

    def count_pages(self, mask: int) -> int:
        """The pages with links that were refused for one of the reasons in `mask`, or for an unknown one."""
        windows = url_windows(self._db, _WINDOW, self.last_id())
        return sum(self._db.fetch_value("number_of_refused_pages", *window, mask) for window in windows)

    def window(self, mask: int, reasons: Sequence[str], after: int, last: int, most: int) -> RefusalWindow:
        """The next URLs after an id, up to `last`, with at most `most` pages."""
        upto = min(last, self._db.fetch_value("window_end", after, _WINDOW))
        pages = [RefusedPage._make(row) for row in self._db.fetch_all("refused_pages", after, upto, mask, most)]
        if most and len(pages) == most:
            upto = pages[-1].url_id
        rows = self._db.fetch_all("refused_urls", after, upto, list(reasons))
        urls = [RefusedUrl._make((*row[:5], UrlState(row[5]), *row[6:])) for row in rows]
        hosts = [NamingHost._make(row) for row in self._db.fetch_all("naming_hosts", after, upto)] if most else []
        return RefusalWindow(upto, pages, urls, hosts)

    def robots(self, host_id: HostId) -> list[RobotsRecord]:
        """The robots.txt files of a host."""
        return [RobotsRecord(*row) for row in self._db.fetch_each("host_robots", [(host_id,)])[0]]
