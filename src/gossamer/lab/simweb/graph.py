"""The link graph, computed page by page from hashes. Hot: benchmarks/bench_simweb.py.

On each host the ordinary pages form a tree below the home page, and every other page is linked from one ordinary page;
the portal's directories link to all home pages. So all pages can be reached by construction. In addition there are
random links: mostly within the host, and to low-numbered pages far more often than to others, which makes in-links a
power law. Links depend only on the seed, never on time.
"""

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass

from gossamer.lab.simweb.chance import draws, hash64, page_key, uniform
from gossamer.lab.simweb.config import SimWebConfig
from gossamer.lab.simweb.hosts import HOSTS_PER_DIRECTORY, HostPlan, Kind

_BRANCHES = 6  # children of each ordinary page in the host's tree
_MAX_CHAIN = 4
_DUPLICATE_LINKS = 12
_UNIT = 2.0**-24

Place = tuple[HostPlan, int]
"""A page of the web: its host and its number there."""


@dataclass(frozen=True, slots=True)
class Redirect:
    """The target of a redirect, its status, and how the Location is written."""

    status: int
    target: Place
    absolute: bool


class Graph:
    """The links of the web. Pages of the same host are given by number, others as `Place`."""

    def __init__(self, config: SimWebConfig, hosts: tuple[HostPlan, ...]) -> None:
        self._seed = config.seed
        self._hosts = hosts
        self._by_size = sorted(hosts, key=lambda h: (-h.ordinary, h.number))
        self._starts = [h.first_page for h in hosts]
        self._pages = hosts[-1].first_page + hosts[-1].pages
        self._hubs = config.hub_pages
        self._nav = config.nav_links
        self._random_links = max(0, config.links_per_page - config.nav_links - 1)
        self._popularity = config.popularity
        self._leaves = round(config.external_links * 256)
        last = hosts[-1]
        self._duplicates = Duplicates(hosts, last.first_duplicate + last.duplicates_end - last.ordinary, config.seed)

    @property
    def pages(self) -> int:
        """URLs of the web, of every kind."""
        return self._pages

    def nav(self, host: HostPlan) -> range:
        """The pages in the navigation bar, which is on all pages of the host except duplicates."""
        return range(min(host.ordinary, self._nav))

    def links(self, host: HostPlan, page: int) -> tuple[list[int], list[Place]]:
        """Links of an ordinary or restricted page besides the navigation bar: within the host, and to other hosts."""
        inside: list[int] = []
        outside: list[Place] = []
        ordinary, pages = host.ordinary, host.pages
        if page < ordinary:
            inside.extend(self._children(host, page))
            if page <= host.directories + len(host.hubs):
                self._add_portal_links(host, page, inside, outside)
        # Between half and one and a half of the mean, so that pages differ in their number of links.
        wanted = self._random_links
        count = wanted // 2 + (page_key(self._seed, host.number, page) >> 48) % (wanted + 1)
        most_inside = len(inside) + 2 * ordinary  # bounds repetitions on a small host
        leaves, hosts, by_size, unequal = self._leaves, len(self._hosts), self._by_size, self._popularity
        for draw in draws(b"%d/links/%d/%d" % (self._seed, host.number, page), count):
            x = (draw >> 8) * _UNIT
            if draw & 255 < leaves:
                other = by_size[int(x * x * hosts)]
                y = ((draw * 0x9E3779B1 >> 4) & 0xFFFFFF) * _UNIT
                outside.append((other, int(y**unequal * other.ordinary)))
            elif len(inside) < most_inside:
                if draw & 63 == 63:
                    inside.append(int(x * pages))
                else:
                    inside.append(int(x**unequal * ordinary))
        return inside, outside

    def duplicate_group(self, host: HostPlan, page: int) -> int:
        return self._duplicates.group_of(host, page)

    def duplicate_members(self, group: int) -> list[Place]:
        return self._duplicates.members(group)

    def duplicate_links(self, group: int) -> list[Place]:
        """Links of all copies in a group; they belong to the group, not to a host."""
        return [
            (host, int(uniform(self._seed, "copy", group, i) ** 2 * host.ordinary))
            for i in range(_DUPLICATE_LINKS)
            for host in (self._hosts[hash64(self._seed, "copied", group, i) % len(self._hosts)],)
        ]

    def redirect(self, host: HostPlan, page: int) -> Redirect:
        """The target of the redirect at `page`: an earlier redirect of its chain, or finally a page."""
        draw = hash64(self._seed, "redirect", host.number, page)
        status = (301, 302, 307)[draw % 3]
        place_in_chain = (page - host.duplicates_end) % _MAX_CHAIN
        if place_in_chain and (draw >> 4) & 1:
            return Redirect(status, (host, page - 1), absolute=bool((draw >> 8) & 1))
        x = ((draw >> 16) & 0xFFFFFF) * _UNIT
        if (draw >> 5) & 3 == 0:
            other = self._by_size[int(x * len(self._hosts))]
            return Redirect(status, (other, int(x * x * other.ordinary)), absolute=True)
        if (draw >> 7) & 15 == 0 and host.pages > host.missing_end:
            # To what robots.txt may disallow: the rules apply to the target of a redirect too.
            target = host.missing_end + int(x * (host.pages - host.missing_end))
            return Redirect(status, (host, target), absolute=False)
        return Redirect(status, (host, int(x * host.ordinary)), absolute=bool((draw >> 8) & 1))

    def place(self, number: int) -> Place:
        """The page with this number in the whole web."""
        host = self._hosts[bisect_right(self._starts, number) - 1]
        return host, number - host.first_page

    def _children(self, host: HostPlan, page: int) -> Iterator[int]:
        first = page * _BRANCHES + 1
        yield from range(first, min(first + _BRANCHES, host.ordinary))
        # The others are linked from ordinary pages one by one, starting anywhere.
        offset = (page - host.salt) % host.ordinary
        yield from range(host.ordinary + offset, host.pages, host.ordinary)

    def _add_portal_links(self, host: HostPlan, page: int, inside: list[int], outside: list[Place]) -> None:
        """Additional links of home pages, directories and hubs."""
        if page == 0:
            inside.extend(range(1, 1 + host.directories))
            wanted = range(self._hubs) if host.number == 0 else host.hubs
            for hub in wanted:
                owner = self._hosts[hub % len(self._hosts)]
                outside.append((owner, 1 + owner.directories + owner.hubs.index(hub)))
        elif page <= host.directories:
            start = (page - 1) * HOSTS_PER_DIRECTORY
            outside.extend((other, 0) for other in self._hosts[start : start + HOSTS_PER_DIRECTORY])
        else:
            # Every n-th URL of the web for n hubs: together they link to all URLs, each of them to all hosts.
            hub = host.hubs[page - 1 - host.directories]
            outside.extend(self.place(n) for n in range(hub, self._pages, self._hubs))


class Duplicates:
    """Which URLs have the same bytes. Half of the groups are neighbours, half are spread over the hosts."""

    def __init__(self, hosts: tuple[HostPlan, ...], total: int, seed: int) -> None:
        self._hosts = hosts
        self._starts = [h.first_duplicate for h in hosts]
        self._total = total
        self._near = total // 2 // 2 * 2  # the first ones, in pairs
        self._far_groups = max(1, (total - self._near) // 3)

    def group_of(self, host: HostPlan, page: int) -> int:
        index = host.first_duplicate + page - host.ordinary
        if index < self._near:
            return index // 2
        return self._near // 2 + (index - self._near) % self._far_groups

    def members(self, group: int) -> list[Place]:
        if group < self._near // 2:
            return [self._place(2 * group), self._place(2 * group + 1)]
        first = self._near + group - self._near // 2
        return [self._place(index) for index in range(first, self._total, self._far_groups)]

    def _place(self, index: int) -> Place:
        host = self._hosts[bisect_right(self._starts, index) - 1]
        page = host.ordinary + index - host.first_duplicate
        assert host.kind(page) is Kind.DUPLICATE
        return host, page
