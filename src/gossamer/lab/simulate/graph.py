"""Link graphs: read from a file, or computed from the simulated web; and their PageRank.

A graph file is plain text or gzip: the number of pages, then a line of links for each of them. The graph of the
simulated web has all its URLs except those that robots.txt disallows. `pagerank` is the
measure of orderings. Hot: benchmarks/bench_orderings.py.
"""

import gzip
import re
import zlib
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO

from gossamer.errors import UsageError
from gossamer.filter.domains import registrable_domain
from gossamer.lab.simweb.config import SimWebConfig
from gossamer.lab.simweb.graph import Place
from gossamer.lab.simweb.hosts import Kind, url_of
from gossamer.lab.simweb.web import SimWeb
from gossamer.model.units import HostKey


@dataclass(frozen=True, slots=True)
class LinkGraph:
    """A link graph. Pages are numbered from 0, and all numbers are in arrays.

    The links of page p are `targets[starts[p]:starts[p + 1]]`.

    Invariants: no page links to itself, none links to another twice; every page has a site and every site a suffix.
    """

    name: str
    starts: Sequence[int]
    targets: Sequence[int]
    site_of: Sequence[int]  # by page
    suffix_of: Sequence[int]  # by site: the second-level suffix its name ends in
    urls: Sequence[str] | None = None  # by page, if known
    seeds: Sequence[int] = ()  # the pages that a crawl started from, if known
    self_links: int = 0  # links of pages to themselves that were left out
    domain_of: Sequence[int] = ()  # by site: the number of its registrable domain; empty: each is its own

    @property
    def pages(self) -> int:
        return len(self.starts) - 1

    @property
    def links(self) -> int:
        return len(self.targets)

    @property
    def sites(self) -> int:
        return len(self.suffix_of)

    def links_of(self, page: int) -> Sequence[int]:
        return self.targets[self.starts[page] : self.starts[page + 1]]


def make_graph(
    name: str,
    links: Iterable[Iterable[int]],
    site_of: Sequence[int],
    *,
    suffix_of: Sequence[int] | None = None,
    urls: Sequence[str] | None = None,
    seeds: Sequence[int] = (),
) -> LinkGraph:
    """A graph from the links of each page in turn. Self links and repeated links are left out; order is kept.

    Without `suffix_of` all sites have the same suffix. Raises ValueError for a link or a site that does not exist.
    """
    starts, targets = array("q", [0]), array("q")
    self_links = 0
    for page, raw in enumerate(links):
        own = dict.fromkeys(raw)
        if page in own:
            del own[page]
            self_links += 1
        targets.extend(own)
        starts.append(len(targets))
    pages = len(starts) - 1
    if targets and not 0 <= min(targets) <= max(targets) < pages:
        raise ValueError(f"link to page {max(targets)}, but there are only {pages} pages")
    if len(site_of) != pages:
        raise ValueError(f"{pages} pages, but sites for {len(site_of)}")
    suffixes = array("q", suffix_of if suffix_of is not None else [0] * (max(site_of, default=-1) + 1))
    return LinkGraph(name, starts, targets, array("q", site_of), suffixes, urls, seeds, self_links)


def with_domains(graph: LinkGraph) -> LinkGraph:
    """The same graph with the registrable domains of its sites, which are hosts. Without URLs, every site stays its own
    domain."""
    if graph.urls is None:
        return graph
    hosts: dict[int, HostKey] = {}
    for site, url in zip(graph.site_of, graph.urls, strict=True):
        if site not in hosts:
            hosts[site] = HostKey(url.split("/", 3)[2].partition(":")[0])
    numbers: dict[str, int] = {}
    domains = [registrable_domain(hosts[site]) if site in hosts else f"#{site}" for site in range(graph.sites)]
    return replace(graph, domain_of=[numbers.setdefault(domain, len(numbers)) for domain in domains])


def without_urls(graph: LinkGraph) -> LinkGraph:
    """The same graph, as if its URLs were not known."""
    return replace(graph, urls=None, domain_of=())


_GZIP = b"\x1f\x8b"
_URL = re.compile(r"[a-z]+://[^/]+/")
_ENDINGS = (".gz", ".graph-txt")


def read_graph(path: Path, sites: Path | None = None) -> LinkGraph:
    """The graph of a file; its sites are given by the first page of each, one number per line.

    Without `sites` the file `NAME.site-starts.txt` next to the graph is used; if there is none, all pages are of one
    site. The URLs of its pages, one per line, are read from `NAME.urls.gz` or `NAME.urls` next to the graph, if there
    is such a file. Raises UsageError with the file and the line that is invalid.
    """
    try:
        with _open(path) as lines:
            pages = _number_of_pages(path, lines.readline())
            starts = _site_starts(sites or _default_sites(path), pages)
            site_of = array("q", (bisect_right(starts, page) - 1 for page in range(pages)))
            return make_graph(_stem(path), _links(path, lines, pages), site_of, urls=_urls(path, pages))
    except (OSError, EOFError, zlib.error) as error:
        raise UsageError(f"cannot read the graph {path}: {getattr(error, 'strerror', None) or error}") from error


def _open(path: Path) -> IO[bytes] | gzip.GzipFile:
    with path.open("rb") as file:
        packed = file.read(2) == _GZIP
    return gzip.open(path, "rb") if packed else path.open("rb")


def _number_of_pages(path: Path, line: bytes) -> int:
    text = line.strip()
    if not text.isdigit() or int(text) == 0:
        raise UsageError(f"{path}: the first line must be the number of pages, not {text[:40].decode('latin-1')!r}")
    return int(text)


def _links(path: Path, lines: IO[bytes] | gzip.GzipFile, pages: int) -> Iterator[list[int]]:
    for page in range(pages):
        line = lines.readline()
        if not line:
            raise UsageError(f"{path}: ends after {page} of {pages} pages")
        try:
            links = list(map(int, line.split()))
        except ValueError:
            raise UsageError(f"{path}: line {page + 2} is not a list of page numbers") from None
        if links and not 0 <= min(links) <= max(links) < pages:
            raise UsageError(f"{path}: line {page + 2} links to a page that does not exist")
        yield links
    # Also verifies the checksum of a gzip file.
    if lines.read().strip():
        raise UsageError(f"{path}: has more lines than {pages} pages")


def _site_starts(path: Path | None, pages: int) -> list[int]:
    if path is None:
        return [0]
    try:
        starts = [int(line) for line in path.read_text(encoding="ascii").split()]
    except (ValueError, OSError) as error:
        raise UsageError(f"cannot read the sites {path}: {getattr(error, 'strerror', None) or error}") from error
    if not starts or starts[0] != 0 or starts != sorted(set(starts)) or starts[-1] >= pages:
        raise UsageError(f"{path}: first pages of sites must increase from 0 and stay below {pages}")
    return starts


def _urls(graph: Path, pages: int) -> list[str] | None:
    """The URLs next to a graph, if there are any."""
    for path in (graph.with_name(f"{_stem(graph)}.urls.gz"), graph.with_name(f"{_stem(graph)}.urls")):
        if path.is_file():
            break
    else:
        return None
    try:
        with _open(path) as lines:
            urls = [line.strip().decode() for line in lines]
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read the URLs {path}: {getattr(error, 'strerror', None) or error}") from error
    if len(urls) != pages:
        raise UsageError(f"{path}: has {len(urls)} lines, but the graph has {pages} pages")
    for number, url in enumerate(urls, 1):
        if not _URL.match(url):
            raise UsageError(f"{path}: line {number}: {url[:80]!r} is not an absolute URL")
    return urls


def _stem(path: Path) -> str:
    name = path.name
    for ending in _ENDINGS:
        name = name.removesuffix(ending)
    return name


def _default_sites(path: Path) -> Path | None:
    sites = path.with_name(f"{_stem(path)}.site-starts.txt")
    return sites if sites.is_file() else None


AGENT = "gossamer"


def graph_of_web(config: SimWebConfig) -> LinkGraph:
    """Every URL that a correct crawl would request, with the links that it would find there. A redirect is one link.

    Sites are hosts. The suffix is the last but one label of a host's name, so the hosts of one cluster share it.
    """
    web = SimWeb(config)
    places = [
        (host, page)
        for host in web.hosts
        for page in range(host.pages)
        if not host.robots.forbids(AGENT, host.family(page))
    ]
    number_of = {host.first_page + page: number for number, (host, page) in enumerate(places)}

    def numbers(targets: Iterator[Place]) -> list[int]:
        found = (number_of.get(host.first_page + page) for host, page in targets)
        return [number for number in found if number is not None]

    suffixes: dict[str, int] = {}
    labels = [str(host.name).split(".")[-2] for host in web.hosts]
    return make_graph(
        f"simweb-{config.hosts}x{config.pages}-{config.seed}",
        (numbers(_links_of_page(web, place)) for place in places),
        [host.number for host, _ in places],
        suffix_of=[suffixes.setdefault(label, len(suffixes)) for label in labels],
        urls=[url_of(host, page) for host, page in places],
    )


def _links_of_page(web: SimWeb, place: Place) -> Iterator[Place]:
    """In document order: the navigation bar, the host's own pages, other hosts."""
    host, page = place
    match host.kind(page):
        case Kind.MISSING:
            return
        case Kind.REDIRECT:
            yield web.graph.redirect(host, page).target
        case Kind.DUPLICATE:
            yield from web.graph.duplicate_links(web.graph.duplicate_group(host, page))
        case _:
            inside, outside = web.graph.links(host, page)
            yield from ((host, number) for number in (*web.graph.nav(host), *inside))
            yield from outside


DAMPING = 0.85
_MAX_ROUNDS = 200


def pagerank(graph: LinkGraph, *, damping: float = DAMPING, tolerance: float = 1e-6) -> Sequence[float]:
    """The PageRank of every page; the sum is 1.

    A page without links leads to every page with the same probability, and so does the random jump. Ends when an
    iteration changes all ranks together by less than `tolerance`, or after 200 iterations.
    """
    pages = graph.pages
    linking = [(page, links) for page in range(pages) if (links := graph.links_of(page))]
    dead_ends = [page for page in range(pages) if graph.starts[page] == graph.starts[page + 1]]
    ranks = [1.0 / pages] * pages
    for _ in range(_MAX_ROUNDS):
        lost = sum(map(ranks.__getitem__, dead_ends))
        fresh = [(1.0 - damping + damping * lost) / pages] * pages
        for page, links in linking:
            share = damping * ranks[page] / len(links)
            for target in links:
                fresh[target] += share
        change = sum(map(abs, map(float.__sub__, fresh, ranks)))
        ranks = fresh
        if change < tolerance:
            break
    return ranks
