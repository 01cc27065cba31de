"""Requeueing of URLs that are due again, as values."""

from collections.abc import Container, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from gossamer.model.states import UrlState
from gossamer.model.units import HostId, HostKey, Instant, Seconds, Url

REFRESHING: Final = "refreshing"
"""Counter of URLs that are queued again and have a stored document."""


class ReportedChange(NamedTuple):
    """A page that we have, and that a list says was modified after our visit."""

    url_id: int
    host_id: HostId
    host: HostKey
    url: Url
    mime: str | None
    visited: Instant
    modified: Instant
    rate_shape: float | None  # as `Settlement` has them
    rate_span: float | None
    priority: float
    change_history: str | None = (
        None  # what the host's row says of its changes, if nobody knows yet whether it is believed
    )


class DueUrl(NamedTuple):
    """A URL whose date has come, on a host that has a price of its own or a line before it; or one that is planned
    anew."""

    url_id: int
    host_id: HostId
    host: HostKey
    url: Url
    state: UrlState
    mime: str | None
    visited: Instant | None
    planned_gap: float | None  # as `Settlement` has them
    rate_shape: float | None
    rate_span: float | None
    modified: Instant | None  # as a list says, and so the next
    changefreq: str | None
    sitemap: int
    change_history: str | None  # what is known of its host
    priority: float


class Postponement(NamedTuple):
    """It is not queued yet, and has another date."""

    until: Instant
    planned_gap: Seconds | None = None  # it is planned anew, with this gap; None: only its turn comes later


class DueCursor(NamedTuple):
    """Where a URL stands among those that have a date."""

    date: float
    state: int
    url_id: int


class RequeueOrder(NamedTuple):
    """An order to queue URLs again that have a date: those whose date has come, the earliest first."""

    due_by: Instant
    limit: int
    include_missing: bool = False  # those that answered 4xx too
    at_front: bool = False  # before everything that waits in their front queues
    early_after: Seconds | None = (
        None  # pages too that come due next: half of their gap, and at least so long, has passed
    )
    priced_hosts: Container[HostId] = ()  # hosts of which it is asked for each URL whether it is due in fact ...
    max_backlog: int | None = None  # ... and so it is of all others before which so many stand in line; None: of none
    backlogs: Mapping[HostId, int] = MappingProxyType({})  # as many stand there already
    replan_after: DueCursor | None = None  # and plan anew what comes after it, as much as can be looked at in one go
    after: DueCursor | None = None  # only what comes after it; and what finds no room is left out, not put off
