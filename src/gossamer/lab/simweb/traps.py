"""Traps: hosts whose pages never end. Each answers whatever it is asked, as a function of host and target alone.

Every kind stands on a domain of its own, `trap-KIND` in the web's zone, and has beside the trap a few honest pages
(`/about/N`), so that a crawler that gives the whole host up is found out.
"""

import re
from collections.abc import Callable
from datetime import date, timedelta
from html import escape
from typing import NamedTuple

from gossamer.lab.simweb.chance import hash64
from gossamer.lab.simweb.words import SECTIONS, SLUGS, paragraphs

HONEST_PAGES = 12
"""Beside the trap, on each of its hosts (but those of endless subdomains)."""

_FACETS = 10
_VALUES = 10
_REAL_PAGES = 40  # of the hosts whose endless URLs show a few real pages


class TrapPage(NamedTuple):
    """What stands at a URL: a page's title, text and links; or where it redirects to."""

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
        """Chance that depends on the whole request."""
        return hash64(self.seed, self.host, self.path, self.query, *what)

    def parameters(self) -> dict[str, str]:
        return dict(part.partition("=")[::2] for part in self.query.split("&") if part)


def babble(seed: int, *what: int | str, count: int = 4) -> str:
    """Prose that nobody wrote: different for every `what`."""
    pool = paragraphs(seed)
    return "".join(pool[hash64(seed, "babble", *what, i) % len(pool)].decode() for i in range(count))


def _word(number: int) -> str:
    return f"{SLUGS[number % len(SLUGS)]}{SLUGS[(number >> 8) % len(SLUGS)]}"


# --- the kinds ------------------------------------------------------------------------------------------


def _calendar(asked: TrapRequest) -> TrapPage:
    """A month at a time, for ever in both directions."""
    found = asked.parameters()
    try:
        year, month = int(found.get("y", "2024")), int(found.get("m", "5"))
    except ValueError:
        year, month = 2024, 5
    at = year * 12 + month - 1
    near = [at - 1, at + 1, at - 12, at + 12, at + 120, at - 120]
    days = " ".join(f"<td>{day}</td>" for day in range(1, 31))
    text = f"<h1>Events in {month}/{year}</h1><table><tr>{days}</tr></table><p>There are no events in this month.</p>"
    return TrapPage(f"Calendar {month}/{year}", text, tuple(f"/cal?y={n // 12}&m={n % 12 + 1}" for n in near))


def _dates(asked: TrapRequest) -> TrapPage:
    """The archive of a blog, day by day, whether there was a post or not."""
    found = re.fullmatch(r"/archive/(\d{4})/(\d\d)/(\d\d)/", asked.path)
    day = date(2024, 5, 17)
    if found:
        try:
            day = date(*map(int, found.groups()))
        except ValueError:
            return TrapPage("No such day", "<p>There is no such day.</p>")
    steps = [day + timedelta(days=n) for n in (-1, 1, -7, 7, -31, 31, 365, -365) if 1000 < day.year + n // 365 < 9000]
    text = "<h1>Archive</h1><p>No posts were found for this day. Try the day before, or the day after.</p>"
    return TrapPage(f"Archive of {day}", text, tuple(f"/archive/{d:%Y/%m/%d}/" for d in steps))


def _repeats(asked: TrapRequest) -> TrapPage:
    """A relative link that was meant to be absolute."""
    return TrapPage("Section", f"<p>{babble(asked.seed, asked.path)}</p>", ("a/", "a/b/", "/about/1"))


def _pairs(asked: TrapRequest) -> TrapPage:
    """Two relative links that lead into each other."""
    where = "y/" if asked.path.endswith("/x/") else "x/"
    return TrapPage("Shelf", f"<p>{babble(asked.seed, asked.path)}</p>", (where, f"{where}z/"))


def _growing(asked: TrapRequest) -> TrapPage:
    """Categories within categories: each page has the path so far, and more of it."""
    path = asked.path if asked.path.endswith("/") else asked.path + "/"
    deeper = [f"{path}{SLUGS[asked.draw(i) % 20]}/" for i in range(6)]
    return TrapPage("Browse", f"<h1>Browse</h1><p>Choose a category.</p><p>{escape(path)}</p>", tuple(deeper))


def _sessions(asked: TrapRequest) -> TrapPage:
    """A few pages, under a path that names the visitor: every link another one."""
    found = re.fullmatch(r"/s/[0-9a-f]+/page-(\d+)", asked.path)
    page = int(found[1]) % _REAL_PAGES if found else 0
    links = [f"/s/{asked.draw('id', i):016x}/page-{(page * 3 + i) % _REAL_PAGES}" for i in range(8)]
    return TrapPage(f"Page {page}", babble(asked.seed, asked.host, page), tuple(links))


def _session_parameters(asked: TrapRequest) -> TrapPage:
    """The same in parameters of many names, and in the path as servlets write it."""
    page = int(asked.parameters().get("newsId", "0") or 0) % _REAL_PAGES
    styles = ("/read{0}?newsId={1}&PHPSESSID={2}", "/read?newsId={1}&sid={2}", "/read;jsessionid={2}?newsId={1}")
    links = [styles[i % 3].format("", (page * 3 + i) % _REAL_PAGES, f"{asked.draw('id', i):016x}a1") for i in range(9)]
    return TrapPage(f"News {page}", babble(asked.seed, asked.host, page), tuple(links))


def _orders(asked: TrapRequest) -> TrapPage:
    """Five parameters in every order, and some of them twice."""
    names = sorted({part.partition("=")[0] for part in asked.query.split("&") if part} & set("abcde"))
    links = []
    for i in range(10):
        order = sorted("abcde", key=lambda name, i=i: asked.draw("order", i, name))  # type: ignore[misc]
        parts = [f"{name}=1" for name in order]
        links.append("/list?" + "&".join(parts + parts[: asked.draw(i) % 3]))
    return TrapPage("List", babble(asked.seed, asked.host, len(names)), tuple(links))


def _facets(asked: TrapRequest) -> TrapPage:
    """A list that can be narrowed by ten properties of ten values, in all combinations."""
    chosen = {name: value for name, value in asked.parameters().items() if re.fullmatch(r"f\d", name)}
    links = []
    for i in range(20):
        name, value = f"f{asked.draw('facet', i) % _FACETS}", f"v{asked.draw('value', i) % _VALUES}"
        more = {**chosen, name: value}
        links.append("/products?" + "&".join(f"{key}={more[key]}" for key in sorted(more)))
    items = [asked.draw("item", i) % 200 for i in range(12)]
    text = "".join(
        f"<li><a href='/item/{n}'>{_word(n * 7919)} {_word(n * 104729)}</a>: {n * 3 % 97} pieces</li>" for n in items
    )
    return TrapPage("Products", f"<h1>Products</h1><ul>{text}</ul>", tuple(links))


def _item(asked: TrapRequest) -> TrapPage:
    return TrapPage(f"Item {asked.path}", babble(asked.seed, asked.host, asked.path), ("/",))


def _anything(asked: TrapRequest) -> TrapPage:
    """Any path is there, with the same text and ten new links."""
    links = [f"/{_word(asked.draw('a', i))}/{_word(asked.draw('b', i))}" for i in range(10)]
    return TrapPage("Welcome", "<h1>Welcome</h1><p>This page is under construction. Come back soon.</p>", tuple(links))


def _babbling(asked: TrapRequest) -> TrapPage:
    """The same with another text on each page: a maze for machines."""
    links = [f"/{_word(asked.draw('a', i))}/{_word(asked.draw('b', i))}" for i in range(8)]
    return TrapPage(_word(asked.draw("title")), babble(asked.seed, asked.host, asked.path), tuple(links))


def _subdomains(asked: TrapRequest) -> TrapPage:
    """Any name below the domain is a host, and links to ten others."""
    links = [_other_host(asked, i) for i in range(10)]
    return TrapPage("Parked", "<h1>This domain may be for sale</h1><p>Make an offer.</p>", tuple(links))


def _babbling_subdomains(asked: TrapRequest) -> TrapPage:
    """The same with another text on each host."""
    links = [_other_host(asked, i) for i in range(10)]
    return TrapPage(_word(asked.draw("title")), babble(asked.seed, asked.host), tuple(links))


def _other_host(asked: TrapRequest, i: int) -> str:
    scheme, _, authority = asked.base.partition("://")
    name, colon, port = authority.partition(":")
    domain = ".".join(name.split(".")[-2:])
    return f"{scheme}://h{asked.draw('host', i):x}.{domain}{colon}{port}/"


def _paging(asked: TrapRequest) -> TrapPage:
    """A list whose last page comes again under every higher number."""
    digits = asked.parameters().get("page", "1")
    page = int(digits) if digits.isdigit() and len(digits) < 9 else 1
    shown = min(page, 5)
    return TrapPage(
        f"Results, page {page}",
        babble(asked.seed, asked.host, shown),
        tuple(f"/results?page={page + n}" for n in (1, 2, 3, 5, 8, 13, 21)),
    )


def _redirects(asked: TrapRequest) -> TrapPage:
    """Every page of links leads to redirects, those to further ones, each to an address never used before."""
    if asked.path.startswith("/go/"):
        return TrapPage("", "", (), f"/go/{asked.draw('next'):016x}")
    return TrapPage("Out", babble(asked.seed, asked.path), tuple(f"/go/{asked.draw(i):016x}" for i in range(200)))


def _copies(asked: TrapRequest) -> TrapPage:
    """A page for every number, all of them alike but for it."""
    found = re.fullmatch(r"/offer/(\d{1,9})", asked.path)
    number = int(found[1]) if found else 0
    text = f"<h1>Offer {number}</h1>{babble(asked.seed, asked.host)}<p>Reference {number}. Call now.</p>"
    return TrapPage(f"Offer {number}", text, tuple(f"/offer/{asked.draw(i) % 1_000_000}" for i in range(10)))


def _queries(asked: TrapRequest) -> TrapPage:
    """A search form that offers further searches, and finds the same every time."""
    links = [f"/search?q={_word(asked.draw(i))}&from={asked.draw('n', i) % 50}" for i in range(10)]
    return TrapPage(f"Search {asked.query[:40]}", "<p>Nothing was found. Did you mean one of these?</p>", tuple(links))


def _referrers(asked: TrapRequest) -> TrapPage:
    """A few pages; every link says where it stood, in a parameter that chooses nothing."""
    digits = asked.parameters().get("p", "0")
    page = int(digits) % _REAL_PAGES if digits.isdigit() else 0
    links = [
        f"/page?p={(page * 7 + i) % _REAL_PAGES}&ref={hash64(asked.seed, 'ref', page, i) % 10**8}" for i in range(30)
    ]
    return TrapPage(f"Page {page}", babble(asked.seed, asked.host, page), tuple(links))


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
}
"""Kind -> where its trap begins, and what it shows."""

MANY_HOSTS = frozenset({"hosts", "babblehosts"})
"""Kinds whose domain has a host for every name."""


def trap_page(kind: str, asked: TrapRequest) -> TrapPage:
    """What the trap of that kind shows."""
    start, shows = KINDS[kind]
    if kind not in MANY_HOSTS:
        found = re.fullmatch(r"/about/(\d{1,3})", asked.path)
        if found and 1 <= int(found[1]) <= HONEST_PAGES:
            number = int(found[1])
            section = SECTIONS[number % len(SECTIONS)]
            links = (start, *(f"/about/{n}" for n in range(1, HONEST_PAGES + 1)))
            return TrapPage(f"About our {section}", babble(asked.seed, asked.host, "about", number), links)
        if asked.path == "/" and not asked.query:
            links = (start, *(f"/about/{n}" for n in range(1, HONEST_PAGES + 1)))
            return TrapPage(f"Home of {kind}", babble(asked.seed, asked.host, "home"), links)
        if asked.path == "/out/2" or (kind == "facets" and asked.path.startswith("/item/")):
            return _item(asked)
    return shows(asked)
