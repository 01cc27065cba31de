"""`novelty`: new domains first, then what is linked to (document 000)."""

from collections import defaultdict
from collections.abc import Sequence

from gossamer.simulate.policies.ports import Setting
from gossamer.simulate.policies.queued import Queued


class Novelty(Queued):
    """score = max(0, 10 - 0.1 * crawls of the domain) + references to the URL + 0.01 * references to the domain.

    Counted in hundredths. A reference is a link on a fetched page, to a URL that waits or to one fetched already.
    """

    def __init__(self, setting: Setting) -> None:
        super().__init__(setting, self._term)
        self._crawls: defaultdict[int, int] = defaultdict(int)  # by site
        self._references: defaultdict[int, int] = defaultdict(int)  # by site

    def fetched(self, page: int, links: Sequence[int]) -> None:
        site_of, references = self._site_of, self._references
        self._crawls[site_of[page]] += 1
        self._queue.lift(links, 100)
        for site in (sites := [site_of[link] for link in links]):
            references[site] += 1
        for site in dict.fromkeys(sites):
            self._queue.site_rose(site)

    def _term(self, site: int) -> int:
        return max(0, 1000 - 10 * self._crawls.get(site, 0)) + self._references.get(site, 0)
