"""What an ordering is: the formula that says which of the waiting URLs is fetched next.

An ordering holds no queue and no counts. It is asked for numbers: the score of a URL, and a term that all URLs of a
domain, or of a public suffix, share. The frontier adds them up and keeps what waits in order while they change.

The orderings by score: `dfs`, `novelty`, `balance` and `importance`.
"""

from gossamer.model.facts import CREDIT_UNIT, DomainFacts, QueuePosition, UrlFacts

BY_SCORE_FRONTS = 2
"""Front queues of an ordering by score: 0 in order of score, 1 for what is not due yet, in order of date."""


class Ordering:
    """First in, first out; every score is 2. Subclasses say what they do otherwise.

    There are two kinds. With `by_score` the URL of the highest total is fetched next: `score` + `domain_term` +
    `suffix_term`, all whole numbers so that sums are exact; among equals the oldest entry. Otherwise the score only
    picks one of `fronts` classes, which the biased selector serves, first in first out in each.
    """

    name = "bfs"
    by_score = False
    fronts = 1  # classes; 0 is the highest
    unit = 1.0  # of the scores: what they are divided by when they are shown
    moved_by_links = False  # a link found later moves a URL that waits
    stays = False  # keeps to the host contacted last while it has URLs and may be contacted

    def score(self, url: UrlFacts) -> float:
        """The URL's own part. By classes: 0..1."""
        return 2.0

    def front_of(self, score: float) -> int:
        """The class of a score. Only asked where `by_score` is off."""
        return 0

    def domain_term(self, domain: DomainFacts) -> int:
        """What all URLs of a domain share."""
        return 0

    def suffix_term(self, visits: int) -> int:
        """What all URLs under a public suffix share, which has had so many visits."""
        return 0

    def parts(self, url: UrlFacts, domain: DomainFacts, suffix_visits: int) -> dict[str, float]:
        """What the total is made of, by name, as it is shown."""
        if not self.by_score:
            return {"score": self.score(url)}
        terms = {"url": self.score(url), "domain": self.domain_term(domain), "suffix": self.suffix_term(suffix_visits)}
        return {name: term / self.unit for name, term in terms.items()}

    # --- what follows from the above ---------------------------------------------------------------

    @property
    def front_queues(self) -> int:
        """How many front queues the task table has under this ordering."""
        return BY_SCORE_FRONTS if self.by_score else self.fronts

    def standing(self, url: UrlFacts) -> QueuePosition:
        """Where the URL waits when it is due."""
        score = self.score(url)
        if not self.by_score:
            return QueuePosition(self.front_of(score), score)
        return QueuePosition(0, score, -float(score))

    @property
    def settings(self) -> str:
        """Whatever else the standing of a URL depends on, as one text: a queue that was put in order with other
        settings is put in order anew."""
        return ""

    def front_until_due(self, front: int) -> int:
        """The front queue in which a URL of queue `front` waits for a date."""
        return 1 if self.by_score else front


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
