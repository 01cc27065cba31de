"""The shape of a URL: its structure without names and numbers; and the links between the shapes of a host. Hot:
benchmarks/bench_traps.py.

`/article/17` and `/article/18` have the same shape, `/article/#`; so have all months of a calendar and all pages that a
generator invents. Every shape of a host has a budget (`trap_budget`), at two levels:

* *fine*: up to two leading directories by name, the kinds of all further segments, the names of the parameters;
* *coarse*: only the kinds (with a query: the script, whatever its parameters). If every URL has a fine shape of its
  own, as on a host of random words, the coarse one collects them.

The depth of a path is not part of its shape: otherwise a growing path would get a new budget at each level.

A page of one shape that links only to new pages of its shape was generated (`trap_budget`). A host can do the same with
several shapes: pages of `/a/#` link to new pages of `/b/#`, and these to new ones of `/a/#`; or every link is a
redirect to a new page. So links are counted by the shapes they lead from and to (`ShapeLinks`). A pair of shapes
*breeds* if hardly any of its links leads to a known page. Shapes that can reach each other over such pairs are an
*endless set* if each of their pages leads to another new one in it. Pages that people made lead back: an article to its
author, whose page lists the article.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

_NAMED = 2  # leading directories that count by name
_LONGEST_NAME = 24
_LONGEST_ENDING = 5
_TOKEN = 16  # from this length on, letters mixed with digits are an id
_NO_MARKS = str.maketrans("", "", "-_.:,~+")
_MAX_PARAMETERS = 12
_LONGEST_SHAPE = 160


class Shape(NamedTuple):
    """Both levels, as short readable text."""

    fine: str
    coarse: str


def kind_of(segment: str) -> str:
    """`#` for a number or a date, `~` for an id, `a#` for words with a number, `a` for words."""
    bare = segment.translate(_NO_MARKS)
    if bare.isdigit():
        return "#"
    if bare.isalpha():
        return "a"
    if len(bare) >= _TOKEN and len(bare) == len(segment) and bare.isalnum():
        return "~"
    return "a#"


def shape_of(url: str, path_start: int) -> Shape:
    """The shape of a canonical URL whose path begins at `path_start`."""
    path, mark, query = url[path_start + 1 :].partition("?")
    *folders, last = path.split("/")
    if not last and folders:  # a final slash: the directory before it is the page
        last = folders.pop()
    named = []
    for folder in folders[:_NAMED]:
        if not is_name(folder):
            break
        named.append(folder)
    kinds = dict.fromkeys(map(kind_of, folders[len(named) :]))
    stem, dot, ending = last.rpartition(".")
    if not dot or len(ending) > _LONGEST_ENDING or not ending.isalpha():
        stem, ending = last, ""
    script = last if mark and (is_name(stem) or not last) else ""
    if last and not script:
        kinds[kind_of(stem)] = None
    start = "/" + "".join(f"{name}/" for name in named)
    ends = script or "+".join(kinds) + (f".{ending}" if ending else "")
    if mark:
        script_shape = (start + ("+".join(kinds) + "/" if script and kinds else "") + ends)[:_LONGEST_SHAPE]
        names = sorted({part.partition("=")[0] for part in query.split("&", _MAX_PARAMETERS)[:_MAX_PARAMETERS]})
        return Shape(f"{script_shape}?{'&'.join(names)}"[: 2 * _LONGEST_SHAPE], script_shape + "?*")
    if named:
        kinds["a"] = None
    return Shape((start + ends)[:_LONGEST_SHAPE], "/" + "+".join(sorted(kinds)) + "/*")


def is_name(folder: str) -> bool:
    """Whether a directory is distinguished by its name: a word, not an id or a title."""
    return 0 < len(folder) <= _LONGEST_NAME and folder.replace("-", "").replace("_", "").isalpha()


_KNOWN = 0.01  # share of known pages among those that a pair of shapes links to
_MIN_NEW = 3  # links before a pair counts
_NEW_PER_PAGE = 0.9
_MIN_PAGES = 10  # of a set; and one of each of its shapes
_MOST_TARGETS = 32  # shapes that the links of one shape are counted for

Counts = Mapping[str, tuple[int, int]]
"""By shape: links to known and to new pages."""


class ShapeLinks:
    """Counts of the links between a host's shapes, as far as they were examined."""

    __slots__ = ("_links", "_pages", "pages", "pairs")

    def __init__(self) -> None:
        self._pages: dict[str, int] = {}  # pages and redirects examined
        self._links: dict[str, dict[str, tuple[int, int]]] = {}
        self.pages = 0  # all of them
        self.pairs = 0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ShapeLinks) and self.to_plain() == other.to_plain()

    __hash__ = None  # type: ignore[assignment]

    def pages_of(self, shape: str) -> int:
        """How many pages of a shape were examined."""
        return self._pages.get(shape, 0)

    def count(self, shape: str, links: Counts) -> None:
        """Count the links of a page, or a redirect as its only link."""
        self.pages += 1
        self._pages[shape] = self._pages.get(shape, 0) + 1
        targets = self._links.setdefault(shape, {})
        for target, (known, new) in links.items():
            before = targets.get(target)
            if before is not None:
                targets[target] = (before[0] + known, before[1] + new)
            elif len(targets) < _MOST_TARGETS:
                targets[target] = (known, new)
                self.pairs += 1

    def endless_set(self, shape: str) -> frozenset[str]:
        """The endless set of several shapes that `shape` belongs to; empty if there is none."""
        leads_to = {shape}
        waiting = [shape]
        while waiting:
            for target in self._bred_by(waiting.pop()):
                if target not in leads_to:
                    leads_to.add(target)
                    waiting.append(target)
        found = {shape}
        grown = True
        while grown:
            back = {each for each in leads_to - found if not found.isdisjoint(self._bred_by(each))}
            grown = bool(back)
            found |= back
        pages = [self.pages_of(each) for each in found]
        if len(found) < 2 or not all(pages) or sum(pages) < _MIN_PAGES:
            return frozenset()
        new = sum(self._links[each][target][1] for each in found for target in self._bred_by(each) if target in found)
        return frozenset(found) if new >= _NEW_PER_PAGE * sum(pages) else frozenset()

    def _bred_by(self, shape: str) -> Iterator[str]:
        for target, (known, new) in self._links.get(shape, {}).items():
            if new >= _MIN_NEW and known <= _KNOWN * (known + new):
                yield target

    def to_plain(self) -> dict[str, list[object]]:
        """Everything as lists and dictionaries: for each shape its pages, and its links by target."""
        return {shape: [pages, self._links.get(shape, {})] for shape, pages in self._pages.items()}

    @classmethod
    def from_plain(cls, found: Mapping[str, tuple[int, Mapping[str, tuple[int, int]]]]) -> "ShapeLinks":
        """The inverse of `to_plain`, also after JSON made lists of the pairs. Raises ValueError or TypeError."""
        links = cls()
        for shape, (pages, targets) in found.items():
            links._pages[shape] = int(pages)
            links.pages += int(pages)
            links._links[shape] = {target: (int(known), int(new)) for target, (known, new) in targets.items()}
            links.pairs += len(targets)
        return links
