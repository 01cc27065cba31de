"""What the crawl requires of a fetcher, for any scheme, and the fetcher that dispatches requests by scheme."""

from collections.abc import Coroutine, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from gossamer.fetch.http.options import HostOptions
from gossamer.model.outcome import Failed, Failure, FetchOutcome
from gossamer.model.units import HostKey, Seconds, Url
from gossamer.sketch import Durations


class ExchangeTimes:
    """Durations of the phases of all exchanges by libcurl that ended with a response. Points in time are microseconds
    since the start of the exchange."""

    __slots__ = ("body", "connect", "first_byte", "tls")

    def __init__(self) -> None:
        self.connect = Durations()  # of new connections only
        self.tls = Durations()  # of new ones with TLS
        self.first_byte = Durations()  # from the request to the first byte of the response
        self.body = Durations()  # from the first byte to the last

    def on_connected(self, connected: int, secured: int) -> None:
        """A new connection was made; `secured` is 0 without TLS."""
        self.connect.note(connected)
        if secured:
            self.tls.note(secured - connected)

    def on_answered(self, asked: int, first: int, last: int) -> None:
        took, counts = first - asked, self.first_byte.counts  # inlined, since it runs for every page
        counts[(took - 1).bit_length()] += 1
        counts[-1] += took
        took, counts = last - first, self.body.counts
        counts[(took - 1).bit_length()] += 1
        counts[-1] += took


class WantedBodies(Protocol):
    """Decides which bodies are read."""

    def judge_head(self, status: int, headers: Mapping[str, str]) -> bool | None:
        """Whether the body of a response with this head is wanted; None if that depends on its first bytes."""
        ...

    def wants_document(self, headers: Mapping[str, str], start: bytes) -> bool:
        """Whether a body that begins with `start`, without codings, is wanted."""
        ...


class Request(NamedTuple):
    """A request for one URL at one address.

    `address` is the resolved IP address to dial, without brackets. Nothing else is ever dialled, except the proxy if
    `options` have one: then the proxy resolves the host, and `address` may be empty. `headers` are added to those of
    every request (conditional requests use them). `options` are this host's, or None for the default. A body
    that `wants` refuses is not read further. `connect` is the connection timeout, TLS included, and `body_bytes` the
    size limit of the body, if less than the default.
    """

    url: Url
    host: HostKey
    port: int
    address: str
    headers: tuple[tuple[str, str], ...] = ()
    options: HostOptions | None = None
    wants: WantedBodies | None = None
    connect: Seconds | None = None
    body_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class FetchLimits:
    """Limits on the duration and size of an exchange."""

    connect: Seconds = Seconds(10.0)
    tls: Seconds = Seconds(10.0)
    head: Seconds = Seconds(20.0)  # from the request to the end of the response head
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

        A body that did not arrive completely is a `Response` with `truncated` set, so that the caller decides whether
        to retry or to keep it.
        """
        ...

    async def close(self) -> None:
        """Close every connection. Call it when no fetch is in flight."""
        ...


_LONGEST_SHOWN = 32


class SchemeFetcher:
    """A `Fetcher` that passes each request to the fetcher of its scheme, and fails with `bad_scheme` for all others.

    To add a protocol, register an object with `fetch` and `close` as in `Fetcher` under its scheme.
    """

    def __init__(self, fetchers: Mapping[str, Fetcher], times: ExchangeTimes | None = None) -> None:
        """`fetchers` by scheme, in lower case and without the colon. One fetcher may serve several schemes. `times` are
        the durations of their exchanges, if measured."""
        self.times = times or ExchangeTimes()
        for scheme in fetchers:
            if scheme != scheme.lower() or not scheme.isascii() or not scheme.isalnum():
                raise ValueError(f"not a scheme: {scheme!r}")
        self._fetchers = dict(fetchers)

    @property
    def schemes(self) -> frozenset[str]:
        """The schemes that can be fetched."""
        return frozenset(self._fetchers)

    def fetch(self, request: Request) -> Coroutine[Any, Any, FetchOutcome]:
        """One exchange by the fetcher of the scheme; see `Fetcher.fetch`."""
        scheme, colon, _ = request.url[:_LONGEST_SHOWN].partition(":")
        fetcher = self._fetchers.get(scheme) if colon else None
        # Returned as it is: a coroutine around it would only add a resumption to every step.
        return _unsupported(scheme) if fetcher is None else fetcher.fetch(request)

    async def close(self) -> None:
        """Close every fetcher once, even if closing another one failed."""
        failures: list[Exception] = []
        for fetcher in {id(fetcher): fetcher for fetcher in self._fetchers.values()}.values():
            try:
                await fetcher.close()
            except Exception as error:  # raised below, after the others are closed
                failures.append(error)
        if failures:
            raise ExceptionGroup("fetchers that could not be closed", failures)


async def _unsupported(scheme: str) -> FetchOutcome:
    return Failed(Failure.BAD_SCHEME, f"unsupported scheme {scheme!r}", Seconds(0.0), contacted=False)
