"""`balance`: an even spread over domains and suffixes, popular domains first (document 001)."""

from collections import defaultdict
from collections.abc import Sequence

from gossamer.simulate.best_first import BestFirst
from gossamer.simulate.policies.ports import Setting
from gossamer.simulate.promises import Promises, place_of


class Balance:
    """score = 13 * links to the domain from other domains - 47 * visits of the domain - 29 * visits of its suffix.

    Pages of one domain have the same score, so among them the oldest is first. A visit lowers all domains of a suffix
    at once; so each suffix has a queue of its own, and what its pages share is added where suffixes compete.
    """

    def __init__(self, setting: Setting) -> None:
        self._site_of = setting.site_of
        self._suffix_of = setting.suffix_of
        self._visits: defaultdict[int, int] = defaultdict(int)  # by site
        self._linked: defaultdict[int, int] = defaultdict(int)  # by site, from others
        self._suffix_visits: defaultdict[int, int] = defaultdict(int)
        self._queues: dict[int, BestFirst] = {}  # by suffix
        self._suffixes = Promises(self._offer)
        self._entries = 0

    def found(self, page: int, source: int | None) -> None:
        suffix = self._suffix_of[self._site_of[page]]
        if suffix not in self._queues:
            self._queues[suffix] = BestFirst(self._site_of, self._term)
        self._queues[suffix].add(page, entry=self._entries)
        self._entries += 1
        self._promise(suffix)

    def fetched(self, page: int, links: Sequence[int]) -> None:
        own = self._site_of[page]
        self._visits[own] += 1
        self._suffix_visits[self._suffix_of[own]] += 1
        others = [site for link in links if (site := self._site_of[link]) != own]
        for site in others:
            self._linked[site] += 1
        for site in dict.fromkeys(others):
            suffix = self._suffix_of[site]
            self._queues[suffix].site_rose(site)
            self._promise(suffix)

    def best(self) -> int | None:
        found = self._suffixes.first()
        return None if found is None else self._queues[found[1]].take()

    def rest(self, site: int) -> None:
        self._queues[self._suffix_of[site]].rest(site)

    def wake(self, site: int) -> None:
        suffix = self._suffix_of[site]
        self._queues[suffix].wake(site)
        self._promise(suffix)

    def _term(self, site: int) -> int:
        return 13 * self._linked.get(site, 0) - 47 * self._visits.get(site, 0)

    def _offer(self, suffix: int) -> int | None:
        place = self._queues[suffix].first()
        return None if place is None else place + place_of(-29 * self._suffix_visits.get(suffix, 0), 0)

    def _promise(self, suffix: int) -> None:
        place = self._offer(suffix)
        if place is not None:
            self._suffixes.rose(suffix, place)
