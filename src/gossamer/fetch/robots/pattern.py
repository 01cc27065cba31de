"""Hot (benchmarks/bench_robots.py): the normal form of paths, and one rule's pattern taken apart.

RFC 9309, 2.2.2, compares octets after both sides were brought to one form: octets outside US-ASCII are
percent-encoded, unreserved characters are not, reserved ones stay as they were written. Three readings of ours:
  * `%2A` and `%24` become a literal `*` and `$`, as the RFC's own examples ask (2.2.3); this happens only after
    a pattern was cut at its wildcards, so they never turn into one;
  * characters no URI may hold (space, `<`, `|` ...) count as if they had been encoded;
  * hexadecimal digits are upper case.
Text is handled as Latin-1, one character an octet, so that bytes which are not UTF-8 compare like any others.
"""

import re
from typing import NamedTuple

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
