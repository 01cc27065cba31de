"""robots.txt rules, from many patterns to one verdict. Hot: benchmarks/bench_robots.py.

**Normal form.** RFC 9309, 2.2.2, compares octets after both sides were normalised: octets outside US-ASCII are
percent-encoded, unreserved characters are not, reserved ones stay as they were written. Beyond the RFC:
  * `%2A` and `%24` become a literal `*` and `$`, as in the RFC's examples (2.2.3), but only after a pattern was split
    at its wildcards, so that they never turn into one;
  * characters that no URI may contain (space, `<`, `|` ...) are treated as if they had been encoded;
  * hexadecimal digits are upper case.

Text is handled as Latin-1, one character per octet, so that bytes that are not UTF-8 compare like any others.

**Verdict.** The most specific rule wins, that is the one with the most octets; in a tie, Allow (RFC 9309, 2.2.2). Rules
are not tried one after the other:
  * Every rule has a literal head: everything up to the first star. The heads are in a sorted list, each with a link to
    the longest other head that is its prefix. One bisection and a walk along these links find all heads that begin the
    path.
  * A rule without wildcards is decided by its head, so each head knows the best such rule on its chain.
  * Rules with wildcards are attached to their head (`WildRules`) and are tried only while they could still beat the
    best rule known.

**Wildcards.** The pieces of a pattern between its stars are searched from left to right. Taking the first match of a
piece leaves the most room for the rest, so there is no backtracking: at most one search per piece, linear in pattern
plus path. Most rules do not match most paths, so each has a `need`: a few octets that the path must contain. If many
rules share a head, they are found by the rarest three octets of their longest piece instead of being tried in turn (ADR
3).
"""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from typing import Final, NamedTuple

from gossamer.model.units import Seconds

_UNRESERVED = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"
_RESERVED = "!#$&'()*+,/:;=?@[]"

# All characters that need no encoding; "%" is missing because it may begin an escape.
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
    """The normal form of Latin-1 text, one character per octet. A `%` that does not begin an escape stays."""
    return octets if is_normal(octets) else _rewrite(_normal_form, octets)


def normal_path(path: str) -> str:
    """The normal form of a path with query, as found in a URL. Never raises."""
    if is_normal(path):
        return path
    if not path.isascii():
        path = path.encode("utf-8", "surrogatepass").decode("latin-1")
    return _rewrite(_normal_form, path)


def path_of(url: str) -> str:
    """The part of a URL that robots rules apply to: path, parameters and query; `/` if there is none."""
    found = _url_path(url)
    path = found[1] if found else None
    if not path:
        return "/"
    return path if path[0] == "/" else "/" + path


class Pattern(NamedTuple):
    """The path of a rule, split at its stars. It matches if the path begins with `head`, contains the pieces of
    `middle` in this order after it and, unless `tail` is None, ends with `tail` after them.

    A pattern without wildcards is its head alone; `exact` means that the head must be the whole path. `length` is the
    number of octets of the pattern, wildcards included: the longer, the more specific.
    """

    head: str
    middle: tuple[str, ...]
    tail: str | None
    exact: bool
    length: int


def read_pattern(octets: str) -> Pattern:
    """Split the path of a rule. `$` is special only at the end, a star anywhere."""
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
    # A star at the end, anchored or not, has no effect.
    if last and anchored:
        tail = last
    elif last:
        middle.append(last)
    return Pattern(head, tuple(middle), tail, False, length)


_Wild = tuple[int, str, tuple[str, ...], str | None, int]
"""rank, need, middle, tail, number of the rule"""

_NEED: Final = 8  # octets: enough to distinguish most rules, few enough that no path makes the search slow
_GRAM: Final = 3
_MANY: Final = 24  # rules: from this number on, indexing the path is cheaper than trying them in turn

# CPython searches short texts by trying each position, which a crafted piece turns into quadratic time.
# Texts from this size on are searched in linear time, skipping what cannot match; so a long
# piece is searched for in a padded path.
_LONG_PIECE: Final = 32
_LONG_PATH: Final = 256
_PADDING: Final = "\0" * 30_000  # no piece contains a NUL: the normal form has %00


class WildRules:
    """Rules with wildcards that share a head. Fill with `add`, call `finish` once, then query."""

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
        """Sort the rules; if there are many, index them by their rarest gram."""
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
                return rank, number  # the following ones are less specific
        return winner


def _matches(path: str, at: int, middle: tuple[str, ...], tail: str | None) -> bool:
    """Whether the pieces follow one another in `path` from `at` on, and `tail` ends it after them."""
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
"""One Allow or Disallow line: whether it is Allow; its path, one Latin-1 character per octet, not empty; the whole line
as text; its number. A bare tuple, because files contain up to 64,000 of them."""


class RobotsVerdict(NamedTuple):
    """Whether the path may be fetched, and the line of the file (from 1) that decided; None if none did."""

    allowed: bool
    line: str | None = None
    line_number: int | None = None


_ALLOWED = RobotsVerdict(True)
_NONE = (-1, -1)


class RobotsRules:
    """The rules of one robots.txt that apply to us. Immutable; safe to share.

    `crawl_delay` is the file's (never negative, always finite) or None. `sitemaps` are the addresses as written, of all
    groups; `group_found` says whether the file has a group for us or for everybody.
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
        # A rule is (rank, index in `lines`) with rank = 2 * length + allow: the greatest rank wins.
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
        """Sort the heads and link each to the longest head that is its prefix."""
        heads = sorted(plain.keys() | wild.keys()) if wild else sorted(plain)
        up: list[int] = []
        best: list[tuple[int, int]] = []
        wild_at: list[int] = []  # the nearest head with wildcard rules along the chain
        self._heads, self._up, self._best, self._wild_at = heads, up, best, wild_at
        self._wild: dict[int, WildRules] = {}
        above = -1
        for place, head in enumerate(heads):
            # A head that is not a prefix of this one is not a prefix of later ones: the list is sorted.
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
        """Whether this path may be fetched. The same answer as `verdict`, without the line."""
        return self._winner(path_and_query)[0] & 1 == 1

    def verdict(self, path_and_query: str) -> RobotsVerdict:
        """Whether this path (beginning with `/`, with query, without fragment) may be fetched, and which line
        decides."""
        rank, number = self._winner(path_and_query)
        if number < 0:
            return _ALLOWED
        _, _, text, line_number = self._lines[number]
        return RobotsVerdict(rank & 1 == 1, text.decode("utf-8", "replace").strip(), line_number)

    def _winner(self, path: str) -> tuple[int, int]:
        """The rule that decides; (-1, -1), whose rank is odd and so allows, if none does."""
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
            return _NONE  # always allowed, regardless of the file (RFC 9309, 2.2.2)
        return winner
