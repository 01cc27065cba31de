"""Traps: hosts with endless pages. Each answers any request, as a function of host and target alone.

Every kind has a domain of its own, `trap-KIND` in the web's zone, and in addition to the trap a few ordinary pages
(`/about/N`), so that a crawler that gives up the whole host is detected.
"""

import re
from collections.abc import Callable
from datetime import date, timedelta
from html import escape
from typing import NamedTuple

from gossamer.lab.simweb.chance import SECTIONS, SLUGS, hash64, paragraphs

HONEST_PAGES = 12
"""Ordinary pages on each host of a trap (except those of endless subdomains)."""

_FACETS = 10
_VALUES = 10
_REAL_PAGES = 40  # of the hosts whose endless URLs lead to a few real pages


class TrapPage(NamedTuple):
    """What is at a URL: a page's title, text and links; or the target of a redirect."""

    title: str
    text: str
    links: tuple[str, ...] = ()
    redirect: str | None = None


class TrapRequest(NamedTuple):
    """A request for a page of a trap."""

    seed: int
    host: str
    base: str  # of the host: scheme, name and port
    path: str
    query: str

    def draw(self, *what: int | str) -> int:
        """A random number that depends on the whole request."""
        return hash64(self.seed, self.host, self.path, self.query, *what)

    def parameters(self) -> dict[str, str]:
        return dict(part.partition("=")[::2] for part in self.query.split("&") if part)


def babble(seed: int, *what: int | str, count: int = 4) -> str:
    """Generated prose: different for every `what`."""
    pool = paragraphs(seed)
    return "".join(pool[hash64(seed, "babble", *what, i) % len(pool)].decode() for i in range(count))


def _word(number: int) -> str:
    return f"{SLUGS[number % len(SLUGS)]}{SLUGS[(number >> 8) % len(SLUGS)]}"


# --- the kinds ------------------------------------------------------------------------------------------


def _calendar(request: TrapRequest) -> TrapPage:
    """A month at a time, for ever in both directions."""
    found = request.parameters()
    try:
        year, month = int(found.get("y", "2024")), int(found.get("m", "5"))
    except ValueError:
        year, month = 2024, 5
    at = year * 12 + month - 1
    near = [at - 1, at + 1, at - 12, at + 12, at + 120, at - 120]
    days = " ".join(f"<td>{day}</td>" for day in range(1, 31))
    text = f"<h1>Events in {month}/{year}</h1><table><tr>{days}</tr></table><p>There are no events in this month.</p>"
    return TrapPage(f"Calendar {month}/{year}", text, tuple(f"/cal?y={n // 12}&m={n % 12 + 1}" for n in near))


def _dates(request: TrapRequest) -> TrapPage:
    """The archive of a blog, day by day, whether there was a post or not."""
    found = re.fullmatch(r"/archive/(\d{4})/(\d\d)/(\d\d)/", request.path)
    day = date(2024, 5, 17)
    if found:
        try:
            day = date(*map(int, found.groups()))
        except ValueError:
            return TrapPage("No such day", "<p>There is no such day.</p>")
    steps = [day + timedelta(days=n) for n in (-1, 1, -7, 7, -31, 31, 365, -365) if 1000 < day.year + n // 365 < 9000]
    text = "<h1>Archive</h1><p>No posts were found for this day. Try the day before, or the day after.</p>"
    return TrapPage(f"Archive of {day}", text, tuple(f"/archive/{d:%Y/%m/%d}/" for d in steps))


def _repeats(request: TrapRequest) -> TrapPage:
    """A relative link that should have been absolute."""
    return TrapPage("Section", f"<p>{babble(request.seed, request.path)}</p>", ("a/", "a/b/", "/about/1"))


def _pairs(request: TrapRequest) -> TrapPage:
    """Two relative links that lead into each other."""
    where = "y/" if request.path.endswith("/x/") else "x/"
    return TrapPage("Shelf", f"<p>{babble(request.seed, request.path)}</p>", (where, f"{where}z/"))


def _growing(request: TrapRequest) -> TrapPage:
    """Categories within categories: each page extends the path so far."""
    path = request.path if request.path.endswith("/") else request.path + "/"
    deeper = [f"{path}{SLUGS[request.draw(i) % 20]}/" for i in range(6)]
    return TrapPage("Browse", f"<h1>Browse</h1><p>Choose a category.</p><p>{escape(path)}</p>", tuple(deeper))


def _sessions(request: TrapRequest) -> TrapPage:
    """A few pages, under a path that contains a session id: a different one in every link."""
    found = re.fullmatch(r"/s/[0-9a-f]+/page-(\d+)", request.path)
    page = int(found[1]) % _REAL_PAGES if found else 0
    links = [f"/s/{request.draw('id', i):016x}/page-{(page * 3 + i) % _REAL_PAGES}" for i in range(8)]
    return TrapPage(f"Page {page}", babble(request.seed, request.host, page), tuple(links))


def _session_parameters(request: TrapRequest) -> TrapPage:
    """The same in parameters of many names, and in the path as Java servlets write it."""
    page = int(request.parameters().get("newsId", "0") or 0) % _REAL_PAGES
    styles = ("/read{0}?newsId={1}&PHPSESSID={2}", "/read?newsId={1}&sid={2}", "/read;jsessionid={2}?newsId={1}")
    links = [
        styles[i % 3].format("", (page * 3 + i) % _REAL_PAGES, f"{request.draw('id', i):016x}a1") for i in range(9)
    ]
    return TrapPage(f"News {page}", babble(request.seed, request.host, page), tuple(links))


def _orders(request: TrapRequest) -> TrapPage:
    """Five parameters in every order, and some of them twice."""
    names = sorted({part.partition("=")[0] for part in request.query.split("&") if part} & set("abcde"))
    links = []
    for i in range(10):
        order = sorted("abcde", key=lambda name, i=i: request.draw("order", i, name))  # type: ignore[misc]
        parts = [f"{name}=1" for name in order]
        links.append("/list?" + "&".join(parts + parts[: request.draw(i) % 3]))
    return TrapPage("List", babble(request.seed, request.host, len(names)), tuple(links))


def _facets(request: TrapRequest) -> TrapPage:
    """A list that can be narrowed by ten properties of ten values, in all combinations."""
    chosen = {name: value for name, value in request.parameters().items() if re.fullmatch(r"f\d", name)}
    links = []
    for i in range(20):
        name, value = f"f{request.draw('facet', i) % _FACETS}", f"v{request.draw('value', i) % _VALUES}"
        more = {**chosen, name: value}
        links.append("/products?" + "&".join(f"{key}={more[key]}" for key in sorted(more)))
    items = [request.draw("item", i) % 200 for i in range(12)]
    text = "".join(
        f"<li><a href='/item/{n}'>{_word(n * 7919)} {_word(n * 104729)}</a>: {n * 3 % 97} pieces</li>" for n in items
    )
    return TrapPage("Products", f"<h1>Products</h1><ul>{text}</ul>", tuple(links))


def _item(request: TrapRequest) -> TrapPage:
    return TrapPage(f"Item {request.path}", babble(request.seed, request.host, request.path), ("/",))


def _anything(request: TrapRequest) -> TrapPage:
    """Any path exists, with the same text and ten new links."""
    links = [f"/{_word(request.draw('a', i))}/{_word(request.draw('b', i))}" for i in range(10)]
    return TrapPage("Welcome", "<h1>Welcome</h1><p>This page is under construction. Come back soon.</p>", tuple(links))


def _babbling(request: TrapRequest) -> TrapPage:
    """The same with a different text on each page: a maze for crawlers."""
    links = [f"/{_word(request.draw('a', i))}/{_word(request.draw('b', i))}" for i in range(8)]
    return TrapPage(_word(request.draw("title")), babble(request.seed, request.host, request.path), tuple(links))


def _subdomains(request: TrapRequest) -> TrapPage:
    """Any name below the domain is a host, and links to ten others."""
    links = [_other_host(request, i) for i in range(10)]
    return TrapPage("Parked", "<h1>This domain may be for sale</h1><p>Make an offer.</p>", tuple(links))


def _babbling_subdomains(request: TrapRequest) -> TrapPage:
    """The same with a different text on each host."""
    links = [_other_host(request, i) for i in range(10)]
    return TrapPage(_word(request.draw("title")), babble(request.seed, request.host), tuple(links))


def _other_host(request: TrapRequest, i: int) -> str:
    scheme, _, authority = request.base.partition("://")
    name, colon, port = authority.partition(":")
    domain = ".".join(name.split(".")[-2:])
    return f"{scheme}://h{request.draw('host', i):x}.{domain}{colon}{port}/"


def _paging(request: TrapRequest) -> TrapPage:
    """A list whose last page is repeated for every higher number."""
    digits = request.parameters().get("page", "1")
    page = int(digits) if digits.isdigit() and len(digits) < 9 else 1
    shown = min(page, 5)
    return TrapPage(
        f"Results, page {page}",
        babble(request.seed, request.host, shown),
        tuple(f"/results?page={page + n}" for n in (1, 2, 3, 5, 8, 13, 21)),
    )


def _redirects(request: TrapRequest) -> TrapPage:
    """Every page links to redirects, and those lead to further ones, each to a new address."""
    if request.path.startswith("/go/"):
        return TrapPage("", "", (), f"/go/{request.draw('next'):016x}")
    return TrapPage("Out", babble(request.seed, request.path), tuple(f"/go/{request.draw(i):016x}" for i in range(200)))


def _copies(request: TrapRequest) -> TrapPage:
    """A page for every number, all of them identical except for the number."""
    found = re.fullmatch(r"/offer/(\d{1,9})", request.path)
    number = int(found[1]) if found else 0
    text = f"<h1>Offer {number}</h1>{babble(request.seed, request.host)}<p>Reference {number}. Call now.</p>"
    return TrapPage(f"Offer {number}", text, tuple(f"/offer/{request.draw(i) % 1_000_000}" for i in range(10)))


def _queries(request: TrapRequest) -> TrapPage:
    """A search form that suggests further searches, and always finds the same."""
    links = [f"/search?q={_word(request.draw(i))}&from={request.draw('n', i) % 50}" for i in range(10)]
    return TrapPage(
        f"Search {request.query[:40]}", "<p>Nothing was found. Did you mean one of these?</p>", tuple(links)
    )


def _referrers(request: TrapRequest) -> TrapPage:
    """A few pages; every link contains its origin in a parameter that has no effect."""
    digits = request.parameters().get("p", "0")
    page = int(digits) % _REAL_PAGES if digits.isdigit() else 0
    links = [
        f"/page?p={(page * 7 + i) % _REAL_PAGES}&ref={hash64(request.seed, 'ref', page, i) % 10**8}" for i in range(30)
    ]
    return TrapPage(f"Page {page}", babble(request.seed, request.host, page), tuple(links))


def _rounds(request: TrapRequest) -> TrapPage:
    """Pages of three shapes that lead in a circle, each time to new ones."""
    shapes = ("/left/{}", "/right?id={}", "/middle/{}.html")
    here = 1 if request.query else 2 if request.path.endswith(".html") else 0
    links = tuple(shapes[(here + 1) % 3].format(request.draw(i) % 10**12) for i in range(3))
    return TrapPage(_word(request.draw("title")), _prose_of(request), (*links, "/about/1"))


def _detours(request: TrapRequest) -> TrapPage:
    """Every link is a redirect to a new page."""
    if request.path.startswith("/go/"):
        return TrapPage("", "", (), f"/page/{request.draw('next') % 10**12}")
    links = tuple(f"/go/{request.draw(i) % 10**12}" for i in range(3))
    return TrapPage(_word(request.draw("title")), _prose_of(request), links)


def _scripts(request: TrapRequest) -> TrapPage:
    """Every link leads to a script that no other link names."""
    links = tuple(f"/{_word(request.draw('a', i))}{_word(request.draw('b', i))}?n={i}" for i in range(4))
    return TrapPage(_word(request.draw("title")), _prose_of(request), links)


def _moved_hosts(request: TrapRequest) -> TrapPage:
    """Any name below the domain is a host: some have a page that links to two others, and those redirect to a third."""
    if request.host.startswith("m"):
        return TrapPage("", "", (), _other_host(request, 0))
    links = tuple(_other_host(request, i).replace("://h", "://m") for i in range(2))
    return TrapPage(_word(request.draw("title")), _prose_of(request), links)


def _prose_of(request: TrapRequest) -> str:
    return babble(request.seed, request.host, request.path, request.query)


KINDS: dict[str, tuple[str, Callable[[TrapRequest], TrapPage]]] = {
    "calendar": ("/cal?y=2024&m=5", _calendar),
    "dates": ("/archive/2024/05/17/", _dates),
    "repeats": ("/a/", _repeats),
    "pairs": ("/x/", _pairs),
    "growing": ("/browse/", _growing),
    "sessions": ("/s/0/page-0", _sessions),
    "sids": ("/read?newsId=0", _session_parameters),
    "orders": ("/list?a=1&b=1&c=1&d=1&e=1", _orders),
    "facets": ("/products", _facets),
    "anything": ("/welcome", _anything),
    "babble": ("/maze/start", _babbling),
    "hosts": ("/", _subdomains),
    "babblehosts": ("/", _babbling_subdomains),
    "paging": ("/results?page=1", _paging),
    "redirects": ("/out/1", _redirects),
    "copies": ("/offer/1", _copies),
    "search": ("/search?q=start", _queries),
    "referrers": ("/page?p=0", _referrers),
    "rounds": ("/left/0", _rounds),
    "detours": ("/page/0", _detours),
    "scripts": ("/start?n=0", _scripts),
    "movedhosts": ("/", _moved_hosts),
}
"""Kind -> where its trap begins, and the function that makes its pages."""

MANY_HOSTS = frozenset({"hosts", "babblehosts", "movedhosts"})
"""Kinds whose domain has a host for every name."""


def trap_page(kind: str, request: TrapRequest) -> TrapPage:
    """The page of a trap of that kind."""
    start, shows = KINDS[kind]
    if kind not in MANY_HOSTS:
        found = re.fullmatch(r"/about/(\d{1,3})", request.path)
        if found and 1 <= int(found[1]) <= HONEST_PAGES:
            number = int(found[1])
            section = SECTIONS[number % len(SECTIONS)]
            links = (start, *(f"/about/{n}" for n in range(1, HONEST_PAGES + 1)))
            return TrapPage(f"About our {section}", babble(request.seed, request.host, "about", number), links)
        if request.path == "/" and not request.query:
            links = (start, *(f"/about/{n}" for n in range(1, HONEST_PAGES + 1)))
            return TrapPage(f"Home of {kind}", babble(request.seed, request.host, "home"), links)
        if request.path == "/out/2" or (kind == "facets" and request.path.startswith("/item/")):
            return _item(request)
    return shows(request)
