"""Hot (benchmarks/bench_urls.py). All links of a page at once: raw `href`s in, distinct canonical URLs out.

Most links need no URL parser. Two thirds of a page's `href`s repeat each other but for the fragment; most of the rest
is made of characters that no parser would change, so that joining is putting two strings together; and of what remains
many were met on the last page of the same site. Whatever is not plainly one of these goes to
`Canonicaliser.canonicalise`, which is the definition of what comes out (tests/filter/test_links.py compares).
"""

import re
from collections.abc import Iterable
from typing import NamedTuple, cast
from urllib.parse import quote

from gossamer.filter.canonical import Canonical, Canonicaliser, Refusal, parse
from gossamer.filter.legacy_query import with_encoded_query
from gossamer.filter.percent import fold_escapes
from gossamer.filter.plain_links import CHARACTERS, resolve_plain, without_fragments
from gossamer.model.units import HostKey, Origin, Url

MAX_LINKS = 5_000
_EXAMINED_PER_LINK = 4  # a page full of references that are all refused must come to an end as well
_RAW_PER_LINK = 20
_MAX_FAST_CHARS = 2_048
MAX_SITES = 8_192
_MAX_MEMO_CHARS = 512  # so that the memo is bounded in bytes too
_ANYWHERE = ("/", "http://", "https://", "mailto:", "javascript:", "tel:")  # what so begins means the same on all pages

# A plain reference (`filter.plain_links`) with escapes, to be folded, and text beyond ASCII, to be escaped.
_MORE = CHARACTERS + r"%\u0080-\ud7ff\ue000-\U0010ffff"
_FOLDABLE = re.compile(rf"(?:/(?!/)[{_MORE}/:]*|[{_MORE}][{_MORE}/]*)?(?:\?[{_MORE}/:?]+)?").fullmatch
_ABSOLUTE = re.compile(rf"(https?://[a-z0-9.\-]+(?::[0-9]+)?)(/[{_MORE}/:]*)?(\?[{_MORE}/:?]+)?").fullmatch
_SAFE = "!$&()*+,;=@/:?%"  # for `quote`: what `_MORE` lets through, so that only non-ASCII is escaped
_ESCAPED_DOT_SEGMENT = re.compile(r"(?:\A|/)%2e", re.IGNORECASE).search

# Inside plain strings: calling `Url` for every link would cost more than joining it.
Found = tuple[str, str]


class PageLinks(NamedTuple):
    """What a page links to."""

    links: dict[Url, HostKey]
    """Distinct canonical URLs in document order, each with its host. The page itself is not among them."""
    refused: dict[str, int]
    """How many distinct references were refused, by reason."""
    dropped: int
    """How many references were left unread because the page had too many."""


class _Frame(NamedTuple):
    """What the references of a page are read against, taken apart."""

    base: Url
    origin: Origin
    host: HostKey
    document: str  # the base without its query
    directory: str  # the base up to the last slash of its path


class LinkResolver:
    """Resolves the links of page after page, and remembers those that a site repeats.

    The memory is bounded: at most `memo_entries` references (plus one page's), forgotten by whole sites, the longest
    unused first; and the names of `MAX_SITES` other sites.
    """

    def __init__(
        self,
        canonicaliser: Canonicaliser | None = None,
        *,
        max_links: int = MAX_LINKS,
        memo_entries: int = 50_000,
        memo_entries_per_origin: int = 1_000,
    ) -> None:
        self._canonicaliser = canonicaliser or Canonicaliser()
        self._rewrites = self._canonicaliser.rules.rewrite
        self._max_links = max_links
        self._memo_entries = memo_entries
        self._memo_entries_per_origin = memo_entries_per_origin
        self._memos: dict[Origin, dict[str, Found | str]] = {}  # longest unused first
        self._remembered = 0
        self._sites: dict[str, Found | str] = {}  # by `scheme://host[:port]` as pages write it; first met first

    def resolve_page(self, base: str, page: Canonical, hrefs: list[str], encoding: str = "utf-8") -> PageLinks:
        """The distinct links among `hrefs`, the raw attribute values in document order.

        `base` is the page's URL or what its `<base href>` says, itself read against the page; a base that is no
        URL is ignored, as in HTML. `encoding` is the document's: it decides how non-ASCII queries are sent.
        Never raises because of what the page says.
        """
        limit = self._max_links
        raw = hrefs[: limit * _RAW_PER_LINK]
        refs = without_fragments(raw)
        if encoding != "utf-8":
            refs = dict.fromkeys([with_encoded_query(ref, encoding) for ref in refs])
        links: dict[str, str] = {}
        refused: dict[str, int] = {}
        frame = self._frame(base, page)
        unread = len(hrefs) - len(raw)
        if len(refs) <= limit:
            self._resolve(frame, refs, links, refused)
            links.pop(page.url, None)
            return PageLinks(cast(dict[Url, HostKey], links), refused, unread)
        waiting = list(refs)
        examined = 0
        while examined < min(len(waiting), limit * _EXAMINED_PER_LINK) and len(links) < limit:
            # A reference gives at most one link, so that as many as are missing cannot give too many.
            batch = waiting[examined : examined + limit - len(links)]
            examined += len(batch)
            self._resolve(frame, batch, links, refused)
            links.pop(page.url, None)
        return PageLinks(cast(dict[Url, HostKey], links), refused, unread + len(waiting) - examined)

    def _resolve(
        self, frame: _Frame | str, refs: Iterable[str], links: dict[str, str], refused: dict[str, int]
    ) -> None:
        """Adds what `refs` mean to `links` and `refused`."""
        if isinstance(frame, str):
            for ref in refs:
                _note(self._slowly(ref, frame), links, refused)
            return
        base, origin, host, document, directory = frame
        others = self._memos.pop(origin, {})
        before = len(others)

        def otherwise(ref: str) -> None:
            found = others.get(ref)
            if found is None:
                found = self._carefully(ref, frame)
                # Only what means the same wherever on the site it stands.
                if (
                    len(others) < self._memo_entries_per_origin
                    and len(ref) <= _MAX_MEMO_CHARS
                    and ref.startswith(_ANYWHERE)
                ):
                    others[ref] = found
            _note(found, links, refused)

        resolve_plain(
            *(refs, base, origin, document, directory, host, self._sites, links),
            *(_MAX_FAST_CHARS, self._rewrites, otherwise),
        )
        if others:
            self._memos[origin] = others  # last in the order of use
        self._grew(len(others) - before)

    def _site(self, start: str) -> Found | str:
        """Origin and host of `scheme://host[:port]` as a page writes it, or the reason why we do not go there."""
        site = self._sites.get(start)
        if site is None:
            found = self._canonicaliser.canonicalise(start)
            site = found.reason if isinstance(found, Refusal) else (found.origin, found.host)
            if len(self._sites) >= MAX_SITES:
                del self._sites[next(iter(self._sites))]
            self._sites[start] = site
        return site

    def _carefully(self, ref: str, frame: _Frame) -> Found | str:
        """The second way: links to other sites, and what can be escaped and folded without a parser."""
        if self._rewrites or len(ref) > _MAX_FAST_CHARS:
            return self._slowly(ref, frame.base)
        absolute = _ABSOLUTE(ref)
        if absolute:
            start, path, query = absolute.groups("")
            site = self._site(start)
            if isinstance(site, str):
                return site
            if not _has_dot_segment(path):
                return site[0] + _folded((path or "/") + query), site[1]
        elif ref and ref[0] != "?" and _FOLDABLE(ref) and not _has_dot_segment(ref):
            return (frame.origin if ref[0] == "/" else frame.directory) + _folded(ref), frame.host
        return self._slowly(ref, frame.base)

    def _slowly(self, ref: str, base: str) -> Found | str:
        """The obvious way, which defines what the others must give."""
        found = self._canonicaliser.canonicalise(ref, base)
        return found.reason if isinstance(found, Refusal) else (found.url, found.host)

    def _frame(self, base: str, page: Canonical) -> _Frame | str:
        """What to read references against; only the text of the base where it is not plainly one of our URLs."""
        if base == page.url:
            return _taken_apart(page)
        try:
            href = parse(base, page.url).partition("#")[0]
        except ValueError:
            return _taken_apart(page)
        if href.startswith(("data:", "javascript:")):  # HTML, "set the frozen base URL": these are ignored
            return _taken_apart(page)
        found = self._canonicaliser.finish(href)
        if isinstance(found, str) or (self._rewrites and found.url != href):
            return href
        return _taken_apart(found)

    def _grew(self, by: int) -> None:
        self._remembered += by
        while self._remembered > self._memo_entries and len(self._memos) > 1:
            self._remembered -= len(self._memos.pop(next(iter(self._memos))))


def _taken_apart(base: Canonical) -> _Frame:
    document = base.url.partition("?")[0]
    directory = document[: document.rindex("/") + 1]
    return _Frame(base.url, base.origin, base.host, document, directory)


def _has_dot_segment(path: str) -> bool:
    """False only if no segment begins with a dot, escaped or not."""
    return "/." in path or path[:1] == "." or ("%" in path and _ESCAPED_DOT_SEGMENT(path) is not None)


def _folded(text: str) -> str:
    if "%" in text:
        text = fold_escapes(text)
    return text if text.isascii() else quote(text, safe=_SAFE)


def _note(found: Found | str, links: dict[str, str], refused: dict[str, int]) -> None:
    if isinstance(found, str):
        refused[found] = refused.get(found, 0) + 1
    else:
        links[found[0]] = found[1]
