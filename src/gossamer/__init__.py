"""Gossamer: a polite, prioritised, crash-safe web crawler.

Read the packages in the order a URL passes through them: `seed`, `filter`, `seen`, `frontier`,
`fetch`, `dedup`, `extract`, `recrawl`, `store`. The values that travel between them are in `model`;
`crawl.engine` joins the stages, `crawl.run.assemble` builds a crawl, `crawl.run.store` chooses the backends.

For use from Python: `Crawl`, `crawl_pages`, `Page`, `Outcome` and `Hook` (docs/EXTENDING.md).
"""

from typing import TYPE_CHECKING

from gossamer.version import __version__

if TYPE_CHECKING:
    from gossamer.crawl.events import Outcome
    from gossamer.crawl.hooks import Hook, Page
    from gossamer.library.blocking import crawl_pages
    from gossamer.library.crawl import Crawl


__all__ = ["Crawl", "Hook", "Outcome", "Page", "__version__", "crawl_pages"]

_PLACES = {
    "Crawl": "gossamer.library.crawl",
    "Hook": "gossamer.crawl.hooks",
    "Outcome": "gossamer.crawl.events",
    "Page": "gossamer.crawl.hooks",
    "crawl_pages": "gossamer.library.blocking",
}


def __getattr__(name: str) -> object:
    """Imported when it is used: the command line starts faster without."""
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_PLACES[name]), name)
