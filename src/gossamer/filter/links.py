"""Resolves all links of a page to distinct canonical URLs. Hot: benchmarks/bench_urls.py.

Most links need no URL parser. Two thirds of a page's `href`s repeat each other except for the fragment; most of the
others consist of characters that no parser would change, so that resolving them is concatenation (`resolve_plain`; the
Python version defines the result, and if a C compiler is available the same is done in C by `gossamer.native`); and
many of the rest were on the last page of the same site. Everything else goes to `Canonicaliser.canonicalise`, which
defines the result (tests/filter/test_links.py compares).

On pages that are not UTF-8, the standard percent-encodes a link's query in the encoding of the document and everything
else in UTF-8. The server behind such a page knows only that form; a UTF-8 query would request another document.
"""

import codecs
import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Final, NamedTuple, cast
from urllib.parse import quote

from gossamer.filter.canonical import Canonical, Canonicaliser, Refusal, fold_escapes, parse, scalar_values
from gossamer.model.units import HostKey, Origin, Url
from gossamer.native import kernels

# ASCII that the standard leaves unchanged in path and query. A colon in a relative path could end a scheme, two slashes
# begin a host.
CHARACTERS: Final = r"A-Za-z0-9\-._~!$&()*+,;=@"
_PLAIN = re.compile(rf"(?:/(?!/)[{CHARACTERS}/:]*|[{CHARACTERS}][{CHARACTERS}/]*)?(?:\?[{CHARACTERS}/:?]+)?").fullmatch
_SITE = re.compile(r"https?://[a-z0-9.\-]+(?::[0-9]+)?(?=[/?]|\Z)").match


def without_fragments_in_python(hrefs: list[str]) -> dict[str, None]:
    """The distinct references up to their `#`, in order.

    In `a #b` the space is part of the path, but once the fragment is removed it would be stripped as the end of the
    text. So if white space or a control character comes last, the `#` stays.
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


def resolve_plain_in_python(
    refs: Iterable[str],
    base: str,
    origin: str,
    document: str,
    directory: str,
    host: str,
    sites: dict[str, tuple[str, str] | str],
    links: dict[str, str],
    most: int,
    noise: bool,
    otherwise: Callable[[str], None],
) -> None:
    """Resolve plain references and add them to `links`, each with its host, which is mostly the page's own.

    The base is a canonical URL, `document` the same without its query, `directory` up to its last slash. `sites` has
    the origin and host of other sites as pages write them (or the reason why they are refused). References that are not
    plain, have more than `most` characters or, with `noise`, may have to be rewritten are passed to `otherwise`, in
    order.
    """
    home = origin + "/"
    root = len(home)
    for ref in refs:
        url: str | None = None
        first = ref[:1]
        if first == "h" and ref.startswith(home):  # an absolute link to the page's own site
            path = ref[root - 1 :]
            if len(ref) <= most and _PLAIN(path) and "/." not in path and not (noise and _may_be_noise(path)):
                url = ref
        elif len(ref) > most:
            pass
        elif first == "h" and not noise and (known := _elsewhere(ref, sites)) is not None:
            links[known[0]] = known[1]
            continue
        elif not _PLAIN(ref) or (noise and _may_be_noise(ref)):
            pass
        elif first == "/":
            if "/." not in ref:
                url = origin + ref
        elif first == "." or "/." in ref:
            url = _ascended(directory, root, ref)
        elif first == "?":
            url = document + ref
        else:  # the empty reference (or a fragment) is the base itself
            url = directory + ref if ref else base
        if url is None:
            otherwise(ref)
        else:
            links[url] = host


def _elsewhere(ref: str, sites: dict[str, tuple[str, str] | str]) -> tuple[str, str] | None:
    """URL and host of a link to a known site; None if it is not plain, or the site is not known or refused."""
    start = _SITE(ref)
    site = None if start is None else sites.get(start[0])
    if start is None or site is None or isinstance(site, str):
        return None
    rest = ref[start.end() :]
    if not _PLAIN(rest) or "/." in rest:
        return None
    return site[0] + (rest if rest[:1] == "/" else "/" + rest), site[1]


def _ascended(directory: str, root: int, ref: str) -> str | None:
    """`directory + ref` with the leading `../`s of `ref` applied; None if there are dot segments elsewhere too."""
    start, end = 0, len(directory)
    while ref.startswith("../", start):
        start += 3
        end = max(root, directory.rfind("/", root, end - 1) + 1)
    if ref[start : start + 1] == "." or ref.find("/.", start) >= 0:
        return None
    return directory[:end] + ref[start:]


def _may_be_noise(ref: str) -> bool:
    return "?" in ref or ";" in ref or "(" in ref


without_fragments = without_fragments_in_python if kernels is None else kernels.without_fragments
resolve_plain = resolve_plain_in_python if kernels is None else kernels.resolve_plain


# The legacy encodings of the Encoding standard by their name in Python's registry, and the codec whose
# repertoire is the standard's. No other name written by a page is looked up: `idna` and `hex` are codecs too.
_SAME_IN_PYTHON = (
    "big5hkscs cp1250 cp1251 cp1252 cp1253 cp1254 cp1255 cp1256 cp1257 cp1258 cp866 cp874 cp932 cp949 cp950 euc_jp "
    "gb18030 gbk iso2022_jp iso8859-10 iso8859-13 iso8859-14 iso8859-15 iso8859-16 iso8859-2 iso8859-3 iso8859-4 "
    "iso8859-5 iso8859-6 iso8859-7 iso8859-8 koi8-r koi8-u mac-cyrillic mac-roman"
)
_CODECS = {name: name for name in _SAME_IN_PYTHON.split()} | {
    "ascii": "cp1252",
    "big5": "cp950",
    "euc_kr": "cp949",
    "gb2312": "gbk",
    "iso8859-1": "cp1252",
    "iso8859-11": "cp874",
    "iso8859-9": "cp1254",
    "shift_jis": "cp932",
    "tis-620": "cp874",
}
_LABELS = {"x-sjis": "cp932", "windows-874": "cp874", "x-mac-cyrillic": "mac-cyrillic", "iso-8859-8-i": "iso8859-8"}

# The special-query percent-encode set is all the rest. `%` stays, so that nothing is escaped twice.
_SAFE_BYTES = frozenset(range(0x21, 0x7F)) - frozenset(b"\"#<>'")
_ESCAPED = {byte: chr(byte) if byte in _SAFE_BYTES else f"%{byte:02X}" for byte in range(256)}
_QUERY = re.compile(r"\A([^?#]*\?)([^#]*)(.*)\Z", re.DOTALL).match
_C0_OR_SPACE = "".join(map(chr, range(0x21)))
_DROP_TAB_AND_NEWLINE = {9: None, 10: None, 13: None}
# ISO-2022-JP between its escapes: two-byte characters, which may contain the bytes of `&#`.
_TWO_BYTE_RUN = re.compile(r"(\x1b\$[@B][^\x1b]*)").split
_REFERENCE = re.compile(r"&%23([0-9]+);").sub

_MINUS: dict[int, str] = {0x2212: "\uff0d"}
_REPLACED_FIRST: dict[str, dict[int, str]] = {
    # Where the Encoding standard's encoders differ from Python's codecs. In ISO-2022-JP the three controls would
    # switch the reader's state, so they count as U+FFFD, which it lacks.
    "cp932": _MINUS,
    "euc_jp": _MINUS,
    "iso2022_jp": dict.fromkeys((0x0E, 0x0F, 0x1B), "&#65533;"),
    "gb18030": {0xE5E5: "&#58853;"},
}


def with_encoded_query(ref: str, encoding: str) -> str:
    """`ref` with its query percent-encoded as a document in `encoding` would send it.

    A character that the encoding lacks becomes its HTML reference (`%26%238224%3B`), as in browsers. Returns `ref`
    itself if it has nothing to encode, or if the encoding is UTF-8 or unknown.
    """
    codec = _codec(encoding)
    if codec is None or "?" not in ref or (ref.isascii() and codec != "iso2022_jp"):
        return ref
    match = _QUERY(ref.strip(_C0_OR_SPACE).translate(_DROP_TAB_AND_NEWLINE))
    if match is None:
        return ref
    query = match[2].translate(_REPLACED_FIRST.get(codec, {}))
    sent = scalar_values(query).encode(codec, "xmlcharrefreplace").decode("latin-1")
    pieces = [piece.translate(_ESCAPED) for piece in _TWO_BYTE_RUN(sent)]
    pieces[::2] = [_REFERENCE(r"%26%23\1%3B", piece) for piece in pieces[::2]]
    return match[1] + "".join(pieces) + match[3]


@lru_cache(256)
def _codec(encoding: str) -> str | None:
    """Python's name of the codec for queries; None if queries are UTF-8 or the encoding is unknown."""
    label = encoding.strip().lower()
    try:
        return _CODECS.get(codecs.lookup(_LABELS.get(label, label)).name)
    except (LookupError, ValueError):
        return None


MAX_LINKS = 5_000
_EXAMINED_PER_LINK = 4  # bounds the work on a page whose references are all refused
_RAW_PER_LINK = 20
_MAX_FAST_CHARS = 2_048
MAX_SITES = 8_192
_MAX_MEMO_CHARS = 512  # bounds the memo in bytes too
_ANYWHERE = ("/", "http://", "https://", "mailto:", "javascript:", "tel:")  # these mean the same on all pages

# A plain reference (`filter.links`), but with escapes to fold and non-ASCII text to escape.
_MORE = CHARACTERS + r"%\u0080-\ud7ff\ue000-\U0010ffff"
_FOLDABLE = re.compile(rf"(?:/(?!/)[{_MORE}/:]*|[{_MORE}][{_MORE}/]*)?(?:\?[{_MORE}/:?]+)?").fullmatch
_ABSOLUTE = re.compile(rf"(https?://[a-z0-9.\-]+(?::[0-9]+)?)(/[{_MORE}/:]*)?(\?[{_MORE}/:?]+)?").fullmatch
_SAFE = "!$&()*+,;=@/:?%"  # for `quote`: what `_MORE` lets through, so that only non-ASCII is escaped
_ESCAPED_DOT_SEGMENT = re.compile(r"(?:\A|/)%2e", re.IGNORECASE).search

# Plain strings internally: calling `Url` for every link would cost more than resolving it.
Found = tuple[str, str]


class PageLinks(NamedTuple):
    """The links of a page."""

    links: dict[Url, HostKey]
    """Distinct canonical URLs in document order, each with its host. The page itself is not among them."""
    refused: dict[str, int]
    """How many distinct references were refused, by reason."""
    dropped: int
    """How many references were left unread because the page had too many."""


class _Frame(NamedTuple):
    """The base of a page's references, split into its parts."""

    base: Url
    origin: Origin
    host: HostKey
    document: str  # the base without its query
    directory: str  # the base up to the last slash of its path


class LinkResolver:
    """Resolves the links of pages, and remembers references that a site repeats.

    Memory is bounded: at most `memo_entries` references (plus one page's), dropped by whole sites, the least recently
    used first; and the names of `MAX_SITES` other sites.
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
        self._memos: dict[Origin, dict[str, Found | str]] = {}  # least recently used first
        self._remembered = 0
        self._sites: dict[str, Found | str] = {}  # by `scheme://host[:port]` as pages write it; oldest first

    def resolve_page(self, base: str, page: Canonical, hrefs: list[str], encoding: str = "utf-8") -> PageLinks:
        """The distinct links among `hrefs`, the raw attribute values in document order.

        `base` is the page's URL or its `<base href>` resolved against the page; an invalid base is ignored, as in HTML.
        `encoding` is the document's and decides how non-ASCII queries are encoded. Never raises because of what the
        page contains.
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
            # A reference gives at most one link, so this many cannot exceed the limit.
            batch = waiting[examined : examined + limit - len(links)]
            examined += len(batch)
            self._resolve(frame, batch, links, refused)
            links.pop(page.url, None)
        return PageLinks(cast(dict[Url, HostKey], links), refused, unread + len(waiting) - examined)

    def _resolve(
        self, frame: _Frame | str, refs: Iterable[str], links: dict[str, str], refused: dict[str, int]
    ) -> None:
        """Resolve `refs` and add them to `links` or `refused`."""
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
                # Only what means the same on every page of the site.
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
            self._memos[origin] = others  # most recently used
        self._count_memo(len(others) - before)

    def _site(self, start: str) -> Found | str:
        """Origin and host of `scheme://host[:port]` as a page writes it, or the reason why it is refused."""
        site = self._sites.get(start)
        if site is None:
            found = self._canonicaliser.canonicalise(start)
            site = found.reason if isinstance(found, Refusal) else (found.origin, found.host)
            if len(self._sites) >= MAX_SITES:
                del self._sites[next(iter(self._sites))]
            self._sites[start] = site
        return site

    def _carefully(self, ref: str, frame: _Frame) -> Found | str:
        """The second path: links to other sites, and what can be escaped and folded without a parser."""
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
        """The slow path, which defines what the others must return."""
        found = self._canonicaliser.canonicalise(ref, base)
        return found.reason if isinstance(found, Refusal) else (found.url, found.host)

    def _frame(self, base: str, page: Canonical) -> _Frame | str:
        """The base split into its parts; only its text if it is not obviously one of our URLs."""
        if base == page.url:
            return _taken_apart(page)
        try:
            href = parse(base, page.url).partition("#")[0]
        except ValueError:
            return _taken_apart(page)
        if href.startswith(("data:", "javascript:")):  # ignored by HTML, "set the frozen base URL"
            return _taken_apart(page)
        found = self._canonicaliser.finish(href)
        if isinstance(found, str) or (self._rewrites and found.url != href):
            return href
        return _taken_apart(found)

    def _count_memo(self, by: int) -> None:
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
