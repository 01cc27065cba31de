"""Hot (benchmarks/bench_robots.py): the rules with wildcards that share one literal head.

A pattern's pieces between the stars are searched from left to right. Taking the first place where a piece fits leaves
the most room for the rest, so nothing is ever tried twice: at most one search per piece, linear in pattern plus path.

Most rules do not match most paths, so each has a `need`: a few octets the path must hold. Where many rules share a head
they are found by the rarest three octets of their longest piece instead of being tried in turn. ADR 3.

Hot (benchmarks/bench_robots.py): many rules, one verdict.

The most specific rule wins, that is the one with the most octets; between equals, Allow (RFC 9309, 2.2.2).
Rules are not tried one after the other:

  * Every rule has a literal head (all of it up to the first star). The heads stand in a sorted list, each with
    the nearest other head that is a prefix of it. One bisection and a walk up that chain find the longest head
    that begins the path; all heads that do so are further up the same chain.
  * A rule without wildcards is decided by its head, so each head knows the best such rule on its chain.
  * Rules with wildcards hang at their head (`wild.py`) and are tried only while they could still beat the
    best rule known.

Hot (benchmarks/bench_robots.py): the normal form of paths, and one rule's pattern taken apart.

RFC 9309, 2.2.2, compares octets after both sides were brought to one form: octets outside US-ASCII are
percent-encoded, unreserved characters are not, reserved ones stay as they were written. Three readings of ours:
  * `%2A` and `%24` become a literal `*` and `$`, as the RFC's own examples ask (2.2.3); this happens only after
    a pattern was cut at its wildcards, so they never turn into one;
  * characters no URI may hold (space, `<`, `|` ...) count as if they had been encoded;
  * hexadecimal digits are upper case.
Text is handled as Latin-1, one character an octet, so that bytes which are not UTF-8 compare like any others.
"""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from typing import Final, NamedTuple

from gossamer.model.units import Seconds

_UNRESERVED = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"
_RESERVED = "!#$&'()*+,/:;=?@[]"

# All characters that stand for themselves; "%" is missing because it may begin an escape.
is_normal = re.compile(f"[{re.escape(_UNRESERVED + _RESERVED)}]*").fullmatch
_rewrite = re.compile(f"%[0-9A-Fa-f]{{2}}|[^%{re.escape(_UNRESERVED + _RESERVED)}]").sub

_url_path = re.compile(r"(?:[^/?;#]*://|//)?[^/?;#]*([/?;][^#]*)?").match


def _normal_forms() -> dict[str, str]:
    forms = {chr(octet): f"%{octet:02X}" for octet in range(256)}
    for octet in range(256):
        literal = chr(octet) in _UNRESERVED or chr(octet) in "*$"
        upper = f"%{octet:02X}"
        for escape in {upper, upper.lower(), f"%{upper[1]}{upper[2].lower()}", f"%{upper[1].lower()}{upper[2]}"}:
            forms[escape] = chr(octet) if literal else upper
    return forms


_NORMAL_FORMS = _normal_forms()


def _normal_form(found: re.Match[str]) -> str:
    return _NORMAL_FORMS[found[0]]


def normal_octets(octets: str) -> str:
    """The normal form of Latin-1 text, each character one octet. A `%` that begins no escape stays."""
    return octets if is_normal(octets) else _rewrite(_normal_form, octets)


def normal_path(path: str) -> str:
    """The normal form of a path with query, as found in a URL. Never raises."""
    if is_normal(path):
        return path
    if not path.isascii():
        path = path.encode("utf-8", "surrogatepass").decode("latin-1")
    return _rewrite(_normal_form, path)


def path_of(url: str) -> str:
    """The part of a URL that robots rules speak of: path, parameters and query. `/` where there is none."""
    found = _url_path(url)
    path = found[1] if found else None
    if not path:
        return "/"
    return path if path[0] == "/" else "/" + path


class Pattern(NamedTuple):
    """A rule's path, cut at its stars: it matches when `head` begins the path, `middle` follow in this order
    anywhere after it and, unless `tail` is None, `tail` ends the path behind them all.

    A pattern without wildcards is its head alone; `exact` says that the head must be the whole path.
    `length` is the number of octets of the pattern, wildcards included: the longer the more specific.
    """

    head: str
    middle: tuple[str, ...]
    tail: str | None
    exact: bool
    length: int


def read_pattern(octets: str) -> Pattern:
    """Take a rule's path apart. `$` is special at the end only; a star anywhere."""
    anchored = octets.endswith("$")
    body = octets[:-1] if anchored else octets
    if "*" not in body:
        head = normal_octets(body)
        return Pattern(head, (), None, anchored, len(head) + anchored)
    pieces = body.split("*")
    if not is_normal(body):
        pieces = [normal_octets(piece) for piece in pieces]
        length = sum(map(len, pieces)) + len(pieces) - 1 + anchored
    else:
        length = len(octets)
    head, *middle, last = pieces
    if "" in middle:
        middle = [piece for piece in middle if piece]
    tail: str | None = None
    # A star at the end, anchored or not, says nothing that the absence of an end does not say.
    if last and anchored:
        tail = last
    elif last:
        middle.append(last)
    return Pattern(head, tuple(middle), tail, False, length)


_Wild = tuple[int, str, tuple[str, ...], str | None, int]
"""rank, need, middle, tail, number of the rule"""

_NEED: Final = 8  # octets: enough to tell most rules apart, few enough that no path makes the search slow
_GRAM: Final = 3
_MANY: Final = 24  # rules: from here on, taking the path apart is cheaper than trying them in turn

# CPython searches short texts by trying place after place, which a crafted piece turns into length times length.
# Texts from this size on it searches in linear time, and skips over what the piece does not hold; so a long
# piece is looked for in a path that was made long.
_LONG_PIECE: Final = 32
_LONG_PATH: Final = 256
_PADDING: Final = "\0" * 30_000  # no piece holds a NUL: normal form writes %00


class WildRules:
    """Rules whose patterns begin alike and have stars. Fill with `add`, then `finish` once, then ask."""

    __slots__ = ("_by_gram", "_head_length", "_in_turn")

    def __init__(self, head_length: int) -> None:
        self._head_length = head_length
        self._in_turn: list[_Wild] = []  # the most specific first
        self._by_gram: dict[str, list[_Wild]] = {}

    def add(self, pattern: Pattern, rank: int, number: int) -> None:
        _, middle, tail, _, _ = pattern
        pieces = middle if tail is None else (*middle, tail)
        need = (pieces[0] if len(pieces) == 1 else max(pieces, key=len))[-_NEED:]
        self._in_turn.append((rank, need, middle, tail, number))

    def finish(self) -> None:
        """Sort, and where there are many rules, file them by their rarest gram."""
        rules = sorted(self._in_turn, key=_rank, reverse=True)
        self._in_turn = rules
        if len(rules) < _MANY:
            return
        grams = [_grams(need) for _, need, _, _, _ in rules]
        common = Counter(gram for found in grams for gram in found)
        self._in_turn = []
        for rule, found in zip(rules, grams, strict=True):
            if found:
                self._by_gram.setdefault(min(found, key=common.__getitem__), []).append(rule)
            else:
                self._in_turn.append(rule)

    def better(self, path: str, winner: tuple[int, int]) -> tuple[int, int]:
        """The more specific of `winner` and the best rule here that matches. The head is known to match."""
        winner = self._try(self._in_turn, path, winner)
        if self._by_gram:
            for gram in self._by_gram.keys() & _grams(path):
                winner = self._try(self._by_gram[gram], path, winner)
        return winner

    def _try(self, rules: list[_Wild], path: str, winner: tuple[int, int]) -> tuple[int, int]:
        best = winner[0]
        for rank, need, middle, tail, number in rules:
            if rank <= best:
                break
            if need in path and _matches(path, self._head_length, middle, tail):
                return rank, number  # those that follow are less specific
        return winner


def _matches(path: str, at: int, middle: tuple[str, ...], tail: str | None) -> bool:
    """Do the pieces follow one another in `path` from `at` on, and does `tail` end it behind them?"""
    for piece in middle:
        if len(piece) >= _LONG_PIECE and len(path) >= _LONG_PATH:
            at = (path + _PADDING).find(piece, at)
        else:
            at = path.find(piece, at)
        if at < 0:
            return False
        at += len(piece)
    return tail is None or (len(path) - len(tail) >= at and path.endswith(tail))


def _grams(text: str) -> set[str]:
    return {text[at : at + _GRAM] for at in range(len(text) - _GRAM + 1)}


def _rank(rule: _Wild) -> int:
    return rule[0]


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
