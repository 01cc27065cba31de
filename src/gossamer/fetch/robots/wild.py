"""Hot (benchmarks/bench_robots.py): the rules with wildcards that share one literal head.

A pattern's pieces between the stars are searched from left to right. Taking the first place where a piece fits leaves
the most room for the rest, so nothing is ever tried twice: at most one search per piece, linear in pattern plus path.

Most rules do not match most paths, so each has a `need`: a few octets the path must hold. Where many rules share a head
they are found by the rarest three octets of their longest piece instead of being tried in turn. ADR 4.
"""

from collections import Counter
from typing import Final

from gossamer.fetch.robots.pattern import Pattern

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
