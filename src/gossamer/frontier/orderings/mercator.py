"""The ordering `mercator`, which scores every URL that is new or moved by a link. Hot: benchmarks/bench_priority.py.

Priority classes, served by the biased selector; oldest first within a class. `frontier.orderings.signals` defines the
signals; the same is computed here in one pass, with the weights multiplied in beforehand.
"""

import math
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from itertools import pairwise
from math import frexp

from gossamer.frontier.orderings import signals
from gossamer.frontier.orderings.ordering import Ordering
from gossamer.frontier.orderings.signals import (
    AGE_FOR_HALF,
    ARTICLE,
    ASSET,
    ASSET_ENDINGS,
    BORNE_BY_LINKS,
    CREDIT_DOUBLINGS,
    CREDIT_STEP,
    HOME,
    INDEX,
    INDEX_NAMES,
    SIGNALS,
    TrustedDomains,
)
from gossamer.model.facts import BIRTH_CREDIT, DomainFacts, UrlFacts

DEFAULT_WEIGHTS: Mapping[str, float] = {
    "importance": 4.0,
    "links_from_others": 2.0,
    "links": 0.0,  # importance counts the same links, weighted
    "page_type": 4.0,
    "nesting": 4.0,
    "depth": 0.5,
    "trusted": 2.0,
    "freshness": 0.5,
    "change": 0.5,
}
"""Only their proportions matter. Chosen on link graphs: benchmarks/results/orderings.md."""

DEFAULT_BOUNDS = (0.27, 0.15)

_TABLED = 256  # counts below this are looked up, not computed
_BORN_WITH = BIRTH_CREDIT / CREDIT_STEP - 1.0


class Mercator(Ordering):
    """score = weighted mean of the known signals, 0..1; `bounds` are the least scores of the classes."""

    name = "mercator"
    fronts = 3

    def __init__(
        self,
        weights: Mapping[str, float] | None = None,
        trusted: Iterable[str] = (),
        bounds: Sequence[float] = DEFAULT_BOUNDS,
    ) -> None:
        """`weights` by name of signal; others keep their default. `bounds` decrease: the first is the least score of
        class 0, and so on; below the last is the lowest class. Raises ValueError with the offending value."""
        self.weights = _checked_weights(weights or {})
        self.bounds = _checked_bounds(bounds)
        self._negative_bounds = [-bound for bound in self.bounds]  # increasing, for `bisect`
        self.fronts = len(self.bounds) + 1
        self.trusted = TrustedDomains(trusted)
        self.moved_by_links = any(self.weights[name] > 0 for name in BORNE_BY_LINKS)
        self._prepare()

    def _prepare(self) -> None:
        """Multiply the weights in."""
        weight = self.weights
        self._of_links = _table(signals.links, weight["links"])
        self._of_others = _table(signals.links_from_others, weight["links_from_others"])
        self._of_depth = _table(signals.depth, weight["depth"])
        self._of_level = _table(signals.at_level, weight["nesting"])
        self._doubling = weight["importance"] / CREDIT_DOUBLINGS
        types = (HOME, INDEX, ARTICLE, ASSET)
        self._home, self._index, self._article, self._asset = (weight["page_type"] * worth for worth in types)
        self._weight_of_trust = weight["trusted"] if self.trusted else 0.0
        self._weight_of_links = sum(weight[name] for name in ("links", "links_from_others", "importance", "depth"))
        self._weight_of_url = weight["page_type"] + weight["nesting"] + self._weight_of_trust

    @property
    def settings(self) -> str:
        weights = " ".join(f"{name}={weight:g}" for name, weight in self.weights.items())
        return f"{weights} bounds={self.bounds} trusted={sorted(self.trusted.patterns)}"

    def score(self, url: UrlFacts) -> float:
        """0..1; 0 if no signal with a weight is known."""
        _, text, depth, links, from_others, credit, visits, changes, age = url
        total = self._weight_of_links
        try:
            points = self._of_links[links] + self._of_others[from_others] + self._of_depth[depth]
            if text and self._weight_of_url:
                total += self._weight_of_url
                points += self._url_points(text)
        except IndexError:  # beyond the tables, which is rare
            return min(1.0, math.fsum(self._parts(url).values()))
        received = credit / CREDIT_STEP - _BORN_WITH  # in steps, plus one for the logarithm
        if received > 1.0:
            mantissa, exponent = frexp(received)
            doublings = exponent - 2 + 2 * mantissa
            points += self._doubling * (doublings if doublings < CREDIT_DOUBLINGS else CREDIT_DOUBLINGS)
        if age is not None:
            total += self.weights["freshness"]
            points += self.weights["freshness"] * AGE_FOR_HALF / (AGE_FOR_HALF + (age if age > 0.0 else 0.0))
        if visits > 1:
            total += self.weights["change"]
            points += self.weights["change"] * (min(changes, visits - 1) + 1) / (visits + 1)
        if points >= total:
            return 1.0 if total else 0.0
        return points / total

    def _url_points(self, text: str) -> float:
        """Page type, nesting and trust, in one pass over the URL. IndexError if it is beyond the table."""
        marked = "?" in text
        names = (text.partition("?")[0] if marked else text).split("/")
        name = names[-1]
        level = len(names) - 4  # "http:", "", the host, and the last name, which is empty for a directory
        if not name:
            points = self._index if level or marked else self._home
        else:
            points = self._article
            if "." in name:
                name = name.lower()
                if name.startswith(INDEX_NAMES):
                    points = self._index if level or marked else self._home
                elif name.rpartition(".")[2] in ASSET_ENDINGS:
                    points = self._asset
            level += 1
        if self._weight_of_trust:
            points += self._weight_of_trust * self.trusted.of_host(names[2])
        return points + self._of_level[level + marked]

    def front_of(self, score: float) -> int:
        return bisect_left(self._negative_bounds, -score)

    def parts(self, url: UrlFacts, domain: DomainFacts, suffix_visits: int) -> dict[str, float]:
        """What each known signal with a weight contributes to the score; the sum is the score."""
        return self._parts(url)

    def _parts(self, url: UrlFacts) -> dict[str, float]:
        values = {name: signal(url) for name, signal in SIGNALS.items()} | {"trusted": self.trusted.value(url.url)}
        known = {
            name: (weight, value)
            for name, weight in self.weights.items()
            if weight > 0 and (value := values[name]) is not None
        }
        total = sum(weight for weight, _ in known.values())
        return {name: weight * value / total for name, (weight, value) in known.items()}


@cache
def _table(signal: Callable[[int], float], weight: float) -> list[float]:
    return [weight * signal(count) for count in range(_TABLED)]


def _checked_weights(given: Mapping[str, float]) -> dict[str, float]:
    unknown = [name for name in given if name not in DEFAULT_WEIGHTS]
    if unknown:
        raise ValueError(f"no such signal: {unknown[0]!r} (known: {', '.join(DEFAULT_WEIGHTS)})")
    weights = {name: float(given.get(name, default)) for name, default in DEFAULT_WEIGHTS.items()}
    for name, weight in weights.items():
        if not 0.0 <= weight < math.inf:
            raise ValueError(f"the weight of {name} must be a number of at least 0, not {weight}")
    if not any(weights.values()):
        raise ValueError("all weights are 0: at least one must be positive")
    return weights


def _checked_bounds(given: Sequence[float]) -> tuple[float, ...]:
    bounds = tuple(map(float, given))
    if not all(0.0 < bound <= 1.0 for bound in bounds) or any(a <= b for a, b in pairwise(bounds)):
        raise ValueError(f"bounds must be in descending order, between 0 and 1, not {list(bounds)}")
    return bounds
