"""`novelty`: new domains first, then what is linked to (document 000)."""

from gossamer.frontier.orderings.ordering import Ordering
from gossamer.model.facts import DomainFacts, UrlFacts


class Novelty(Ordering):
    """score = max(0, 10 - 0.1 * crawls of the domain) + references to the URL + 0.01 * references to the domain.

    Counted in hundredths. A reference is a link on a fetched page, to a URL that waits or to one fetched already.
    """

    name = "novelty"
    by_score = True
    unit = 100.0
    moved_by_links = True

    def score(self, url: UrlFacts) -> float:
        return 100 * url.links

    def domain_term(self, domain: DomainFacts) -> int:
        return max(0, 1000 - 10 * domain.visits) + domain.links
