"""Hot: every link of a page passes here (benchmarks/bench_simweb.py). A page's number as a path, and back."""

from gossamer.simweb.hosts import HostPlan
from gossamer.simweb.robots import FAMILIES
from gossamer.simweb.words import SECTIONS, SLUGS

_DIGITS = "0123456789"
_NO_DIGITS = "".join(chr(c) for c in range(33, 127) if chr(c) not in _DIGITS)
_MANY_SECTIONS = len(SECTIONS)
_MANY_SLUGS = len(SLUGS)
_QUERY_STYLE = 7


def path_of(host: HostPlan, page: int) -> str:
    """Path and query of a page. Distinct for distinct pages, and it always holds the number in digits."""
    if page == 0:
        return "/"
    mixed = (page * 0x9E3779B1 ^ host.salt) & 0xFFFFFFFF
    section = SECTIONS[(mixed >> 4) % _MANY_SECTIONS]
    if page >= host.missing_end:
        family = host.family(page)
        assert family is not None
        return FAMILIES[family].format(word=SLUGS[(mixed >> 9) % _MANY_SLUGS], page=page, section=section)
    style = host.path_style
    if style < 4:
        first, second = SLUGS[(mixed >> 9) % _MANY_SLUGS], SLUGS[(mixed >> 19) % _MANY_SLUGS]
        return f"/{section}/{first}-{second}-{page}.html"
    if style < 6:
        return f"/{section}/{SLUGS[(mixed >> 9) % _MANY_SLUGS]}/{page}/"
    if style < _QUERY_STYLE:
        return f"/{SLUGS[host.salt % _MANY_SLUGS]}/{section}/{SLUGS[(mixed >> 9) % _MANY_SLUGS]}-{page}"
    return f"/view?section={section}&id={page}"


def number_of(host: HostPlan, target: str) -> int | None:
    """The page at `target` (path and query as requested), or None where the host never had one."""
    if target == "/":
        return 0
    # The last run of digits is the number; that the rest fits is checked by making the path anew.
    upto = target.rstrip(_NO_DIGITS)
    digits = upto[len(upto.rstrip(_DIGITS)) :]
    if not digits or len(digits) > 12:
        return None
    page = int(digits)
    return page if 0 < page < host.pages and path_of(host, page) == target else None


def url_of(host: HostPlan, page: int) -> str:
    """The absolute URL in canonical form."""
    return host.base + path_of(host, page)


class RelativeTo:
    """Writes links relative to the directory of one page. Not escaped for HTML."""

    __slots__ = ("_directory", "_up")

    def __init__(self, source: str) -> None:
        self._directory = source[: source.partition("?")[0].rindex("/") + 1]
        self._up = "../" * (self._directory.count("/") - 1)

    def href(self, target: str) -> str:
        """`target`, a path of the same host, as seen from the page."""
        directory = self._directory
        if self._up and target.startswith(directory) and target != directory:
            return target[len(directory) :]
        return self._up + target[1:] or "./"
