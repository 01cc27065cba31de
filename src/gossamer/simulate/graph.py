"""A link graph at rest: who links to whom, on which site, and under which name if that is known."""

from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LinkGraph:
    """Pages are numbered from 0, and all numbers stand in arrays.

    The links of page p are `targets[starts[p]:starts[p + 1]]`.

    Invariants: no page links to itself, none links to another twice; every page has a site and every site a suffix.
    """

    name: str
    starts: Sequence[int]
    targets: Sequence[int]
    site_of: Sequence[int]  # by page
    suffix_of: Sequence[int]  # by site: the second-level suffix its name ends in
    urls: Sequence[str] | None = None  # by page; a graph file has none
    seeds: Sequence[int] = ()  # the pages that a crawl started from, where that is known
    self_links: int = 0  # so many links of a page to itself were left out

    @property
    def pages(self) -> int:
        return len(self.starts) - 1

    @property
    def links(self) -> int:
        return len(self.targets)

    @property
    def sites(self) -> int:
        return len(self.suffix_of)

    def links_of(self, page: int) -> Sequence[int]:
        return self.targets[self.starts[page] : self.starts[page + 1]]


def make_graph(
    name: str,
    links: Iterable[Iterable[int]],
    site_of: Sequence[int],
    *,
    suffix_of: Sequence[int] | None = None,
    urls: Sequence[str] | None = None,
    seeds: Sequence[int] = (),
) -> LinkGraph:
    """A graph from the links of each page in turn. Self links and repeated ones are left out; order is kept.

    Without `suffix_of` all sites are taken to have the same suffix. Raises ValueError for a link, or a site, that
    is not there.
    """
    starts, targets = array("q", [0]), array("q")
    self_links = 0
    for page, raw in enumerate(links):
        own = dict.fromkeys(raw)
        if page in own:
            del own[page]
            self_links += 1
        targets.extend(own)
        starts.append(len(targets))
    pages = len(starts) - 1
    if targets and not 0 <= min(targets) <= max(targets) < pages:
        raise ValueError(f"a link leads to page {max(targets)}, but there are {pages}")
    if len(site_of) != pages:
        raise ValueError(f"{pages} pages, but sites for {len(site_of)}")
    suffixes = array("q", suffix_of if suffix_of is not None else [0] * (max(site_of, default=-1) + 1))
    return LinkGraph(name, starts, targets, array("q", site_of), suffixes, urls, seeds, self_links)
