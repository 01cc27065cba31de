"""The `srcset` attribute of images: candidates with their width or density, as the HTML standard parses it."""

import re
from typing import NamedTuple

_SPACE = "\t\n\f\r "
# White space and commas, then everything up to the next white space. Possessive: no input is read twice.
_URL = re.compile(r"[\t\n\f\r ,]*+([^\t\n\f\r ]++)")
# The descriptors end at a comma outside of parentheses; an open parenthesis without its end reaches to the end.
_DESCRIPTORS = re.compile(r"((?:[^,(]++|\([^)]*+(?:\)|\Z))*+)(?:,|\Z)")
_DESCRIPTOR = re.compile(r"(?:[^\t\n\f\r (]++|\([^)]*+(?:\)|\Z))++")
_INTEGER = re.compile(r"[0-9]+").fullmatch
_FLOAT = re.compile(r"-?(?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?").fullmatch

_MOST_CANDIDATES = 200
_MOST_DIGITS = 300


class Candidate(NamedTuple):
    """One image of a set. Its address is as written."""

    url: str
    density: float | None = None
    width: int | None = None


def srcset_candidates(value: str) -> list[Candidate]:
    """The images that an attribute names, in order, those with broken descriptors left out; 200 at most."""
    candidates: list[Candidate] = []
    position = 0
    while len(candidates) < _MOST_CANDIDATES and (match := _URL.match(value, position)) is not None:
        url = match[1]
        position = match.end()
        if url.endswith(","):
            candidates.append(Candidate(url.rstrip(",")))
            continue
        described = _DESCRIPTORS.match(value, position)
        assert described is not None, "the expression matches the empty string before the end"
        position = described.end()
        found = _described(url, _DESCRIPTOR.findall(described[1]))
        if found is not None:
            candidates.append(found)
    return candidates


def _described(url: str, descriptors: list[str]) -> Candidate | None:
    width: int | None = None
    density: float | None = None
    height: int | None = None
    for descriptor in descriptors:
        number, unit = descriptor[:-1], descriptor[-1]
        if len(number) > _MOST_DIGITS:
            return None
        if unit == "w" and _INTEGER(number) and width is None and density is None and int(number) > 0:
            width = int(number)
        elif unit == "x" and _FLOAT(number) and width is density is height is None and float(number) >= 0:
            density = float(number)
        elif unit == "h" and _INTEGER(number) and height is None and density is None and int(number) > 0:
            height = int(number)
        else:
            return None
    if height is not None and width is None:
        return None
    return Candidate(url, density, width)
