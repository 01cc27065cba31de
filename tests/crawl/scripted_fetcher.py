"""A fetcher that plays back a script, for tests of what happens before and after a request."""

import asyncio
from collections import deque
from collections.abc import Callable
from enum import Enum
from typing import Final

from gossamer.clock import VirtualClock
from gossamer.fetch.ports import Request
from gossamer.model.outcome import Failed, Failure, FetchOutcome, Response, Truncation
from gossamer.model.units import Instant, Seconds, Url


class Hang(Enum):
    """A step of a script: the server accepts the request and never answers."""

    HANG = "hang"


HANG: Final = Hang.HANG
Step = Response | Failed | Hang


def response(
    status: int = 200,
    body: bytes = b"",
    headers: dict[str, str] | None = None,
    *,
    took: float = 0.1,
    truncated: Truncation | None = None,
    unverified: bool = False,
    url: str = "http://a.test/",
) -> Response:
    """An answer. In a script, its URL, address and start are those of the request it answers."""
    fields = {name.lower(): value for name, value in (headers or {}).items()}
    head = f"HTTP/1.1 {status} X\r\n" + "".join(f"{name}: {value}\r\n" for name, value in fields.items()) + "\r\n"
    return Response(
        Url(url),
        status,
        b"GET / HTTP/1.1\r\n\r\n",
        head.encode("latin-1"),
        body,
        fields,
        "192.0.2.1",
        Instant(0.0),
        Seconds(took),
        truncated,
        unverified=unverified,
    )


def redirect(target: str, status: int = 301) -> Response:
    return response(status, headers={"Location": target})


def failed(failure: Failure, *, took: float = 0.1, contacted: bool = True) -> Failed:
    return Failed(failure, f"scripted {failure.value}", Seconds(took), contacted)


class ScriptedFetcher:
    """Answers requests from a script and records them. Implements the `Fetcher` port.

    Steps added with `on` are for one URL; the others are played back in order, whatever the URL. Each step is used
    once. A request for which no step is left fails the test. The clock advances by what a step `took`.
    """

    def __init__(self, clock: VirtualClock, *script: Step) -> None:
        self._clock = clock
        self._script = deque(script)
        self._by_url: dict[str, deque[Step]] = {}
        self.requests: list[Request] = []
        self.closed = False
        self.on_request: Callable[[Request], None] = lambda request: None  # called before a request is answered

    def on(self, url: str, *steps: Step) -> "ScriptedFetcher":
        """Add steps for one URL."""
        self._by_url.setdefault(url, deque()).extend(steps)
        return self

    @property
    def urls(self) -> list[str]:
        """The URLs requested so far."""
        return [request.url for request in self.requests]

    async def fetch(self, request: Request) -> FetchOutcome:
        self.requests.append(request)
        self.on_request(request)
        started = self._clock.now()
        steps = self._by_url.get(request.url) or self._script
        if not steps:
            raise AssertionError(f"no step left in the script for {request.url}")
        step = steps.popleft()
        await asyncio.sleep(0)  # other tasks run while a request is under way
        if isinstance(step, Hang):
            await asyncio.Event().wait()
            raise AssertionError("unreachable")
        self._clock.advance(step.took)
        if isinstance(step, Failed):
            return step
        return step._replace(url=request.url, address=request.address, started=started)

    async def close(self) -> None:
        self.closed = True
