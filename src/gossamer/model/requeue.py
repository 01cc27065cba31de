"""Values for requeueing URLs that are due again."""

from collections.abc import Container, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from gossamer.model.states import UrlState
from gossamer.model.units import HostId, HostKey, Instant, Seconds, Url

REFRESHING: Final = "refreshing"
"""Counter of URLs that are queued again and have a stored document."""


class ReportedChange(NamedTuple):
    """A stored page that a sitemap or feed reports as modified after our last visit."""

    url_id: int
    host_id: HostId
    host: HostKey
    url: Url
    mime: str | None
    visited: Instant
    modified: Instant
    rate_shape: float | None  # as in `Settlement`
    rate_span: float | None
    priority: float
    change_history: str | None = None  # of the host, if its trust in reports is not known yet


class DueUrl(NamedTuple):
    """A due URL whose host has its own price or a backlog; or a URL that is being replanned."""

    url_id: int
    host_id: HostId
    host: HostKey
    url: Url
    state: UrlState
    mime: str | None
    visited: Instant | None
    planned_gap: float | None  # as in `Settlement`, and the next two
    rate_shape: float | None
    rate_span: float | None
    modified: Instant | None  # by a sitemap or feed, like `changefreq`
    changefreq: str | None
    sitemap: int
    change_history: str | None  # of its host
    priority: float


class Postponement(NamedTuple):
    """A due URL is not queued yet and gets another date."""

    until: Instant
    planned_gap: Seconds | None = None  # the new gap if it was replanned; None: only its turn comes later


class DueCursor(NamedTuple):
    """A position among the URLs that have a due date."""

    date: float
    state: int
    url_id: int


class RequeueOrder(NamedTuple):
    """An order to requeue URLs that are due by `due_by`, earliest first, at most `limit`."""

    due_by: Instant
    limit: int
    include_missing: bool = False  # also those that answered 4xx
    at_front: bool = False  # ahead of everything else in their front queues
    early_after: Seconds | None = None  # also pages due next, after half of their gap and at least this long
    priced_hosts: Container[HostId] = ()  # hosts with their own price: each URL is checked again (`Postpone`) ...
    max_backlog: int | None = None  # ... as are URLs of hosts whose backlog is full; None: unlimited
    backlogs: Mapping[HostId, int] = MappingProxyType({})  # current backlog by host
    replan_after: DueCursor | None = None  # also replan what comes after this, up to a limit
    after: DueCursor | None = None  # only what comes after this; with a full backlog, skip instead of postponing
    only_missing: bool = False  # nothing but those that answered 4xx
