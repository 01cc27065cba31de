"""The identity of a URL: the text of which the fingerprint is made. Hot: benchmarks/bench_traps.py.

A URL is fetched as its site wrote it; but one that differs from a known URL only in parts that do not change the
document is not fetched again. These are tracking parameters, session ids, the order of parameters, and on individual
hosts what was learned there (`ParameterLearner`). Each can be switched off. The minimised form, if enabled, is applied
on top.

Invariants: without a query, `;` and `(` a URL is its own identity (except for the minimised form), so most links cost
next to nothing; and one in sixty-four of the URLs with a learned parameter keeps it, so that what was learned is
verified again and again.

What is learned on a host, from fetched documents, is which of its parameters do not change the document. Two URLs that
differ only in the value of one parameter are a *pair*. If both have the same document, byte for byte, the pair is
evidence for ignoring the parameter; if not, it is a counter-example, and the parameter is kept permanently. A parameter
is ignored after `pairs` such pairs without a counter-example, over `contents` different documents: a host that answers
every unknown `id` with the same error page has many pairs but only one document.

Learning is by host and place (the script, or the shape of the path). Memory is bounded: old evidence is forgotten,
which costs pairs but never a page.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

from xxhash import xxh3_64_intdigest

from gossamer.filter.canonical import (
    SESSION_PARAMETERS,
    TRACKING_PARAMETERS,
    TRACKING_PREFIXES,
    minimise_url,
    without_session,
)
from gossamer.filter.url_shape import shape_of
from gossamer.model.units import HostKey, Url

_TRIED = 64  # one in this many URLs keeps its learned parameters
# `sid` may be a session or, for example, a story: a session if its value looks like one.
_DOUBTFUL = frozenset({"sid"})
_SESSION_ID = re.compile(r"(?=[^0-9]*[0-9])(?=.*[A-Za-z]|[0-9]{16})[A-Za-z0-9_%-]{10,}").fullmatch
_NAMES_KEPT = 4096
_URLS_KEPT = 16_384  # the links with queries that pages repeat


@dataclass(frozen=True, slots=True)
class IdentityRules:
    """What makes no difference between two URLs."""

    tracking: bool = True
    sessions: bool = True
    order: bool = True
    """Of parameters with different names; identical parameters are merged."""
    parameters: frozenset[str] = frozenset()
    """Names of further parameters, in lower case."""
    keep: frozenset[str] = frozenset()
    """Names of parameters that always make a difference, in spite of the lists and of what was learned."""
    minimise: bool = False


class LearnedParameter(NamedTuple):
    """A parameter that makes no difference at a place of a host, and the evidence for it."""

    host: HostKey
    place: str  # `place_of` its URLs
    name: str
    pairs: int  # pairs of URLs that differed only in it and had the same document
    contents: int  # different documents among them


class Ignored(NamedTuple):
    """A parameter that is not part of a URL's identity, and why."""

    name: str
    why: str


def place_of(url: Url, path_start: int) -> str:
    """Where on a host a URL is, for learning about its parameters: its script, or the shape of its path."""
    return shape_of(url, path_start).coarse if "?" in url else ""


class Identities:
    """Computes the identities of URLs. Learned parameters are added and removed at run time."""

    def __init__(self, rules: IdentityRules, learned: Iterable[LearnedParameter] = ()) -> None:
        self.rules = rules
        self._learned: dict[HostKey, dict[str, dict[str, LearnedParameter]]] = {}
        self._noise = lru_cache(_NAMES_KEPT)(self._is_noise)
        self._order = lru_cache(_NAMES_KEPT)(self._find_order)
        self._same = lru_cache(_URLS_KEPT)(self._find_same)
        self._plain = not (rules.tracking or rules.sessions or rules.order or rules.parameters)
        for each in learned:
            self.learn(each)

    def learn(self, learned: LearnedParameter) -> None:
        """From now on, ignore this parameter at its place."""
        if learned.name.lower() not in self.rules.keep:
            self._same.cache_clear()
            self._learned.setdefault(learned.host, {}).setdefault(learned.place, {})[learned.name] = learned

    def unlearn(self, host: HostKey, place: str, name: str) -> None:
        """No longer ignore this parameter."""
        self._same.cache_clear()
        names = self._learned.get(host, {}).get(place, {})
        names.pop(name, None)
        if not names:
            self._learned.get(host, {}).pop(place, None)

    def identities_of(self, urls: Sequence[Url], hosts: Sequence[HostKey]) -> Sequence[str]:
        """The identities of a page's links, in order; `urls` itself if all of them are their own identity."""
        of = self.identity_of
        if self.rules.minimise:
            return [of(url, host) for url, host in zip(urls, hosts, strict=True)]
        text = "\n".join(urls)
        if "?" not in text and ";" not in text and "(" not in text:
            return urls
        marked = [i for i, url in enumerate(urls) if "?" in url or ";" in url or "(" in url]
        found: list[str] = list(urls)
        for i in marked:
            found[i] = of(urls[i], hosts[i])
        return found

    def identity_of(self, url: Url, host: HostKey) -> str:
        """The text that represents all URLs that are the same as this one."""
        same = url if self._plain and host not in self._learned else self._same(url, host)
        return minimise_url(Url(same)) if self.rules.minimise else same

    def _find_same(self, url: Url, host: HostKey) -> str:
        rules = self.rules
        path, mark, query = url.partition("?")
        if rules.sessions and (";" in path or "(" in path):
            start = path.index("/", 8)
            path = path[:start] + without_session(path[start:])
        if not mark:
            return path
        parts = query.split("&")
        learned = self._learned.get(host)
        order = None if learned else self._order(tuple([part.partition("=")[0] for part in parts]))
        if order is not None:  # the fast path: the same parameter names were seen before
            rest = "&".join([parts[i] for i in order])
            return f"{path}?{rest}" if rest else path
        kept = [part for part in parts if not self._drops(part)]
        if learned:
            names = learned.get(shape_of(url, url.index("/", 8)).coarse)
            if names and xxh3_64_intdigest(url.encode()) % _TRIED:
                kept = [part for part in kept if part.partition("=")[0] not in names]
        if rules.order:
            kept = sorted(dict.fromkeys(kept), key=_name) if len(kept) > 1 else kept
        rest = "&".join(kept)
        return f"{path}?{rest}" if rest else path

    def _find_order(self, names: tuple[str, ...]) -> tuple[int, ...] | None:
        """Which parameters of these names are kept, and in which order; None if that depends on their values."""
        noise = [self._noise(name.lower()) for name in names]
        if "doubtful" in noise or len(set(names)) < len(names):
            return None
        kept = [i for i, why in enumerate(noise) if why is None]
        return tuple(sorted(kept, key=names.__getitem__) if self.rules.order else kept)

    def _drops(self, part: str) -> bool:
        name, _, value = part.partition("=")
        noise = self._noise(name.lower())
        return noise is not None and (noise != "doubtful" or _SESSION_ID(value) is not None)

    def _is_noise(self, name: str) -> str | None:
        rules = self.rules
        if name in rules.keep:
            return None
        if name in rules.parameters:
            return "identity.parameters"
        if rules.tracking and (name in TRACKING_PARAMETERS or name.startswith(TRACKING_PREFIXES)):
            return "tracking"
        if rules.sessions and name in SESSION_PARAMETERS:
            return "doubtful" if name in _DOUBTFUL else "session"
        return None

    def ignored(self, url: Url, host: HostKey) -> list[Ignored]:
        """The parameters of a URL that are ignored, and why."""
        found = []
        learned = self._learned.get(host, {}).get(place_of(url, url.index("/", 8)), {})
        for part in url.partition("?")[2].split("&"):
            name = part.partition("=")[0]
            if name and self._drops(part):
                why = self._noise(name.lower())
                found.append(Ignored(name, "session" if why == "doubtful" else str(why)))
            elif name in learned:
                case = learned[name]
                tried = (
                    "" if xxh3_64_intdigest(url.encode()) % _TRIED else "; this URL is in the sample that verifies it"
                )
                why = (
                    f"learned: {case.pairs} pairs of URLs with the same document, {case.contents} different ones{tried}"
                )
                found.append(Ignored(name, why))
        return found


def _name(part: str) -> str:
    return part.partition("=")[0]


_MAX_PARAMETERS = 8
_LONGEST_NAME = 64


@dataclass(frozen=True, slots=True)
class LearningPolicy:
    pairs: int = 20
    contents: int = 5


class Refuted(tuple[HostKey, str, str]):
    """Host, place and name of a parameter that makes a difference."""


@dataclass(slots=True)
class _Case:
    pairs: int = 0
    contents: set[int] = field(default_factory=set)
    learned: bool = False
    refuted: bool = False


class ParameterLearner:
    """Observes every document; returns what it has learned from it. Does no IO."""

    def __init__(
        self,
        policy: LearningPolicy,
        learned: tuple[LearnedParameter, ...] = (),
        refuted: tuple[tuple[HostKey, str, str], ...] = (),
        *,
        remember: int = 50_000,
    ) -> None:
        """`learned` and `refuted`: from earlier runs. `remember`: number of URLs times parameters, about 150 bytes
        each."""
        self._policy = policy
        self._generation = max(1, remember // 2)
        self._young: dict[
            int, tuple[int, int]
        ] = {}  # a URL without one of its parameters -> that one's value, document
        self._old: dict[int, tuple[int, int]] = {}
        self._cases: dict[tuple[HostKey, str, str], _Case] = {}
        for each in learned:
            self._cases[(each.host, each.place, each.name)] = _Case(each.pairs, set(range(each.contents)), learned=True)
        for key in refuted:
            self._cases[key] = _Case(refuted=True)

    def __len__(self) -> int:
        return len(self._young) + len(self._old)

    def on_page(self, url: Url, host: HostKey, path_start: int, digest: bytes) -> list[LearnedParameter | Refuted]:
        """A document was fetched from `url`. Returns what follows from it, mostly nothing."""
        path, mark, query = url.partition("?")
        if not mark:
            return []
        parts = query.split("&")
        if len(parts) > _MAX_PARAMETERS:
            return []
        news: list[LearnedParameter | Refuted] = []
        content = hash(digest)
        where, hashes = hash(path), [hash(part) for part in parts]
        total = sum(hashes)
        for part, chosen in zip(parts, hashes, strict=True):
            name = part.partition("=")[0]
            if len(name) > _LONGEST_NAME:
                continue
            key = hash((where, name, total - chosen))  # the other parameters, in any order
            met = self._young.get(key) or self._old.get(key)
            if met is None or met[0] == chosen:
                self._young[key] = (chosen, content)
                continue
            found = self._pair((host, place_of(url, path_start), name), met[1] == content, content)
            if found is not None:
                news.append(found)
        if len(self._young) >= self._generation:
            self._old, self._young = self._young, {}
        return news

    def _pair(self, key: tuple[HostKey, str, str], same: bool, content: int) -> LearnedParameter | Refuted | None:
        case = self._cases.get(key)
        if case is None:
            if len(self._cases) >= self._generation:
                self._forget_a_case()
            case = self._cases[key] = _Case()
        if case.refuted:
            return None
        if not same:
            case.refuted = True
            was, case.learned = case.learned, False
            return Refuted(key) if was else None
        case.pairs += 1
        if len(case.contents) < self._policy.contents:
            case.contents.add(content)
        if case.learned or case.pairs < self._policy.pairs or len(case.contents) < self._policy.contents:
            return None
        case.learned = True
        return LearnedParameter(*key, case.pairs, len(case.contents))

    def _forget_a_case(self) -> None:
        """Drop the oldest case that was not learned; learned ones stay, so that a counter-example can refute them."""
        for key, case in self._cases.items():
            if not case.learned:
                del self._cases[key]
                return
        del self._cases[next(iter(self._cases))]
