"""How long the parts of exchanges take: connecting, TLS, the first byte, the body.

What the crawl asks of a fetcher, whatever the scheme.

Which fetcher speaks which scheme. A scheme that nobody registered is never opened.
"""

from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from gossamer.fetch.http.options import HostOptions
from gossamer.model.outcome import Failed, Failure, FetchOutcome
from gossamer.model.units import HostKey, Seconds, Url
from gossamer.sketch.durations import Durations


class ExchangeTimes:
    """Of all exchanges by libcurl that ended with an answer. Moments are microseconds since an exchange began."""

    __slots__ = ("body", "connect", "first_byte", "tls")

    def __init__(self) -> None:
        self.connect = Durations()  # of new connections only
        self.tls = Durations()  # of new ones with TLS
        self.first_byte = Durations()  # from the request to the first byte of the answer
        self.body = Durations()  # from the first byte to the last

    def on_connected(self, connected: int, secured: int) -> None:
        """A connection was made for it; `secured` is 0 where there is no TLS."""
        self.connect.note(connected)
        if secured:
            self.tls.note(secured - connected)

    def on_answered(self, asked: int, first: int, last: int) -> None:
        took, counts = first - asked, self.first_byte.counts  # once a page: two calls of `note` would cost more
        counts[(took - 1).bit_length()] += 1
        counts[-1] += took
        took, counts = last - first, self.body.counts
        counts[(took - 1).bit_length()] += 1
        counts[-1] += took


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


_LONGEST_SHOWN = 32


class SchemeFetcher:
    """A `Fetcher` that hands each request to the fetcher of its scheme and answers `bad_scheme` for all others.

    Another protocol is a plug-in: an object with `fetch` and `close` as in `Fetcher`, registered under its scheme.
    """

    def __init__(self, fetchers: Mapping[str, Fetcher], times: ExchangeTimes | None = None) -> None:
        """`fetchers` by scheme, in lower case and without the colon. One fetcher may stand under several. `times` are
        those of their exchanges, as far as they are timed."""
        self.times = times or ExchangeTimes()
        for scheme in fetchers:
            if scheme != scheme.lower() or not scheme.isascii() or not scheme.isalnum():
                raise ValueError(f"not a scheme: {scheme!r}")
        self._fetchers = dict(fetchers)

    @property
    def schemes(self) -> frozenset[str]:
        """What can be fetched: the schemes whose URLs may enter."""
        return frozenset(self._fetchers)

    def fetch(self, request: Request) -> Coroutine[Any, Any, FetchOutcome]:
        """One exchange by whoever speaks the scheme; see `Fetcher.fetch`."""
        scheme, colon, _ = request.url[:_LONGEST_SHOWN].partition(":")
        fetcher = self._fetchers.get(scheme) if colon else None
        # Handed on as it is: a coroutine around it would be woken for nothing whenever it is.
        return _spoken_by_nobody(scheme) if fetcher is None else fetcher.fetch(request)

    async def close(self) -> None:
        """Close every fetcher once, also when closing another one failed."""
        failures: list[Exception] = []
        for fetcher in {id(fetcher): fetcher for fetcher in self._fetchers.values()}.values():
            try:
                await fetcher.close()
            except Exception as error:  # raised below: nothing is swallowed, the others are closed first
                failures.append(error)
        if failures:
            raise ExceptionGroup("fetchers that could not be closed", failures)


async def _spoken_by_nobody(scheme: str) -> FetchOutcome:
    return Failed(Failure.BAD_SCHEME, f"nobody here speaks {scheme!r}", Seconds(0.0), contacted=False)
