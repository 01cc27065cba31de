"""The content-seen test: do we already hold this document under another URL, or almost? And soft 404s, which it
reveals. Hot: benchmarks/bench_neardup.py.

**Exact duplicates** (`ContentSeen`). Input: a body; its identity is its SHA-1, as in WARC files. Two tiers answer: an
exact, bounded cache of digests with the document each first came as, and a Bloom filter over all digests
(`sketch.Bloom`). Output: *known* (with its owner), *surely new*, or *ask the store*. Invariants: only the exact cache
or the store may call a document known, so an error of the filter costs a query and never a document; everything here is
a cache of the store and may be dropped at any time.

**Near-duplicates** (`NearDuplicates`). The distance of two documents is that of the signatures of their texts
(`sketch.signature`). A signature of 64 bytes is cut into eight bands of eight. Two signatures that differ in at most
`MAX_DISTANCE` = 7 bytes have at least one band in common, whichever bytes differ; so only signatures that share a band
have to be compared. Only originals are kept, and of these the latest (ADR 22). A near-duplicate belongs to the original
that it was compared with, and nothing is compared with it: so no chain of small differences merges two different
documents, and a host with a million copies of one page has one entry.

**Soft 404s** (`Soft404Detector`): hosts that answer 200, or redirect to their home page, for pages that they do not
have. They are detected from ordinary visits; no probe requests are sent (ADR 13). A page counts as a soft 404 if

* its title says that something was not found, and an earlier page of the host had the same title, or the page
  repeats (exactly or nearly) one whose title said so;
* or it is short, and `MANY_PAGES` other URLs of the host have shown it already;
* or it redirects to the home page, as `MANY_REDIRECTS` other URLs of the host did.

The first page of a kind is therefore accepted. The evidence is held in memory, and the strongest part of it in the
store: `take_changes` returns what has changed, and `recall` restores it when a host is loaded again.
"""

import hashlib
import json
import re
from array import array
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from struct import Struct
from typing import Final, Generic, NamedTuple, TypeVar

from gossamer.sketch import Bloom, distance


def payload_digest(body: bytes) -> bytes:
    """The SHA-1 of the body, 20 bytes.

    SHA-1 because every WARC reader expects it in WARC-Payload-Digest; on processors with SHA instructions it costs the
    same as SHA-256. Collisions can be constructed, but they only let someone hide one page of their own behind another.
    """
    return hashlib.sha1(body, usedforsecurity=False).digest()


Owner = TypeVar("Owner", bound=Hashable)
"""Identifies the document that had this content first: a row number, or a pair of host and fingerprint."""


@dataclass(frozen=True, slots=True)
class Known(Generic[Owner]):
    """The same bytes were seen before, first as `owner`."""

    owner: Owner


class Unknown(Enum):
    """The content is not in the cache; the store may have it."""

    SURELY_NEW = "surely-new"
    ASK = "ask"


_ASK, _SURELY_NEW = Unknown.ASK, Unknown.SURELY_NEW


class ContentStatistics(NamedTuple):
    """Answers of the content-seen test so far."""

    known: int
    new: int  # by the filter
    asked: int


class ContentSeen(Generic[Owner]):
    """Recognises documents that were seen before. Does no IO.

    After each `check` the caller calls `learn` before the next one: with its own owner if the document is new (it is
    then on its way into the store), or with the store's owner if the store knew it. Memory is bounded by `remember`;
    what is forgotten is looked up in the store, which must therefore include all batches handed to it before.
    """

    def __init__(self, *, capacity: int, error_rate: float = 0.001, remember: int = 100_000) -> None:
        """`capacity`: documents expected in the crawl. `remember`: digests in the exact cache, about 250 bytes each."""
        if remember < 1:
            raise ValueError(f"remember must be at least 1 document, not {remember}")
        self._remember = remember
        self._owners: dict[bytes, Owner] = {}  # least recently used first
        self._filter = Bloom(capacity, error_rate)
        self._known = self._new = self._asked = 0

    def check(self, digest: bytes) -> Known[Owner] | Unknown:
        """What is known about this content. Changes nothing but the order of eviction."""
        owners = self._owners
        if digest in owners:
            owner = owners[digest] = owners.pop(digest)  # most recently used
            self._known += 1
            return Known(owner)
        if _key(digest) in self._filter:
            self._asked += 1
            return _ASK
        self._new += 1
        return _SURELY_NEW

    def learn(self, digest: bytes, owner: Owner) -> None:
        """This content belongs to `owner`. The first owner stays until evicted."""
        self._filter.add(_key(digest))
        owners = self._owners
        if digest in owners:
            return
        if len(owners) >= self._remember:
            del owners[next(iter(owners))]
        owners[digest] = owner

    def statistics(self) -> ContentStatistics:
        return ContentStatistics(self._known, self._new, self._asked)

    def warm(self, digests: Sequence[bytes]) -> None:
        """Add a chunk of all digests in the store, in any order."""
        self._filter.update([_key(digest) for digest in digests])

    def finish_warming(self) -> None:
        """The store holds nothing that was not passed to `warm` or `learn`. Also called for an empty store."""
        self._filter.declare_complete()


def _key(digest: bytes) -> int:
    """64 bits of the digest: enough for a filter that may err anyway."""
    return int.from_bytes(digest[:8], "big", signed=True)


MAX_DISTANCE: Final = 7
"""Bytes of 64 in which near-duplicates may differ: documents that share about nine tenths of their shingles."""

WINDOW: Final = 700_000
"""Originals kept in memory: up to 85 MB, at 108 bytes each plus 9 MB for the buckets."""


_BANDS: Final = MAX_DISTANCE + 1
_KEYS: Final = _BANDS + 1  # per original: its bands, then its owner
_BUCKETS: Final = 1 << 18  # per key
_REMOVED: Final = (1 << 64) - 1  # instead of an owner

_LONGEST: Final = 200  # links of a chain to follow: all pages of a large site may share a band

# The bucket of a band is numbered by 18 bits, into which the others are folded: single bytes are not evenly spread. All
# eight are computed at once, in the lower half of each band.
_LOWER_HALVES: Final = Struct("<" + _BANDS * "I4x")
_MASKS: Final = int.from_bytes(_LOWER_HALVES.pack(*[_BUCKETS - 1] * _BANDS), "little")
_STARTS: Final = int.from_bytes(_LOWER_HALVES.pack(*range(0, _BANDS * _BUCKETS, _BUCKETS)), "little")


class NearMode(Enum):
    """What to do with a near-duplicate: `[content] near_duplicates`."""

    MARK = "mark"  # stored and marked
    SKIP = "skip"  # neither stored nor are its links followed


class Near(NamedTuple):
    """The original that a document nearly repeats."""

    owner: int
    distance: int


class NearDuplicates:
    """Decides which documents are near-duplicates of recent originals. Does no IO.

    The originals are in a ring. Those whose n-th keys fall into one bucket form a chain, the latest first: `_newest`
    has its first link and `_older` the others, as positions in `_keys`. Nothing is ever removed from a chain. A link
    leads from an original to an older one; if it leads to a later one, the chain ends there: the older one was
    overwritten, and everything before it too.
    """

    def __init__(self, mode: NearMode, window: int = WINDOW) -> None:
        if window < 1:
            raise ValueError(f"window must be at least 1 original, not {window}")
        self.mode = mode
        self.window = window
        self._keys = array("Q", bytes(8 * _KEYS))  # position 0 is unused: it marks the end of a chain
        self._older = array("I", bytes(4 * _KEYS))
        self._newest = array("I", bytes(4 * _KEYS * _BUCKETS))
        self._next = _KEYS  # where the next original goes

    def judge(self, url_id: int, signature: bytes) -> Near | None:
        """The original that this document nearly repeats. If there is none, the document becomes an original, replacing
        the URL's previous one."""
        newest, buckets = self._newest, _buckets_of(url_id, signature)
        links = [newest[bucket] for bucket in buckets]
        near = self._nearest(url_id, signature, links) if any(links) else None
        if near is None:
            self._add(url_id, signature, buckets, links)
        return near

    def add(self, url_id: int, signature: bytes) -> None:
        """Add the original of a URL that has none in the window."""
        buckets = _buckets_of(url_id, signature)
        self._add(url_id, signature, buckets, [self._newest[bucket] for bucket in buckets])

    def _add(self, url_id: int, signature: bytes, buckets: Sequence[int], links: Sequence[int]) -> None:
        """Add at the end of the ring, or in place of the oldest original."""
        at, newest = self._next, self._newest
        self._keys[at : at + _KEYS] = _keys_of(url_id, signature)
        self._older[at : at + _KEYS] = array("I", links)
        for bucket in buckets:
            newest[bucket] = at
            at += 1
        self._next = at if at < (self.window + 1) * _KEYS else _KEYS

    def _nearest(self, url_id: int, signature: bytes, links: Sequence[int]) -> Near | None:
        """The closest original of another URL within the limit; of several, the one with the lowest URL id. The URL's
        own previous original is removed."""
        found = {
            at // _KEYS
            for link, key in zip(links, _keys_of(url_id, signature), strict=True)
            if link
            for at in self._chain(link, key)
        }
        best: tuple[int, int] | None = None
        for place in found:
            keys = self._keys[place * _KEYS : (place + 1) * _KEYS]
            owner = keys.pop()
            if owner == url_id:
                self._keys[place * _KEYS + _BANDS] = _REMOVED
            elif owner != _REMOVED:
                apart = distance(signature, keys.tobytes())
                if apart <= MAX_DISTANCE and (best is None or (apart, owner) < best):
                    best = apart, owner
        return None if best is None else Near(best[1], best[0])

    def _chain(self, link: int, key: int) -> list[int]:
        """The positions of this key in the chain that begins with this link."""
        keys, older, size, latest = self._keys, self._older, len(self._keys), self._next - 1
        found = []
        age = -1
        for _ in range(_LONGEST):
            if not link or (its_age := (latest - link) % size) <= age:
                break
            if keys[link] == key:
                found.append(link)
            link, age = older[link], its_age
        return found


def _buckets_of(url_id: int, signature: bytes) -> tuple[int, ...]:
    whole = int.from_bytes(signature, "little")
    bands = (whole ^ whole >> 18 ^ whole >> 36) & _MASKS | _STARTS
    return *_LOWER_HALVES.unpack(bands.to_bytes(_LOWER_HALVES.size, "little")), _BANDS * _BUCKETS + url_id % _BUCKETS


def _keys_of(url_id: int, signature: bytes) -> "array[int]":
    keys = array("Q", signature)
    keys.append(url_id)
    return keys


SOFT_404: Final = "soft_404"
"""The reason that is recorded."""

MANY_PAGES: Final = 10
MANY_REDIRECTS: Final = 5

SHORT_BYTES: Final = 8_192
"""Longer documents are error pages only if they say so."""

LONG_BYTES: Final = 131_072
"""Longer documents are never error pages."""

_HOSTS: Final = 10_000  # hosts in memory, the most recently used
_OF_HOST: Final = 200  # titles and originals per host

_TITLES_KEPT, _URLS_KEPT = 20, 50  # of each host, in the store
_TITLE_KEPT: Final = 200  # characters

# For lower-case titles: matching both cases takes seven times as long, and every page has a title.
_NOT_FOUND = re.compile(
    r"\b(?:404|not found|(?:does not|doesn.t) exist|no longer (?:exists|available)|cannot be found"
    r"|nicht gefunden|introuvable|no encontrad[ao]|n[aã]o encontrad[ao]|non trovat[ao]|niet gevonden"
    r"|hittades inte|nie znalezion[ao])\b"
    r"|не найден|見つかりません|找不到|찾을 수 없"
)
_NUMBERS = re.compile(r"\d+")


@dataclass(slots=True)
class _Host:
    """The evidence of one host."""

    titles: set[str] = field(default_factory=set)  # that say "not found", without digits
    missing: set[int] = field(default_factory=set)  # URLs with such titles
    shown: Counter[int] = field(default_factory=Counter)  # by original: number of URLs that repeat it
    home: int = 0  # redirects to the home page

    def to_text(self) -> str:
        """The strongest evidence, in a few kilobytes."""
        titles = [title for title in sorted(self.titles) if len(title) <= _TITLE_KEPT][:_TITLES_KEPT]
        shown = {str(url): min(n, MANY_PAGES) for url, n in self.shown.most_common(_URLS_KEPT)}
        return json.dumps([titles, sorted(self.missing)[-_URLS_KEPT:], shown, self.home])

    @staticmethod
    def from_text(text: str) -> "_Host":
        titles, missing, shown, home = json.loads(text)
        return _Host(set(titles), set(missing), Counter({int(url): n for url, n in shown.items()}), home)


class Soft404Detector:
    """Tells pages from error pages. Does no IO; each URL is passed only once."""

    def __init__(self, hosts: int = _HOSTS) -> None:
        self._most = hosts
        self._hosts: dict[int, _Host] = {}  # least recently used first
        self._changed: dict[int, _Host] = {}  # since `take_changes`

    def is_soft(self, host_id: int, url_id: int, title: str | None, size: int, same_as: int | None) -> bool:
        """Whether a document with status 200 is an error page for a missing one.

        `same_as` is the URL whose document it repeats, exactly or nearly; the title of a repetition may be None.
        """
        says_so = title is not None and _NOT_FOUND.search(title.lower()) is not None
        if (same_as is None and not says_so) or size > LONG_BYTES:
            return False  # as nearly all pages are
        host = self._host(host_id)
        soft = False
        if says_so or (same_as is not None and host.shown[same_as] < MANY_PAGES):
            self._changed[host_id] = host
        if same_as is not None:
            if len(host.shown) >= _OF_HOST and same_as not in host.shown:
                del host.shown[next(iter(host.shown))]
            host.shown[same_as] += 1
            soft = same_as in host.missing or (size <= SHORT_BYTES and host.shown[same_as] > MANY_PAGES)
        if says_so and title is not None:
            key = _NUMBERS.sub("", title)
            soft = soft or key in host.titles
            if len(host.titles) < _OF_HOST:
                host.titles.add(key)
            if len(host.missing) < _OF_HOST:
                host.missing.add(url_id)
        return soft

    def leads_home(self, host_id: int, url: str, target: str) -> bool:
        """Whether a redirect only says that the page is missing: it leads to the home page, like many others."""
        if not _is_home(target) or _is_home(url) or _origin(target) != _origin(url):
            return False
        host = self._host(host_id)
        if host.home <= MANY_REDIRECTS:
            self._changed[host_id] = host
        host.home += 1
        return host.home > MANY_REDIRECTS

    def recall(self, host_id: int, text: str | None) -> None:
        """A host was loaded; `text` is its stored evidence, if any. What is in memory is newer."""
        if text is not None and host_id not in self._hosts:
            self._put(host_id, _Host.from_text(text))

    def take_changes(self) -> dict[int, str]:
        """What to store of hosts with new evidence since the last call."""
        changed, self._changed = self._changed, {}
        return {host_id: host.to_text() for host_id, host in changed.items()}

    def _host(self, host_id: int) -> _Host:
        host = self._hosts.pop(host_id, None) or _Host()
        self._put(host_id, host)
        return host

    def _put(self, host_id: int, host: _Host) -> None:
        if len(self._hosts) >= self._most:
            del self._hosts[next(iter(self._hosts))]
        self._hosts[host_id] = host


def _origin(url: str) -> str:
    return url.partition("://")[2].partition("/")[0].removeprefix("www.")


def _is_home(url: str) -> bool:
    return url.partition("://")[2].partition("/")[2] == ""
