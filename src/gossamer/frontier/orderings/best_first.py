"""The ordering `best-first`: the URL with the highest score, of the page and of its host, is fetched next."""

from gossamer.frontier.orderings.score import LOG2_UNIT, ScoredByLinks
from gossamer.model.facts import DomainFacts, HostFacts, UrlFacts

BUCKET = LOG2_UNIT // 4
"""The page's part of the score is cut to a multiple of this, so that a URL does not move at every link to it."""


class BestFirst(ScoredByLinks):
    """The host's part of the score is added while the URL waits, so all URLs of a host rise and fall together. Among
    equals the oldest entry is first."""

    name = "best-first"
    by_score = True
    defers_links = True

    def score(self, url: UrlFacts) -> float:
        return self.page_score(url) // BUCKET * BUCKET

    def host_term(self, host: HostFacts) -> int:
        return self.of_host(host)

    def parts(self, url: UrlFacts, domain: DomainFacts, suffix_visits: int) -> dict[str, float]:
        """The terms of the page and of the host on the log2 scale, and the rounding (`cut`); the sum is the score."""
        terms = self.page_terms(url)
        terms["cut"] = int(self.score(url)) - sum(terms.values())
        return {name: term / LOG2_UNIT for name, term in (terms | self.host_terms(url.host)).items()}
