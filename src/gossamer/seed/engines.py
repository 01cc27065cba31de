"""Search engines by name, and what their result pages list.

`DuckDuckGo` parses the result page for browsers without scripts. Every result is a block with the class `result`, its
link an `<a class="result__a">` that leads to the engine's own `/l/?uddg=TARGET`. Advertisements are blocks with
`result--ad`. A page without results has a block with the class `no-results` or `result--no-result`. A page that blocks
robots has elements whose class begins with `anomaly-modal`, or a form named `challenge-form`, with any status.
"""

from importlib.metadata import entry_points
from typing import Final
from urllib.parse import parse_qs, quote_plus, urlsplit

from turbohtml import Document, Element, parse

from gossamer.config.load import Config
from gossamer.config.plugins import entry_label, load_plugin
from gossamer.errors import ConfigError, UsageError
from gossamer.seed.search import SearchAnswer, SearchProvider

BASE: Final = "https://html.duckduckgo.com/html/"

_MAX_BYTES: Final = 2 * 1024 * 1024  # a result page has some tens of kilobytes
_BLOCKING: Final = frozenset((202, 403, 429))
_AD_CLASSES: Final = frozenset(("result--ad", "result--ad--small", "badge--ad"))
_AD_PATH: Final = "/y.js"
_MAX_LINKS: Final = 500
_MAX_LEVELS: Final = 6  # from a result's link up to its block


class DuckDuckGo(SearchProvider):
    """The result page for browsers without scripts."""

    name = "duckduckgo"

    def request(self, query: str) -> str:
        base = self.base or BASE
        return f"{base}{'&' if '?' in base else '?'}q={quote_plus(query)}"

    def results(self, answer: SearchAnswer, query: str) -> list[str]:
        page = parse(answer.body[:_MAX_BYTES], encoding="UTF-8", positions=False)
        if answer.status in _BLOCKING or _is_challenge(page):
            raise self.failed(
                query, "blocked", f"blocked as a robot (status {answer.status}); try again later, or give URLs"
            )
        if answer.status != 200:
            raise self.failed(query, "unreachable", f"status {answer.status}")
        links = [link for link in page.select("a.result__a")[:_MAX_LINKS] if not _is_advertisement(link)]
        found = list(dict.fromkeys(filter(None, (_target(link.attr("href")) for link in links))))
        if found:
            return found
        if not links and page.select_one(".no-results, .result--no-result") is not None:
            raise self.failed(query, "no results", "no results")
        raise self.failed(
            query,
            "changed",
            "the page has neither results nor a message that there are none; its layout may have changed",
        )


def _is_challenge(page: Document) -> bool:
    marks = '#challenge-form, form[action*="anomaly"], [class^="anomaly-modal"], [class*=" anomaly-modal"]'
    return page.select_one(marks) is not None


def _is_advertisement(link: Element) -> bool:
    """Decided by the class of a surrounding block, or by the target."""
    href = link.attr("href") or ""
    if _path(href) == _AD_PATH or "ad_domain=" in href:
        return True
    block = link.parent
    for _ in range(_MAX_LEVELS):
        if not isinstance(block, Element):
            return False
        if not _AD_CLASSES.isdisjoint((block.attr("class") or "").split()):
            return True
        block = block.parent
    return False


def _path(href: str) -> str:
    try:
        return urlsplit(href).path
    except ValueError:
        return ""


def _target(href: str | None) -> str | None:
    """The URL of a result: the target of the engine's redirect, or the link itself."""
    if not href:
        return None
    try:
        parts = urlsplit(href)
        if parts.path == "/l/":
            named = parse_qs(parts.query, max_num_fields=32).get("uddg")
            return named[0] if named else None
    except ValueError:
        return None
    return href if parts.scheme in ("http", "https") else None


SEARCH_GROUP: Final = "gossamer.search"
"""Entry point group: names of search engines, with their classes as values (docs/EXTENDING.md)."""


def provider_for(config: Config) -> SearchProvider:
    """The engine of the configuration, built in or of a plugin, which cannot replace the built-in one.

    Raises ConfigError if there is none of that name, UsageError if the plugin is broken.
    """
    name, base = config.search.provider, config.search.base
    if name == DuckDuckGo.name:
        return DuckDuckGo(base)
    entries = {entry.name: entry for entry in entry_points(group=SEARCH_GROUP)}
    if name not in entries:
        names = ", ".join(sorted({DuckDuckGo.name, *entries}))
        raise ConfigError("search.provider", f"no such search engine: {name!r} (there are {names})")
    where = f"the search engine {entry_label(entries[name])}"
    provider = load_plugin(entries[name], SearchProvider, where, "gossamer.seed.search.SearchProvider", base)
    if provider.name != name:
        raise UsageError(f"{where} calls itself {provider.name!r}")
    return provider
