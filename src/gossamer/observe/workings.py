"""What goes on inside a crawl, beyond what came of its URLs: for the metrics."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from gossamer.sketch.durations import Spread

PHASES: Final = ("dns", "connect", "tls", "first_byte", "body", "extract", "commit")
"""Parts of the way of a document that are timed, in order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Workings:
    """All of this run."""

    phases: Mapping[str, Spread] = field(default_factory=dict)  # by the names in PHASES
    wakings: Spread = Spread()  # how late the event loop woke a timer, fifty times a second
    links_recent: int = 0  # links that the URL-seen test answered from its exact memory ...
    links_new: int = 0  # ... or by its filter, ...
    links_asked: int = 0  # ... or that the store had to be asked about
    dns_hits: int = 0
    dns_negative_hits: int = 0
    dns_stale: int = 0
    dns_failures: int = 0
    dns_put_off: int = 0
    dns_cached: int = 0
    hosts_failing: int = 0  # hosts in memory whose breaker is open
    rss_bytes: int = 0
