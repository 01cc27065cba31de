"""How fresh a crawl has kept its copies of the simulated web."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable
from hashlib import sha1
from typing import NamedTuple

from gossamer.lab.simulate.recrawl_world import World
from gossamer.lab.simulate.time_travel import Journey
from gossamer.lab.simweb.config import SimWebConfig
from gossamer.lab.simweb.web import SimWeb
from gossamer.model.units import DAY, Instant

_SLACK = 2.0  # seconds by which the dates of a visit may differ on the two sides of it


class Copy(NamedTuple):
    """A visit that was answered with a document, or that it had not changed; `digest`: SHA-1 of what is stored then."""

    url: str
    at: Instant
    digest: bytes


def journey_of(world: World, config: SimWebConfig, start: Instant, copies: Iterable[Copy]) -> Journey:
    """What a crawl did in the world: a copy is fresh until its page changes, if it is what the server showed."""
    web = SimWeb(config)
    by_url: dict[str, list[Copy]] = defaultdict(list)
    for copy in copies:
        by_url[copy.url].append(copy)
    journey = Journey()
    for page, url in enumerate(world.names):
        found = sorted(by_url[url], key=lambda copy: copy.at)
        nexts = [(copy.at - start) / DAY for copy in found[1:]] + [world.days]
        for copy, until in zip(found, nexts, strict=True):
            day = (copy.at - start) / DAY
            times = world.changes[page]
            k = bisect_right(times, day)
            change = times[k] if k < len(times) else world.days
            journey.pages.append(page)
            journey.starts.append(day)
            journey.ends.append(min(change, until) if _was_shown(web, copy) else day)
    return journey


def _was_shown(web: SimWeb, copy: Copy) -> bool:
    """Whether the server showed at that time what is stored of it."""
    host, slash, rest = copy.url.partition("://")[2].partition("/")
    return any(
        sha1(web.respond(host.partition(":")[0], slash + rest, Instant(copy.at + slack)).body).digest() == copy.digest
        for slack in (0.0, -_SLACK, _SLACK)
    )
