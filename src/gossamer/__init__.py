"""Gossamer: a polite, prioritised, crash-safe web crawler.

Read the packages in the order a URL passes through them: `seed`, `filter`, `seen`, `frontier`,
`fetch`, `dedup`, `extract`, `recrawl`, `store`. The values that travel between them are in `model`;
`crawl.engine` joins the stages, `crawl.run.assemble` builds a crawl, `crawl.run.store` chooses the backends.

For use from Python: `Crawl`, `run`, `crawl_pages`, `open`, `stream`, `Page` and `Hook` (docs/EXTENDING.md).
"""

from typing import TYPE_CHECKING

from gossamer.version import __version__

if TYPE_CHECKING:
    from gossamer.crawl.events import Outcome
    from gossamer.crawl.hooks import Hook
    from gossamer.crawl.page import Page, PageLink
    from gossamer.errors import GossamerError, GossamerWarning, SelectorError
    from gossamer.extract.full_page import LinkKind, Wanted
    from gossamer.extract.selection import Form, Selection
    from gossamer.library.crawl import Crawl, Summary, crawl_pages, run
    from gossamer.library.document_stream import stream
    from gossamer.library.stored_crawl import StoredCrawl, open
    from gossamer.model.announcement import StreamedDocument


__all__ = [
    "Crawl",
    "Form",
    "GossamerError",
    "GossamerWarning",
    "Hook",
    "LinkKind",
    "Outcome",
    "Page",
    "PageLink",
    "Selection",
    "SelectorError",
    "StoredCrawl",
    "StreamedDocument",
    "Summary",
    "Wanted",
    "__version__",
    "crawl_pages",
    "open",
    "run",
    "stream",
]

_PLACES = {
    "Crawl": "gossamer.library.crawl",
    "Form": "gossamer.extract.selection",
    "GossamerError": "gossamer.errors",
    "GossamerWarning": "gossamer.errors",
    "Hook": "gossamer.crawl.hooks",
    "LinkKind": "gossamer.extract.full_page",
    "Outcome": "gossamer.crawl.events",
    "Page": "gossamer.crawl.page",
    "PageLink": "gossamer.crawl.page",
    "Selection": "gossamer.extract.selection",
    "SelectorError": "gossamer.errors",
    "StoredCrawl": "gossamer.library.stored_crawl",
    "StreamedDocument": "gossamer.model.announcement",
    "Summary": "gossamer.library.crawl",
    "Wanted": "gossamer.extract.full_page",
    "crawl_pages": "gossamer.library.crawl",
    "open": "gossamer.library.stored_crawl",
    "run": "gossamer.library.crawl",
    "stream": "gossamer.library.document_stream",
}


def __getattr__(name: str) -> object:
    """Imported when it is used: the command line starts faster without."""
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_PLACES[name]), name)
