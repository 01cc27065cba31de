"""Which fetcher speaks which scheme. A scheme that nobody registered is never opened."""

from collections.abc import Coroutine, Mapping
from typing import Any

from gossamer.fetch.http.ports import Fetcher, Request
from gossamer.fetch.http.times import ExchangeTimes
from gossamer.model.outcome import Failed, Failure, FetchOutcome
from gossamer.model.units import Seconds

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
