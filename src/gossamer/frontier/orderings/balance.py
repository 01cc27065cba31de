"""`balance`: an even spread over domains and suffixes, popular domains first (document 001)."""

from gossamer.frontier.orderings.ordering import Ordering
from gossamer.model.facts import DomainFacts, UrlFacts


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
