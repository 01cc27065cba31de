"""What the crawl asks of a fetcher, whatever the scheme."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from gossamer.fetch.http.options import HostOptions
from gossamer.model.outcome import FetchOutcome
from gossamer.model.units import HostKey, Seconds, Url


class Request(NamedTuple):
    """One page, asked for at one address.

    `address` is the resolved IP address to dial, without brackets; nothing else is ever dialled but the proxy, where
    `options` name one: then the proxy looks the host up, and `address` may be empty. `headers` are added to those
    that every request carries (conditional requests use them). `options` are this host's, or None for the usual ones.
    `wants` is asked with the status and the fields of the answer; if it says no, the body is not read.
    `connect` is how long to wait for a connection, TLS included, and `body_bytes` how much of a body to read, where
    that is less than usual.
    """

    url: Url
    host: HostKey
    port: int
    address: str
    headers: tuple[tuple[str, str], ...] = ()
    options: HostOptions | None = None
    wants: Callable[[int, Mapping[str, str]], bool] | None = None
    connect: Seconds | None = None
    body_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class FetchLimits:
    """How long and how large an exchange may become. The defaults are the project's."""

    connect: Seconds = Seconds(10.0)
    tls: Seconds = Seconds(10.0)
    head: Seconds = Seconds(20.0)  # from the request to the blank line of the answer
    idle: Seconds = Seconds(20.0)  # between two bytes of a body
    min_bytes_per_second: int = 256
    rate_window: Seconds = Seconds(30.0)
    total: Seconds = Seconds(120.0)
    body_bytes: int = 10 * 1024 * 1024
    head_bytes: int = 64 * 1024
    head_fields: int = 256
    header_bytes: int = 16 * 1024
    status_bytes: int = 8 * 1024

    def __post_init__(self) -> None:
        for name in self.__slots__:
            if getattr(self, name) <= 0:
                raise ValueError(f"{name} must be positive: {getattr(self, name)}")


class Fetcher(Protocol):
    async def fetch(self, request: Request) -> FetchOutcome:
        """One exchange. Never raises for what the other side does; may be cancelled at any time.

        A body that did not arrive whole is a `Response` with `truncated` set, so that the caller decides
        whether to ask again or to keep what there is.
        """
        ...

    async def close(self) -> None:
        """Close every connection. Call it when no fetch is under way."""
        ...
