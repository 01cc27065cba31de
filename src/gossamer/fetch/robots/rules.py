"""Hot (benchmarks/bench_robots.py): many rules, one verdict.

The most specific rule wins, that is the one with the most octets; between equals, Allow (RFC 9309, 2.2.2).
Rules are not tried one after the other:

  * Every rule has a literal head (all of it up to the first star). The heads stand in a sorted list, each with
    the nearest other head that is a prefix of it. One bisection and a walk up that chain find the longest head
    that begins the path; all heads that do so are further up the same chain.
  * A rule without wildcards is decided by its head, so each head knows the best such rule on its chain.
  * Rules with wildcards hang at their head (`wild.py`) and are tried only while they could still beat the
    best rule known.
"""

from bisect import bisect_right
from collections.abc import Sequence
from typing import NamedTuple

from gossamer.fetch.robots.pattern import is_normal, normal_octets, normal_path, read_pattern
from gossamer.fetch.robots.wild import WildRules
from gossamer.model.units import Seconds

RuleLine = tuple[bool, str, bytes, int]
"""One Allow or Disallow line: is it Allow; its path, one Latin-1 character an octet, not empty;
the whole line, for people; its number. A bare tuple, because files hold up to 64,000 of them."""


class RobotsVerdict(NamedTuple):
    """May the path be fetched, and which line of the file (counted from 1) said so; None if none did."""

    allowed: bool
    line: str | None = None
    line_number: int | None = None


_ALLOWED = RobotsVerdict(True)
_NONE = (-1, -1)


class RobotsRules:
    """The rules of one robots.txt that apply to us. Immutable; safe to share.

    `crawl_delay` is what the file asks for (never negative, always finite) or None. `sitemaps` are the
    addresses as written, of all groups; `group_found` says whether the file spoke to us (or to everybody) at all.
    """

    __slots__ = (
        "_best",
        "_exact",
        "_heads",
        "_lines",
        "_up",
        "_wild",
        "_wild_at",
        "crawl_delay",
        "group_found",
        "sitemaps",
    )

    def __init__(
        self,
        lines: Sequence[RuleLine] = (),
        *,
        crawl_delay: Seconds | None = None,
        sitemaps: tuple[str, ...] = (),
        group_found: bool = False,
    ) -> None:
        self.crawl_delay = crawl_delay
        self.sitemaps = sitemaps
        self.group_found = group_found
        self._lines = lines
        # A rule is (rank, its place in `lines`) with rank = 2 * length + allow: the greatest rank wins.
        plain: dict[str, tuple[int, int]] = {}
        self._exact: dict[str, tuple[int, int]] = {}
        wild: dict[str, WildRules] = {}
        for number, (allow, octets, _, _) in enumerate(lines):
            if "*" not in octets and octets[-1] != "$":
                table = plain
                head = octets if is_normal(octets) else normal_octets(octets)
                length = len(head)
            else:
                pattern = read_pattern(octets)
                head, length = pattern.head, pattern.length
                if pattern.middle or pattern.tail is not None:
                    if head not in wild:
                        wild[head] = WildRules(len(head))
                    wild[head].add(pattern, 2 * length + allow, number)
                    continue
                table = self._exact if pattern.exact else plain
            rank = 2 * length + allow
            known = table.get(head)
            if known is None or rank > known[0]:
                table[head] = (rank, number)
        self._hang(plain, wild)

    def _hang(self, plain: dict[str, tuple[int, int]], wild: dict[str, WildRules]) -> None:
        """Sort the heads and link each to the nearest head that begins it."""
        heads = sorted(plain.keys() | wild.keys()) if wild else sorted(plain)
        up: list[int] = []
        best: list[tuple[int, int]] = []
        wild_at: list[int] = []  # the nearest place with wildcard rules, from here upwards
        self._heads, self._up, self._best, self._wild_at = heads, up, best, wild_at
        self._wild: dict[int, WildRules] = {}
        above = -1
        for place, head in enumerate(heads):
            # Whatever does not begin this head begins none of the later ones: the list is sorted.
            while above >= 0 and not head.startswith(heads[above]):
                above = up[above]
            up.append(above)
            inherited = best[above] if above >= 0 else _NONE
            own = plain.get(head, _NONE)
            best.append(own if own[0] > inherited[0] else inherited)
            if head in wild:
                self._wild[place] = wild[head]
                wild[head].finish()
                wild_at.append(place)
            else:
                wild_at.append(wild_at[above] if above >= 0 else -1)
            above = place

    def __len__(self) -> int:
        return len(self._lines)

    def allows(self, path_and_query: str) -> bool:
        """May this path be fetched? The same answer as `verdict`, without the line."""
        return self._winner(path_and_query)[0] & 1 == 1

    def verdict(self, path_and_query: str) -> RobotsVerdict:
        """May this path (beginning with `/`, query included, fragment not) be fetched, and by which line?"""
        rank, number = self._winner(path_and_query)
        if number < 0:
            return _ALLOWED
        _, _, text, line_number = self._lines[number]
        return RobotsVerdict(rank & 1 == 1, text.decode("utf-8", "replace").strip(), line_number)

    def _winner(self, path: str) -> tuple[int, int]:
        """The rule that decides; (-1, -1), whose rank is odd and so allows, where none does."""
        if not is_normal(path):
            path = normal_path(path)
        heads = self._heads
        place = bisect_right(heads, path) - 1
        while place >= 0 and not path.startswith(heads[place]):
            place = self._up[place]
        winner = self._best[place] if place >= 0 else _NONE
        if self._exact:
            exact = self._exact.get(path)
            if exact is not None and exact[0] > winner[0]:
                winner = exact
        if place >= 0 and self._wild:
            place = self._wild_at[place]
            while place >= 0:
                winner = self._wild[place].better(path, winner)
                above = self._up[place]
                place = self._wild_at[above] if above >= 0 else -1
        if winner[0] & 1 == 0 and path == "/robots.txt":
            return _NONE  # always allowed, whatever the file says (RFC 9309, 2.2.2)
        return winner
