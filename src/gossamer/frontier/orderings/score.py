"""The score of `mercator` and `best-first`, which every URL gets that is new or moved by a link.

    page   log2(0.15 + 0.85 S) - log2(1 + steps) - 0.1 log2(1 + ordinal) - log2(1 + level) + additional terms
    host   0.5 log2(min(30, (known + 1) / (fetched + 1))) - 0.1 log2(1 + number)

S is the link sum (`model.facts`). Every term is multiplied by a weight and rounded to a whole number, so that sums are
exact and the order is the same on every machine. Docs: docs/PRIORITY.md. Hot: benchmarks/bench_priority.py.
"""

import math
from collections.abc import Iterable, Mapping
from functools import cache
from math import log2

from gossamer.frontier.orderings import signals
from gossamer.frontier.orderings.ordering import Ordering
from gossamer.frontier.orderings.signals import ARTICLE, ASSET, ASSET_ENDINGS, HOME, INDEX, INDEX_NAMES, TrustedDomains
from gossamer.model.facts import LINK_UNIT, DomainFacts, HostFacts, UrlFacts

LOG2_UNIT = 1024
"""A score of 1, which corresponds to doubling the link sum, as a whole number."""

DEFAULT_WEIGHTS: Mapping[str, float] = {
    "importance": 1.0,
    "links": 0.0,  # importance counts the same links, each by what it is worth
    "links_from_others": 0.0,  # they make an entry page, which `steps` counts
    "steps": 1.0,
    "ordinal": 0.1,
    "nesting": 1.0,
    "depth": 0.0,
    "page_type": 0.5,
    "trusted": 2.0,
    "freshness": 0.5,
    "change": 0.5,
    "sitemap": 1.0,
    "unseen": 0.5,
    "subdomains": 0.1,
}
"""On the log2 scale. Chosen on link graphs: benchmarks/results/orderings.md."""

BORNE_BY_LINKS = frozenset({"importance", "links_from_others", "links", "steps"})
"""The terms that links found later change."""

INITIAL = 0.15
"""What a page without links counts for: without it, no page that was found in a sitemap could be compared."""

MOST_UNSEEN = 30.0
"""A host with a larger share of unseen URLs gains no more: an endless calendar would rise with every page it makes."""

UNKNOWN_LEVEL = 3
"""The level of a page whose URL is not known, in a link graph: an ordinary one."""

_TABLED = 4096  # counts below this are looked up, not computed
_PER_UNIT = (1.0 - INITIAL) / LINK_UNIT


class ScoredByLinks(Ordering):
    """What `mercator` and `best-first` have in common: the score."""

    unit = float(LOG2_UNIT)

    def __init__(self, weights: Mapping[str, float] | None = None, trusted: Iterable[str] = ()) -> None:
        """`weights` by name of term; others keep their default. Raises ValueError with the offending value."""
        self.weights = _checked_weights(weights or {})
        self.trusted = TrustedDomains(trusted)
        self.moved_by_links = any(self.weights[name] > 0 for name in BORNE_BY_LINKS)
        self._prepare()

    def _prepare(self) -> None:
        """Multiply the weights in."""
        weight = {name: LOG2_UNIT * number for name, number in self.weights.items()}
        self._importance = weight["importance"]
        self._of_steps = _table(-weight["steps"])
        self._of_ordinal = _table(-weight["ordinal"])
        self._of_level = _table(-weight["nesting"])
        self._of_number = _table(-weight["subdomains"])
        self._counts = [
            (name, _table(sign * weight[name]))
            for name, sign in (("links", 1), ("links_from_others", 1), ("depth", -1))
            if weight[name]
        ]
        types = (HOME, INDEX, ARTICLE, ASSET)
        self._home, self._index, self._article, self._asset = (round(weight["page_type"] * worth) for worth in types)
        self._trust = round(weight["trusted"]) if self.trusted else 0
        self._freshness, self._change = weight["freshness"], weight["change"]
        self._sitemap, self._unseen = weight["sitemap"], weight["unseen"]

    @property
    def settings(self) -> str:
        weights = " ".join(f"{name}={weight:g}" for name, weight in self.weights.items())
        return f"{weights} trusted={sorted(self.trusted.patterns)}"

    def page_score(self, url: UrlFacts) -> int:
        """The part of the score that is the page's own."""
        # Taken apart at once: a field of a named tuple costs as much as ten variables.
        _, text, _, _, _, _, visits, changes, link_sum, steps, ordinal, _, listed, age = url
        kind, nesting, trusted = self._url_terms(text)
        total: int = (
            round(self._importance * log2(INITIAL + _PER_UNIT * link_sum))
            + self._of_steps[steps if steps < _TABLED else -1]
            + self._of_ordinal[ordinal if ordinal < _TABLED else -1]
            + kind
            + nesting
            + trusted
        )
        for name, table in self._counts:
            total += _look_up(table, getattr(url, name))
        if listed is not None:
            total += self._listed(listed)
        if age is not None:
            total += round(self._freshness * signals.freshness(age))
        if visits > 1:
            total += round(self._change * signals.change(visits, changes))
        return total

    def of_host(self, host: HostFacts) -> int:
        """The part of the score that all URLs of a host share."""
        known, fetched, number = host
        return self._of_unseen(known, fetched) + _look_up(self._of_number, number)

    def _of_unseen(self, known: int, fetched: int) -> int:
        ratio = (known + 1) / (fetched + 1)
        return round(self._unseen * log2(MOST_UNSEEN if ratio > MOST_UNSEEN else ratio))

    def _listed(self, priority: float) -> int:
        """A sitemap's `<priority>` of 0.5, its default, says nothing."""
        return round(self._sitemap * (2.0 * min(max(priority, 0.0), 1.0) - 1.0))

    def _url_terms(self, text: str) -> tuple[int, int, int]:
        """Page type, nesting and trust, in one pass over the URL."""
        if not text:
            return 0, self._of_level[UNKNOWN_LEVEL], 0
        marked = "?" in text
        names = (text.partition("?")[0] if marked else text).split("/")
        name = names[-1]
        level = len(names) - 4  # "http:", "", the host, and the last name, which is empty for a directory
        if not name:
            kind = self._index if level or marked else self._home
        else:
            kind = self._article
            if "." in name:
                name = name.lower()
                if name.startswith(INDEX_NAMES):
                    kind = self._index if level or marked else self._home
                elif name.rpartition(".")[2] in ASSET_ENDINGS:
                    kind = self._asset
            level += 1
        if marked:
            level += 1
        trusted = self._trust if self._trust and self.trusted.of_host(names[2]) else 0
        return kind, self._of_level[level if level < _TABLED else -1], trusted

    def page_terms(self, url: UrlFacts) -> dict[str, int]:
        """The terms of `page_score` by name; terms that are not known or have no weight are left out."""
        kind, nesting, trusted = self._url_terms(url.url)
        terms = {
            "importance": round(self._importance * log2(INITIAL + _PER_UNIT * url.link_sum)),
            "steps": _look_up(self._of_steps, url.steps),
            "ordinal": _look_up(self._of_ordinal, url.ordinal),
            "nesting": nesting,
            "page_type": kind,
            "trusted": trusted,
            "sitemap": 0 if url.listed is None else self._listed(url.listed),
            "freshness": 0 if url.age is None else round(self._freshness * signals.freshness(url.age)),
            "change": round(self._change * signals.change(url.visits, url.changes)) if url.visits > 1 else 0,
        } | {name: _look_up(table, getattr(url, name)) for name, table in self._counts}
        unknown = {
            "page_type": not url.url,
            "trusted": not (url.url and self.trusted),
            "sitemap": url.listed is None,
            "freshness": url.age is None,
            "change": url.visits < 2,
        }
        shown = (name for name, weight in self.weights.items() if weight and name in terms)
        return {name: terms[name] for name in shown if not unknown.get(name)}

    def host_terms(self, host: HostFacts) -> dict[str, int]:
        """The terms of `of_host` by name."""
        unseen, subdomains = self._of_unseen(host.known, host.fetched), _look_up(self._of_number, host.number)
        terms = {"unseen": unseen, "subdomains": subdomains}
        return {name: term for name, term in terms.items() if self.weights[name]}

    def parts(self, url: UrlFacts, domain: DomainFacts, suffix_visits: int) -> dict[str, float]:
        """The terms of the page on the log2 scale; the sum is the score."""
        return {name: term / LOG2_UNIT for name, term in self.page_terms(url).items()}


@cache
def _table(weight: float) -> list[int]:
    return [round(weight * log2(1 + count)) for count in range(_TABLED)]


def _look_up(table: list[int], count: int) -> int:
    """The term of a count; beyond the table that of the last count in it, for which a hundred more are nothing."""
    return table[count] if count < _TABLED else table[-1]


def _checked_weights(given: Mapping[str, float]) -> dict[str, float]:
    unknown = [name for name in given if name not in DEFAULT_WEIGHTS]
    if unknown:
        raise ValueError(f"no such term: {unknown[0]!r} (known: {', '.join(DEFAULT_WEIGHTS)})")
    weights = {name: float(given.get(name, default)) for name, default in DEFAULT_WEIGHTS.items()}
    for name, weight in weights.items():
        if not 0.0 <= weight < math.inf:
            raise ValueError(f"the weight of {name} must be a number of at least 0, not {weight}")
    if not any(weights.values()):
        raise ValueError("all weights are 0: at least one must be positive")
    return weights
