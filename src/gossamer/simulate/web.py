"""The link graph of the simulated web: all its URLs but those that robots.txt closes to us."""

from collections.abc import Iterator

from gossamer.simulate.graph import LinkGraph, make_graph
from gossamer.simweb.config import SimWebConfig
from gossamer.simweb.graph import Place
from gossamer.simweb.hosts import Kind
from gossamer.simweb.paths import url_of
from gossamer.simweb.web import SimWeb

AGENT = "gossamer"


def graph_of_web(config: SimWebConfig) -> LinkGraph:
    """Every URL a correct crawl would request, with the links that it would find there. A redirect is one link.

    Sites are hosts. A suffix is the last but one label of a host's name (document 001), so the
    hosts of one cluster share it.
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
        (numbers(_links(web, place)) for place in places),
        [host.number for host, _ in places],
        suffix_of=[suffixes.setdefault(label, len(suffixes)) for label in labels],
        urls=[url_of(host, page) for host, page in places],
    )


def _links(web: SimWeb, place: Place) -> Iterator[Place]:
    """In the order in which they stand on the page: the navigation bar, the host's own pages, other hosts."""
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
