"""Hot: an ordering of the crawl by score, carried out exactly (benchmarks/bench_orderings.py)."""

from collections.abc import Sequence

from gossamer.errors import UsageError
from gossamer.frontier.orderings import Ordering
from gossamer.simulate.best_first import BestFirst
from gossamer.simulate.policies.knowledge import Knowledge
from gossamer.simulate.policies.ports import Setting
from gossamer.simulate.promises import Promises, place_of


class ByScore:
    """The highest total of page, domain and suffix first; among equals the oldest entry.

    A term that all domains of a suffix share changes for all of them at once. So each suffix has a queue of its own, in
    which the terms of domains compete, and the suffix's own term is added where suffixes do.
    """

    def __init__(self, ordering: Ordering, setting: Setting) -> None:
        self._ordering = ordering
        self._site_of = setting.site_of
        self._knowledge = Knowledge(setting)
        # What an ordering has no formula for needs no keeping up.
        self._has_domain_term = type(ordering).domain_term is not Ordering.domain_term
        self._has_suffix_term = type(ordering).suffix_term is not Ordering.suffix_term
        self._suffix_of = setting.suffix_of if self._has_suffix_term else [0] * len(setting.suffix_of)
        self._queues: dict[int, BestFirst] = {}  # by suffix; one for all where suffixes do not matter
        self._suffixes = Promises(self._offer)
        self._last_site: int | None = None

    def found(self, page: int, source: int | None) -> None:
        self._knowledge.found(page, source)
        facts = self._knowledge.facts_of(page)
        suffix = self._suffix_of[self._site_of[page]]
        if suffix not in self._queues:
            self._queues[suffix] = BestFirst(self._site_of, self._domain_term if self._has_domain_term else None)
        self._queues[suffix].add(page, self._whole(self._ordering.score(facts)), entry=facts.url_id)
        self._promise(suffix)

    def fetched(self, page: int, links: Sequence[int]) -> None:
        self._knowledge.fetched(page, links)
        site_of, suffix_of, queues = self._site_of, self._suffix_of, self._queues
        if self._ordering.moved_by_links:
            facts_of, score = self._knowledge.facts_of, self._ordering.score
            for link in links:
                queue = queues[suffix_of[site_of[link]]]
                if link in queue:
                    queue.change(link, self._whole(score(facts_of(link))))
        # A formula may rise where another would fall, so all whose counts have changed are looked at.
        touched = dict.fromkeys((site_of[page], *map(site_of.__getitem__, links)))
        if self._has_domain_term:
            for site in touched:
                queues[suffix_of[site]].site_rose(site)
        for suffix in dict.fromkeys(map(suffix_of.__getitem__, touched)):
            self._promise(suffix)

    def best(self) -> int | None:
        page = None
        if self._last_site is not None:
            page = self._queues[self._suffix_of[self._last_site]].take_at(self._last_site)
        if page is None and self._queues:
            suffix = self._best_suffix()
            page = None if suffix is None else self._queues[suffix].take()
        if page is not None and self._ordering.stays:
            self._last_site = self._site_of[page]
        return page

    def rest(self, site: int) -> None:
        self._queues[self._suffix_of[site]].rest(site)

    def wake(self, site: int) -> None:
        suffix = self._suffix_of[site]
        self._queues[suffix].wake(site)
        self._promise(suffix)

    def _domain_term(self, site: int) -> int:
        return self._whole(self._ordering.domain_term(self._knowledge.domains[site]))

    def _best_suffix(self) -> int | None:
        if not self._has_suffix_term:
            return 0
        found = self._suffixes.first()
        return None if found is None else found[1]

    def _offer(self, suffix: int) -> int | None:
        place = self._queues[suffix].first()
        if place is None:
            return None
        visits = self._knowledge.suffix_visits[suffix]
        return place + place_of(self._whole(self._ordering.suffix_term(visits)), 0)

    def _promise(self, suffix: int) -> None:
        place = self._offer(suffix) if self._has_suffix_term else None
        if place is not None:
            self._suffixes.rose(suffix, place)

    def _whole(self, number: float) -> int:
        """Sums must be exact, or equals would not be equal. Raises UsageError for an ordering that forgets it."""
        whole = int(number)
        if whole != number:
            raise UsageError(f"the ordering {self._ordering.name!r} gave {number}: scores and terms are whole numbers")
        return whole
