"""The orderings by score: `dfs`, `novelty`, `balance` and `importance`."""

from gossamer.frontier.orderings.ordering import Ordering
from gossamer.model.facts import CREDIT_UNIT, DomainFacts, UrlFacts


class DepthFirst(Ordering):
    """The newest URL of the host contacted last; while that has none or rests, the newest of all, and its host next."""

    name = "dfs"
    by_score = True
    stays = True

    def score(self, url: UrlFacts) -> float:
        return url.url_id


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


class Balance(Ordering):
    """score = 13 * links to the domain from other domains - 47 * visits of the domain - 29 * visits of its suffix.

    URLs of one domain have the same score, so among them the oldest is first.
    """

    name = "balance"
    by_score = True
    moved_by_links = True

    def score(self, url: UrlFacts) -> float:
        return 0

    def domain_term(self, domain: DomainFacts) -> int:
        return 13 * domain.links_from_others - 47 * domain.visits

    def suffix_term(self, visits: int) -> int:
        return -29 * visits


class Importance(Ordering):
    """score = credit of the page + 1 / (1 + visits of its domain so far).

    A page that is fetched hands 0.85 of its credit to its links in equal parts (`model.facts`). What falls on fetched
    pages is not handed on before they are fetched again.
    """

    name = "importance"
    by_score = True
    unit = float(CREDIT_UNIT)
    moved_by_links = True

    def score(self, url: UrlFacts) -> float:
        return url.credit

    def domain_term(self, domain: DomainFacts) -> int:
        return CREDIT_UNIT // (1 + domain.visits)
