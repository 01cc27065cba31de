"""Builds the fetchers of a crawl, one for each scheme that the configuration enables."""

from collections.abc import Callable
from typing import Final

from gossamer.clock import Clock
from gossamer.config.load import Config
from gossamer.fetch.ftp import FtpFetcher
from gossamer.fetch.http.body import BodyMemory
from gossamer.fetch.http.curl import CurlFetcher
from gossamer.fetch.ports import Fetcher, FetchLimits, SchemeFetcher
from gossamer.model.units import Seconds

TLS_TIMEOUT: Final = Seconds(10.0)


def fetch_limits_for(config: Config) -> FetchLimits:
    section = config.fetch
    return FetchLimits(
        connect=Seconds(section.connect_timeout),
        tls=TLS_TIMEOUT,
        head=Seconds(section.head_timeout),
        idle=Seconds(section.idle_timeout),
        total=Seconds(section.total_timeout),
        body_bytes=section.max_body_bytes,
    )


def fetcher_for(
    config: Config, clock: Clock, allow: Callable[[str], bool], room: BodyMemory | None = None
) -> SchemeFetcher:
    """The fetcher of a crawl. `allow` is called with every address before it is dialled; `room` bounds the memory of
    the bodies in flight, for all schemes together."""
    room = room or BodyMemory()
    limits = fetch_limits_for(config)
    web = CurlFetcher(
        config.user_agent,
        limits,
        clock,
        allow=allow,
        ca_file=config.fetch.ca_bundle,
        room=room,
    )
    by_scheme: dict[str, Fetcher] = {"http": web, "https": web}
    if config.fetch.ftp:
        by_scheme["ftp"] = FtpFetcher(config.user_agent, limits, clock, allow=allow, room=room)
    return SchemeFetcher(by_scheme, web.times)
