"""The hosts of the web: their sizes, names, addresses and behaviour; and the paths of their pages.

Every link of a page passes through `path_of` and `number_of`. Hot: benchmarks/bench_simweb.py.
"""

import itertools
import random
from dataclasses import dataclass, field
from enum import Enum

from gossamer.lab.simweb import robots
from gossamer.lab.simweb.chance import SECTIONS, SLUGS, hash64, uniform
from gossamer.lab.simweb.config import SimWebConfig
from gossamer.lab.simweb.robots import FAMILIES
from gossamer.model.units import HostKey, Seconds

HOSTS_PER_DIRECTORY = 100
"""Home pages listed on each directory page of the portal."""

_SHARED_BY = 3  # hosts per shared address


class Kind(Enum):
    """The kind of a URL. On each host the kinds follow one another in this order."""

    ORDINARY = "ordinary"
    DUPLICATE = "duplicate"
    REDIRECT = "redirect"
    MISSING = "missing"
    RESTRICTED = "restricted"  # robots.txt has a rule for its family, Disallow or Allow


@dataclass(frozen=True, slots=True)
class HostPlan:
    """One host. Its pages are numbered from 0, the home page; the bounds give the kind of a number.

    `first_page` and `first_duplicate` number the pages and the duplicates of the whole web.
    """

    number: int
    name: HostKey
    base: str  # scheme, name and port: the beginning of its URLs
    address: str
    salt: int
    ordinary: int
    duplicates_end: int
    redirects_end: int
    missing_end: int
    pages: int
    first_page: int
    first_duplicate: int
    robots: robots.RobotsPlan
    slow: Seconds
    recovers_at: Seconds  # all its pages fail until this long after the epoch
    sends_validators: bool
    directories: int  # its pages 1, 2, … are directories of the web's hosts
    hubs: tuple[int, ...]  # the numbers of its hubs; they are the pages after the directories
    path_style: int = field(default=0)

    def kind(self, page: int) -> Kind:
        if page < self.ordinary:
            return Kind.ORDINARY
        if page < self.duplicates_end:
            return Kind.DUPLICATE
        if page < self.redirects_end:
            return Kind.REDIRECT
        return Kind.MISSING if page < self.missing_end else Kind.RESTRICTED

    def family(self, page: int) -> str | None:
        """The family of `robots.FAMILIES` that a page belongs to; None for all but restricted pages."""
        if page < self.missing_end:
            return None
        families = self.robots.families
        return families[(page - self.missing_end) % len(families)]


def host_sizes(config: SimWebConfig) -> list[int]:
    """Pages of each host, largest first (after the one of `big_host_share`); the sum is `pages`."""
    if config.big_host_share > 0 and config.hosts > 1:
        big = min(round(config.pages * config.big_host_share), config.pages - config.hosts + 1)
        rest = _power_law(config.hosts - 1, config.pages - max(big, 1), config.host_exponent, 0)
        return [max(big, 1), *rest]
    return _power_law(config.hosts, config.pages, config.host_exponent, config.max_host_pages)


def plan_hosts(config: SimWebConfig) -> tuple[HostPlan, ...]:
    """All hosts. The first is the portal, which links to all others."""
    rng = random.Random(f"{config.seed}/hosts")
    sizes = _assign(host_sizes(config), rng, big_first=config.big_host_share > 0)
    slow, delayed, sharing = _characters(config, sizes, rng)
    leader = {h: sharing[i - i % _SHARED_BY] for i, h in enumerate(sharing)}
    directories = -(-config.hosts // HOSTS_PER_DIRECTORY)
    plans: list[HostPlan] = []
    first_page = first_duplicate = 0
    for number, size in enumerate(sizes):
        hubs = tuple(range(number, config.hub_pages, config.hosts))
        needed = 1 + len(hubs) + (directories if number == 0 else 0)
        plan = _plan_host(
            config,
            number,
            size,
            needed,
            first_page=first_page,
            first_duplicate=first_duplicate,
            address=_address(leader.get(number, number)),
            slow=Seconds(config.slow_seconds * (0.5 + rng.random())) if number in slow else Seconds(0.0),
            crawl_delay=Seconds(config.crawl_delay_seconds if number in delayed else 0.0),
            directories=directories if number == 0 else 0,
            hubs=hubs,
        )
        plans.append(plan)
        first_page += plan.pages
        first_duplicate += plan.duplicates_end - plan.ordinary
    return tuple(plans)


def _plan_host(
    config: SimWebConfig,
    number: int,
    size: int,
    needed: int,
    *,
    first_page: int,
    first_duplicate: int,
    address: str,
    slow: Seconds,
    crawl_delay: Seconds,
    directories: int,
    hubs: tuple[int, ...],
) -> HostPlan:
    seed = config.seed
    special = [
        int(size * rate + uniform(seed, what, number))
        for what, rate in (
            ("duplicates", config.duplicate_rate),
            ("redirects", config.redirect_rate),
            ("missing", config.missing_rate),
            ("restricted", config.disallowed_rate),
        )
    ]
    ordinary = max(size - sum(special), needed)
    bounds = list(itertools.accumulate([ordinary, *special]))
    name = _name(config, number)
    scheme, default_port = ("https", 443) if config.tls else ("http", 80)
    port = "" if config.port == default_port else f":{config.port}"
    fault = uniform(seed, "host fault", number)
    # A failing portal would only delay the whole crawl.
    faulty = number >= config.seed_hosts and fault < config.fault_rate
    return HostPlan(
        number=number,
        name=name,
        base=f"{scheme}://{name}{port}",
        address=address,
        salt=hash64(seed, "salt", number) & 0xFFFFFFFF,
        ordinary=bounds[0],
        duplicates_end=bounds[1],
        redirects_end=bounds[2],
        missing_end=bounds[3],
        pages=bounds[4],
        first_page=first_page,
        first_duplicate=first_duplicate,
        robots=robots.write_robots(_manner(config, number, crawl_delay), name, crawl_delay),
        slow=slow,
        recovers_at=Seconds(config.fault_seconds * (0.3 + 0.7 * fault / config.fault_rate if faulty else 0.0)),
        sends_validators=uniform(seed, "validators", number) < config.validator_hosts,
        directories=directories,
        hubs=hubs,
        path_style=hash64(seed, "style", number) % 8,
    )


def _manner(config: SimWebConfig, number: int, crawl_delay: Seconds) -> robots.Manner:
    if number == 0:
        return robots.MANNERS[0]  # the entry to the web is open to everybody
    draw = hash64(config.seed, "robots", number)
    if crawl_delay > 0:
        return robots.MANNERS[draw % robots.DELAYABLE]
    if uniform(config.seed, "no robots", number) < config.missing_robots:
        return robots.ABSENT
    return robots.MANNERS[draw % len(robots.MANNERS)]


def _name(config: SimWebConfig, number: int) -> HostKey:
    if number == 0:
        return HostKey(f"portal.{config.zone}")
    draw = hash64(config.seed, "name", number) % 10
    if draw < 3:
        clusters = max(1, config.hosts // 12)
        return HostKey(f"h{number}.cluster{number % clusters}.{config.zone}")
    return HostKey(f"{'www.' if draw < 7 else ''}site{number}.{config.zone}")


def _address(number: int) -> str:
    """An address in 127.0.0.0/8 for each of up to a million hosts; 127.0.x.x is left free."""
    return f"127.{1 + (number >> 16)}.{(number >> 8) & 255}.{number & 255}"


def _assign(sizes: list[int], rng: random.Random, *, big_first: bool) -> list[int]:
    """Sizes by host number: host 0 of medium size, host 1 the big one if there is one, the rest shuffled."""
    sizes = list(sizes)
    if len(sizes) == 1:
        return sizes
    big = [sizes.pop(0)] if big_first else []
    portal = sizes.pop(len(sizes) // 3)
    rng.shuffle(sizes)
    return [portal, *big, *sizes]


def _characters(
    config: SimWebConfig, sizes: list[int], rng: random.Random
) -> tuple[frozenset[int], frozenset[int], list[int]]:
    """Slow hosts, hosts with a crawl delay, hosts that share addresses.

    Small hosts, since a crawl takes as long as its slowest host: the smallest third, or as many as needed.
    """
    counts = [
        round(share * config.hosts)
        for share in (config.slow_hosts, config.crawl_delay_hosts, config.shared_address_hosts)
    ]
    by_size = sorted(range(1, len(sizes)), key=lambda h: (sizes[h], h))
    pool = by_size[: max(len(sizes) // 3, sum(counts))]
    rng.shuffle(pool)
    slow_end, delayed_end, sharing_end = itertools.accumulate(counts)
    return frozenset(pool[:slow_end]), frozenset(pool[slow_end:delayed_end]), pool[delayed_end:sharing_end]


def _power_law(hosts: int, pages: int, exponent: float, cap: int) -> list[int]:
    """At least one page each, the rest by rank ** -exponent, none above `cap` (0: no cap)."""
    weights = [rank**-exponent for rank in range(1, hosts + 1)]
    limit = float(cap - 1 if cap else pages)
    extra = float(pages - hosts)
    shares = [0.0] * hosts
    full = 0  # the largest `full` hosts are at the limit
    total = sum(weights)
    while full < hosts:
        scale = (extra - full * limit) / total
        if weights[full] * scale <= limit:
            break
        total -= weights[full]
        full += 1
    for i, weight in enumerate(weights):
        shares[i] = limit if i < full else weight * scale
    # Rounding the running sum instead of each share keeps the total exact.
    ends = [round(s) for s in itertools.accumulate(shares)]
    return [1 + end - start for start, end in itertools.pairwise([0, *ends])]


_DIGITS = "0123456789"
_NO_DIGITS = "".join(chr(c) for c in range(33, 127) if chr(c) not in _DIGITS)
_MANY_SECTIONS = len(SECTIONS)
_MANY_SLUGS = len(SLUGS)
_QUERY_STYLE = 7


def path_of(host: HostPlan, page: int) -> str:
    """Path and query of a page. Distinct for distinct pages; always contains the number in digits."""
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
    """The page at `target` (path and query as requested), or None if there is none."""
    if target == "/":
        return 0
    # The last run of digits is the number; the rest is checked by computing the path again.
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
        """`target`, a path of the same host, relative to the page."""
        directory = self._directory
        if self._up and target.startswith(directory) and target != directory:
            return target[len(directory) :]
        return self._up + target[1:] or "./"
