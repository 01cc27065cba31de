"""`mercator`: three classes of priority, served by the biased selector; the oldest first within a class."""

from gossamer.frontier.orderings.ordering import Ordering
from gossamer.model.facts import UrlFacts


class Mercator(Ordering):
    """Home pages first, then by nesting of the path, then by distance from the seeds."""

    name = "mercator"
    fronts = 3

    def score(self, url: UrlFacts) -> float:
        # "http://host/a/b?q" has three slashes before the path's first name, one more per level.
        text = url.url
        nesting = text.count("/") - 3 + (1 if text[-1] != "/" else 0)
        if "?" in text:
            nesting += 1
        return round(0.7 / (1 + 0.5 * nesting) + 0.3 / (1 + url.depth), 4)

    def front_of(self, score: float) -> int:
        return 0 if score >= 0.7 else 1 if score >= 0.35 else 2
