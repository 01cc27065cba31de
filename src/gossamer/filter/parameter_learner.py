"""Learns from fetched documents which parameters of a host do not change the document.

Two URLs that differ only in the value of one parameter are a *pair*. If both have the same document, byte for byte, the
pair is evidence for ignoring the parameter; if not, it is a counter-example, and the parameter is kept permanently. A
parameter is ignored after `pairs` such pairs without a counter-example, over `contents` different documents: a host
that answers every unknown `id` with the same error page has many pairs but only one document.

Learning is by host and place (the script, or the shape of the path). Memory is bounded: old evidence is forgotten,
which costs pairs but never a page.
"""

from dataclasses import dataclass, field

from gossamer.filter.identity import LearnedParameter, place_of
from gossamer.model.units import HostKey, Url

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
