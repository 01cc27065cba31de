"""Hot (benchmarks/bench_urls.py). All links of a page at once: raw `href`s in, distinct canonical URLs out.

Most links need no URL parser. Two thirds of a page's `href`s repeat each other but for the fragment; of the
rest many were met on the last page of the same site; and most of what remains is made of characters that no
parser would change, so that joining is putting two strings together. Whatever is not plainly one of these goes to
`Canonicaliser.canonicalise`, which is the definition of what comes out (tests/filter/test_links.py compares).
"""

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple, cast
from urllib.parse import quote

from gossamer.filter.canonical import Canonical, Canonicaliser, Refusal, parse
from gossamer.filter.legacy_query import with_encoded_query
from gossamer.filter.percent import fold_escapes
from gossamer.model.units import HostKey, Origin, Url

MAX_LINKS = 5_000
_EXAMINED_PER_LINK = 4  # a page full of references that are all refused must come to an end as well
_RAW_PER_LINK = 20
_MAX_FAST_CHARS = 2_048
_MAX_MEMO_CHARS = 512  # so that the memo is bounded in bytes too

# ASCII that the standard leaves alone in path and query. A colon in a relative path could end a scheme, two slashes
# begin a host.
_CHAR = r"A-Za-z0-9\-._~!$&()*+,;=@"
_PLAIN = re.compile(rf"(?:/(?!/)[{_CHAR}/:]*|[{_CHAR}][{_CHAR}/]*)?(?:\?[{_CHAR}/:?]+)?").fullmatch
# The same with escapes, to be folded, and text beyond ASCII, to be escaped.
_MORE = _CHAR + r"%\u0080-\ud7ff\ue000-\U0010ffff"
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


class MemoStatistics(NamedTuple):
    """How much a resolver remembers."""

    origins: int
    references: int


class _Frame(NamedTuple):
    """What the references of a page are read against, taken apart."""

    base: Url
    origin: Origin
    host: HostKey
    document: str  # the base without its query
    directory: str  # the base up to the last slash of its path


class _Memo(NamedTuple):
    """The references that a site repeats. Most lead to the site itself: those are kept as plain strings, which the
    garbage collector need not visit."""

    own: dict[str, str]
    others: dict[str, Found | str]


class LinkResolver:
    """Resolves the links of page after page, and remembers those that a site repeats.

    The memory is bounded: at most `memo_entries` references (plus one page's), forgotten by whole sites, the longest
    unused first.
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
        self._memos: dict[Origin, _Memo] = {}  # longest unused first
        self._remembered = 0
        self._site = lru_cache(8_192)(self._read_site)

    def resolve_page(self, base: str, page: Canonical, hrefs: Sequence[str], encoding: str = "utf-8") -> PageLinks:
        """The distinct links among `hrefs`, the raw attribute values in document order.

        `base` is the page's URL or what its `<base href>` says, itself read against the page; a base that is no
        URL is ignored, as in HTML. `encoding` is the document's: it decides how non-ASCII queries are sent.
        Never raises because of what the page says.
        """
        limit = self._max_links
        raw = hrefs[: limit * _RAW_PER_LINK]
        refs = _without_fragments(raw)
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

    def statistics(self) -> MemoStatistics:
        """What is remembered now."""
        return MemoStatistics(len(self._memos), self._remembered)

    def _resolve(
        self, frame: _Frame | str, refs: Iterable[str], links: dict[str, str], refused: dict[str, int]
    ) -> None:
        """Adds what `refs` mean to `links` and `refused`."""
        if isinstance(frame, str):
            for ref in refs:
                _note(self._slowly(ref, frame), links, refused)
            return
        base, origin, host, document, directory = frame
        root = len(origin) + 1
        home = origin + "/"
        own, others = self._memo(origin)
        before = len(own) + len(others)
        room = self._memo_entries_per_origin - before
        rewrites = self._rewrites
        max_fast, max_memo, plain = _MAX_FAST_CHARS, _MAX_MEMO_CHARS, _PLAIN
        recall = own.get
        for ref in refs:
            url = recall(ref)
            if url is None:
                first = ref[:1]
                if first == "h" and ref.startswith(home):  # the site by its full name
                    path = ref[root - 1 :]
                    if (
                        len(ref) <= max_fast
                        and plain(path)
                        and "/." not in path
                        and not (rewrites and _may_be_noise(path))
                    ):
                        url = ref
                        if room > 0 and len(ref) <= max_memo:
                            own[ref] = url
                            room -= 1
                elif len(ref) > max_fast or not plain(ref) or (rewrites and _may_be_noise(ref)):
                    pass
                elif first == "/":
                    if "/." not in ref:
                        url = origin + ref
                        if room > 0 and len(ref) <= max_memo:
                            own[ref] = url
                            room -= 1
                # The rest of these is cheaper to put together again than to remember for every directory.
                elif first == "." or "/." in ref:
                    url = _ascended(directory, root, ref)
                elif first == "?":
                    url = document + ref
                else:  # the empty reference, maybe once a fragment, is the base itself
                    url = directory + ref if ref else base
                if url is None:
                    found = others.get(ref)
                    if found is None:
                        found = self._carefully(ref, frame)
                        # Only what means the same wherever on the site it stands.
                        if room > 0 and len(ref) <= max_memo and ref.startswith(("/", "http://", "https://")):
                            others[ref] = found
                            room -= 1
                    if isinstance(found, str):
                        refused[found] = refused.get(found, 0) + 1
                    else:
                        links[found[0]] = found[1]
                    continue
            links[url] = host
        self._grew(len(own) + len(others) - before)

    def _read_site(self, start: str) -> Found | str:
        """Origin and host of `scheme://host[:port]` as a page writes it, or the reason why we do not go there."""
        found = self._canonicaliser.canonicalise(start)
        return found.reason if isinstance(found, Refusal) else (found.origin, found.host)

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

    def _memo(self, origin: Origin) -> _Memo:
        memo = self._memos.pop(origin, None) or _Memo({}, {})
        self._memos[origin] = memo  # last in the order of use
        return memo

    def _grew(self, by: int) -> None:
        self._remembered += by
        while self._remembered > self._memo_entries and len(self._memos) > 1:
            own, others = self._memos.pop(next(iter(self._memos)))
            self._remembered -= len(own) + len(others)


def _taken_apart(base: Canonical) -> _Frame:
    document = base.url.partition("?")[0]
    directory = document[: document.rindex("/") + 1]
    return _Frame(base.url, base.origin, base.host, document, directory)


def _without_fragments(hrefs: Sequence[str]) -> dict[str, None]:
    """The distinct references up to their `#`, in order.

    In `a #b` the space is part of the path, but once the fragment is cut it would be stripped as the end of the
    text. So where white space or a control comes last, the `#` stays.
    """
    refs = {ref.partition("#")[0] if "#" in ref else ref: None for ref in hrefs}
    all_refs = "|".join(refs)
    if " |" in all_refs or all_refs[-1:] == " " or not all_refs.isprintable():
        refs = dict.fromkeys([_cut_fragment(ref) for ref in hrefs])
    return refs


def _cut_fragment(ref: str) -> str:
    mark = ref.find("#")
    if mark <= 0:
        return ref if mark else ""
    return ref[:mark] if ref[mark - 1] > " " else ref[: mark + 1]


def _ascended(directory: str, root: int, ref: str) -> str | None:
    """`directory + ref` with the leading `../`s of `ref` applied; None if dots stand elsewhere too."""
    start, end = 0, len(directory)
    while ref.startswith("../", start):
        start += 3
        end = max(root, directory.rfind("/", root, end - 1) + 1)
    if ref[start : start + 1] == "." or ref.find("/.", start) >= 0:
        return None
    return directory[:end] + ref[start:]


def _has_dot_segment(path: str) -> bool:
    """False only if no segment begins with a dot, escaped or not."""
    return "/." in path or path[:1] == "." or ("%" in path and _ESCAPED_DOT_SEGMENT(path) is not None)


def _folded(text: str) -> str:
    if "%" in text:
        text = fold_escapes(text)
    return text if text.isascii() else quote(text, safe=_SAFE)


def _may_be_noise(ref: str) -> bool:
    return "?" in ref or ";" in ref or "(" in ref


def _note(found: Found | str, links: dict[str, str], refused: dict[str, int]) -> None:
    if isinstance(found, str):
        refused[found] = refused.get(found, 0) + 1
    else:
        links[found[0]] = found[1]
