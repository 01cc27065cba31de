"""`importance`: online page importance, as damped credit that flows along links, and a term for new sites."""

from gossamer.frontier.orderings.ordering import Ordering
from gossamer.model.facts import CREDIT_UNIT, DomainFacts, UrlFacts


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
