"""Where a URL stands: its priority with its parts, by the ordering of the configuration."""

from gossamer.explain.facts import DomainFact, Facts, UrlFact
from gossamer.explain.story import Standing
from gossamer.frontier.orderings import Ordering
from gossamer.model.facts import CREDIT_UNIT, UrlFacts
from gossamer.model.units import Url

ASSUMED_DEPTH = 1
"""Of a URL never seen: as if a seed linked to it."""

_SAME = 1e-6  # what rounding may make of a score
_AGED = 0.005  # and what time makes of one that counts a date

_BY_SCORE = ("due", "later")
_CLASSES = {1: ("only",), 3: ("high", "medium", "low")}


def stands(known: UrlFact, facts: Facts, ordering: Ordering) -> Standing:
    """Where a URL on record stands. Its front queue is the one that it is in, if the queue stands by this ordering;
    it stands by none while it is put in order."""
    same = facts.order == ordering.name
    same_score = _SAME if known.learnt.age is None else _AGED
    score = ordering.score(known.learnt)
    front = known.front if same else ordering.standing(known.learnt).front
    return _standing(
        ordering,
        known.learnt,
        facts.domain,
        front,
        # In the units of another ordering the number would say nothing.
        queued_with=known.priority / ordering.unit if same and abs(known.priority - score) > same_score else None,
        queued_by=None if same else facts.order,
    )


def would_stand(url: Url, facts: Facts, ordering: Ordering) -> Standing:
    """Where a URL never seen would stand if a seed linked to it now."""
    learnt = UrlFacts(facts.next_id, url, ASSUMED_DEPTH, links=1)
    return _standing(ordering, learnt, facts.domain, ordering.standing(learnt).front, assumed=True)


def _standing(
    ordering: Ordering,
    url: UrlFacts,
    domain: DomainFact,
    front: int,
    *,
    queued_with: float | None = None,
    queued_by: str | None = None,
    assumed: bool = False,
) -> Standing:
    score = ordering.score(url)
    if ordering.by_score:
        score += ordering.domain_term(domain.learnt) + ordering.suffix_term(domain.suffix_visits)
    return Standing(
        ordering.name,
        ordering.by_score,
        score / ordering.unit,
        ordering.parts(url, domain.learnt, domain.suffix_visits),
        front,
        front_name(ordering, front),
        url.depth,
        url.links,
        url.links_from_others,
        url.credit / CREDIT_UNIT,
        url.visits,
        url.changes,
        queued_with,
        queued_by,
        assumed,
    )


def front_name(ordering: Ordering, front: int) -> str:
    """What people call a front queue. The number where the crawl had more of them than the ordering now."""
    names = _BY_SCORE if ordering.by_score else _CLASSES.get(ordering.fronts, ())
    return names[front] if front < len(names) else f"class {front}"
