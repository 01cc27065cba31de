"""`random`: any of the waiting pages, each with the same chance."""

from collections.abc import Sequence

from gossamer.simulate.policies.ports import Setting


class Shuffled:
    """Draws among all pages of sites that do not rest. A tree of counts finds the site in O(log sites)."""

    def __init__(self, setting: Setting) -> None:
        self._site_of = setting.site_of
        self._chance = setting.chance
        self._pages: list[list[int]] = [[] for _ in setting.suffix_of]
        self._resting: set[int] = set()
        self._size = 1 << max(len(setting.suffix_of) - 1, 1).bit_length()
        self._counts = [0] * (2 * self._size)  # ready pages below each node; a site is a leaf

    def found(self, page: int, source: int | None) -> None:
        site = self._site_of[page]
        self._pages[site].append(page)
        if site not in self._resting:
            self._change(site, 1)

    def fetched(self, page: int, links: Sequence[int]) -> None:
        pass

    def best(self) -> int | None:
        counts = self._counts
        if not counts[1]:
            return None
        number, node = self._chance.randrange(counts[1]), 1
        while node < self._size:
            node *= 2
            if number >= counts[node]:
                number -= counts[node]
                node += 1
        pages = self._pages[node - self._size]
        pages[number], pages[-1] = pages[-1], pages[number]
        self._change(node - self._size, -1)
        return pages.pop()

    def rest(self, site: int) -> None:
        if site not in self._resting:
            self._change(site, -len(self._pages[site]))
            self._resting.add(site)

    def wake(self, site: int) -> None:
        if site in self._resting:
            self._resting.discard(site)
            self._change(site, len(self._pages[site]))

    def _change(self, site: int, by: int) -> None:
        node = site + self._size
        while node:
            self._counts[node] += by
            node >>= 1
