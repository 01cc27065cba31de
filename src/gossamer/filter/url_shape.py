"""The shape of a URL: its structure without names and numbers. Hot: benchmarks/bench_traps.py.

`/article/17` and `/article/18` have the same shape, `/article/#`; so have all months of a calendar and all pages that a
generator invents. Every shape of a host has a budget (`trap_budget`), at two levels:

* *fine*: up to two leading directories by name, the kinds of all further segments, the names of the parameters;
* *coarse*: only the kinds (with a query: the script, whatever its parameters). If every URL has a fine shape of its
  own, as on a host of random words, the coarse one collects them.

The depth of a path is not part of its shape: otherwise a growing path would get a new budget at each level.
"""

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
