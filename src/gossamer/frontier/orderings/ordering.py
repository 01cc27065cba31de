"""What an ordering is: the formula that decides which of the waiting URLs is fetched next.

An ordering holds no queue and no counts. It returns numbers: the score of a URL, and terms that all URLs of a host,
of a domain or of a public suffix share. The frontier adds them up and keeps the waiting URLs in order while these
change.

Also here: the orderings by score, `dfs`, `novelty`, `balance` and `importance`.
"""

from gossamer.frontier.orderings.class_rules import NO_RULES, PriorityClass, PriorityRules
from gossamer.model.facts import CREDIT_UNIT, RANK_STEP, DomainFacts, HostFacts, QueuePosition, UrlFacts

BY_SCORE_FRONTS = 2
"""Front queues of an ordering by score: 0 by score, 1 for URLs that are not due yet, by date."""

# Added to scores while there are rules. Never subtracted: a place in a queue must not look like a date to come.
_RANKS = {PriorityClass.HIGH: 2 * RANK_STEP, PriorityClass.MEDIUM: RANK_STEP, PriorityClass.LOW: 0.0}


_position = tuple.__new__  # every URL gets one, and calling a named tuple's class costs twice as much


class Ordering:
    """First in, first out; every score is 2. Subclasses override what they do differently.

    There are two kinds. With `by_score` the URL with the highest total is fetched next: `score` + `host_term` +
    `domain_term` + `suffix_term`, all integers so that sums are exact; among equals the oldest entry. Otherwise the
    score only selects one of `fronts` classes, which the biased selector serves, first in first out in each.
    """

    name = "bfs"
    by_score = False
    fronts = 1  # classes; 0 is the highest
    unit = 1.0  # scores are divided by this for display
    moved_by_links = False  # links found later change the place of a waiting URL
    defers_links = False  # by score: links are counted up to 20 seconds later, as by class
    stays = False  # stay with the last host while it has URLs and may be contacted
    rules: PriorityRules = NO_RULES  # of the operator; they override the score

    def score(self, url: UrlFacts) -> float:
        """The URL's own part."""
        return 2.0

    def front_of(self, score: float) -> int:
        """The class of a score. Not called if `by_score`."""
        return 0

    def host_term(self, host: HostFacts) -> int:
        """The term shared by all URLs of a host."""
        return 0

    def domain_term(self, domain: DomainFacts) -> int:
        """The term shared by all URLs of a domain."""
        return 0

    def suffix_term(self, visits: int) -> int:
        """The term shared by all URLs under a public suffix that has had `visits` visits."""
        return 0

    def parts(self, url: UrlFacts, domain: DomainFacts, suffix_visits: int) -> dict[str, float]:
        """The components of the total by name, for display; the terms of the formula where it has several."""
        if not self.by_score:
            return {"score": self.score(url)}
        terms = {"url": self.score(url), "domain": self.domain_term(domain), "suffix": self.suffix_term(suffix_visits)}
        if self.has_host_term:
            terms["host"] = self.host_term(url.host)
        return {name: term / self.unit for name, term in terms.items()}

    # --- what follows from the above ---------------------------------------------------------------

    def total(self, url: UrlFacts, domain: DomainFacts, suffix_visits: int) -> float:
        """The whole score in the unit of the formula, for display: that of every command and of `explain`."""
        score = self.score(url)
        if self.by_score:
            score += self.host_term(url.host) + self.domain_term(domain) + self.suffix_term(suffix_visits)
        return score / self.unit

    @property
    def has_host_term(self) -> bool:
        """Whether URLs of a host share a term."""
        return type(self).host_term is not Ordering.host_term

    @property
    def front_queues(self) -> int:
        """The number of front queues in the task table under this ordering."""
        return BY_SCORE_FRONTS if self.by_score else self.fronts

    def use_rules(self, rules: PriorityRules, *, running: bool = False) -> bool:
        """Let rules override the score. An ordering with a single class is one by score while it has rules. `running`:
        there is a queue already, so that its kind cannot change. Returns whether the rules are used."""
        if self.fronts == 1 and not type(self).by_score:
            if running and bool(rules) != bool(self.rules):
                return False
            self.by_score = bool(rules)
        self.rules = rules or NO_RULES
        return True

    def standing(self, url: UrlFacts) -> QueuePosition:
        """The position of the URL when it is due."""
        score = self.score(url)
        if self.rules is not NO_RULES:
            return self._standing_by_rule(url, score)
        if not self.by_score:
            return _position(QueuePosition, (self.front_of(score), score, None))
        return _position(QueuePosition, (0, score, -float(score)))

    def _standing_by_rule(self, url: UrlFacts, score: float) -> QueuePosition:
        rule = self.rules.rule_for(url.url)
        if not self.by_score:
            return QueuePosition(self.front_of(score) if rule is None else self.front_of_class(rule.level), score)
        ranked = score + _RANKS[PriorityClass.MEDIUM if rule is None else rule.level]
        return QueuePosition(0, ranked, -float(ranked))

    def front_of_class(self, level: PriorityClass) -> int:
        """The front queue of a class that a rule names. Not called if `by_score`."""
        if level is PriorityClass.HIGH:
            return 0
        return self.fronts - 1 if level is PriorityClass.LOW else min(1, self.fronts - 1)

    @property
    def settings(self) -> str:
        """Everything else that scores and classes depend on, as text."""
        return ""

    @property
    def queue_settings(self) -> str:
        """Everything else that positions depend on. A queue ordered with other settings is reordered."""
        return f"{self.settings} rules: {self.rules.text}" if self.rules else self.settings

    def front_until_due(self, front: int) -> int:
        """The front queue in which a URL of queue `front` waits for a date."""
        return 1 if self.by_score else front


class DepthFirst(Ordering):
    """The newest URL of the last host; if it has none or rests, the newest of all, whose host is next."""

    name = "dfs"
    by_score = True
    stays = True

    def score(self, url: UrlFacts) -> float:
        return url.url_id

    def parts(self, url: UrlFacts, domain: DomainFacts, suffix_visits: int) -> dict[str, float]:
        return {"entry": self.score(url)}


class Novelty(Ordering):
    """score = max(0, 10 - 0.1 * crawls of the domain) + references to the URL + 0.01 * references to the domain.

    Counted in hundredths. A reference is a link on a fetched page, to a waiting or to a fetched URL.
    """

    name = "novelty"
    by_score = True
    unit = 100.0
    moved_by_links = True

    def score(self, url: UrlFacts) -> float:
        return 100 * url.links

    def domain_term(self, domain: DomainFacts) -> int:
        return max(0, 1000 - 10 * domain.visits) + domain.links

    def parts(self, url: UrlFacts, domain: DomainFacts, suffix_visits: int) -> dict[str, float]:
        terms = {
            "novelty": max(0, 1000 - 10 * domain.visits),
            "references": 100 * url.links,
            "domain_references": domain.links,
        }
        return {name: term / self.unit for name, term in terms.items()}


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

    def parts(self, url: UrlFacts, domain: DomainFacts, suffix_visits: int) -> dict[str, float]:
        return {
            "domain_visits": -47.0 * domain.visits,
            "domain_links_from_others": 13.0 * domain.links_from_others,
            "suffix_visits": -29.0 * suffix_visits,
        }


class Importance(Ordering):
    """score = credit of the page + 1 / (1 + visits of its domain so far).

    A fetched page passes 0.85 of its credit to its links in equal parts (`model.facts`). Credit that reaches a fetched
    page is passed on when it is fetched again.
    """

    name = "importance"
    by_score = True
    unit = float(CREDIT_UNIT)
    moved_by_links = True

    def score(self, url: UrlFacts) -> float:
        return url.credit

    def domain_term(self, domain: DomainFacts) -> int:
        return CREDIT_UNIT // (1 + domain.visits)

    def parts(self, url: UrlFacts, domain: DomainFacts, suffix_visits: int) -> dict[str, float]:
        return {"credit": url.credit / self.unit, "domain_visits": self.domain_term(domain) / self.unit}
