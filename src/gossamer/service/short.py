"""The short way: frequent reads, each another one, answered in front as they come. Hot: bench_service.py.

The long way (server, gate, framework, a thread and back) costs several times what it takes to look up a few rows by
their number. So what was let in before, by the same path and the same fields of its head, and is asked in a plain way,
is answered here, byte for byte as the long way would. Everything else is left to the long way: what has to be checked,
told as an error, or searched for. Reads take part of the front's time only: where there are many, or the disk has to be
asked, those after them go the long way for a while.
"""

import re
from collections.abc import Callable
from typing import Final
from urllib.parse import unquote_plus

import msgspec

from gossamer.backends.sqlite.pages import PageFilter
from gossamer.clock import Clock
from gossamer.errors import GossamerError
from gossamer.inquiries import LargeRecord
from gossamer.observe.snapshot import Snapshot
from gossamer.service.app import picture, state_of
from gossamer.service.asking import Questions
from gossamer.service.gate import HEADERS
from gossamer.service.metrics import CONTENT_TYPE, Metrics
from gossamer.service.parts import CrawlShown

SHARE: Final = 0.5
"""Of the front's time, that reads may take ..."""
BURST: Final = 0.05
"""... and so many seconds more, for once: the disk, or the machine, may be busy."""
MOST_PAGES: Final = 100

_NUMBERS: Final = re.compile(rb"(limit|after)=([0-9]{1,15})(?:&(?!\1)(limit|after)=([0-9]{1,15}))?")
# An address with nothing after it, escaped as forms escape it.
_ADDRESS: Final = re.compile(rb"url=([!\"$%'-:<-~]+)")
_LONGEST_ADDRESS: Final = 10_000
_END: Final = b"\r\n" + b"".join(b"%b: %b\r\n" % field for field in HEADERS) + b"\r\n"

Make = Callable[[], bytes | None]


class ShortWay:
    """Answers what can be answered at once."""

    def __init__(self, crawl: CrawlShown, questions: Questions, metrics: Metrics, clock: Clock) -> None:
        self._crawl = crawl
        self._questions = questions
        self._metrics = metrics
        self._clock = clock
        self._taken, self._since = 0.0, clock.monotonic()  # seconds of the event loop that are not yet made good
        self._told: tuple[Snapshot | None, str, bytes] = None, "", b""  # the last /status
        self._routes: dict[bytes, Callable[[bytes], Make | None]] = {
            b"/healthz": self._healthz,
            b"/metrics": self._figures,
            b"/status": self._status,
            b"/pages": self._pages,
            b"/explain": self._explain,
        }

    def __call__(self, path: bytes, query: bytes, fields: bytes) -> Make | None:
        """What makes the answer, from its fields on; None if this goes the long way. So may the answer, in the end."""
        route = self._routes.get(path)
        if route is None or (path == b"/metrics" and b"application/" in fields.lower()):
            return None  # figures as JSON are asked for by people
        return route(query)

    def _healthz(self, query: bytes) -> Make | None:
        return lambda: answer({"status": "ok"})

    def _figures(self, query: bytes) -> Make | None:
        return None if self._crawl.latest is None else lambda: whole(self._metrics.text(), CONTENT_TYPE)

    def _status(self, query: bytes) -> Make | None:
        latest = self._crawl.latest
        return None if latest is None else lambda: self._status_of(latest, state_of(self._crawl, latest))

    def _status_of(self, latest: Snapshot, state: str) -> bytes:
        of, said, told = self._told
        if of is not latest or said != state:
            told = answer(picture(latest, state))
            self._told = latest, state, told
        return told

    def _pages(self, query: bytes) -> Make | None:
        given = _NUMBERS.fullmatch(query)
        if given is None and query:
            return None
        found = {} if given is None else {given[1]: int(given[2]), given[3]: int(given[4] or 0)}
        most, after = found.get(b"limit", MOST_PAGES), found.get(b"after", 0)
        if not 1 <= most <= MOST_PAGES:
            return None

        def make() -> bytes:
            window = self._questions.pages_at_once(PageFilter(), after, most)
            return answer({"pages": window.items, "next": window.next})

        return lambda: self._quickly(make)

    def _explain(self, query: bytes) -> Make | None:
        given = _ADDRESS.fullmatch(query)
        if given is None:
            return None
        url = unquote_plus(given[1].decode("ascii"))
        if len(url) > _LONGEST_ADDRESS or not url.strip():
            return None
        config, questions = self._crawl.config, self._questions
        return lambda: self._quickly(lambda: answer(questions.explain_at_once(config, url.strip())))

    def _quickly(self, make: Callable[[], bytes]) -> bytes | None:
        begun = self._clock.monotonic()
        self._taken = max(0.0, self._taken - SHARE * (begun - self._since))
        self._since = begun
        if self._taken > BURST:
            return None
        try:
            return make()
        except (GossamerError, LargeRecord):
            return None  # the long way meets it too, and tells it
        finally:
            self._taken += self._clock.monotonic() - begun


def answer(content: object) -> bytes:
    return whole(msgspec.json.encode(content), "application/json")


def whole(body: bytes, kind: str) -> bytes:
    """An answer as the long way gives it, from its fields on."""
    return b"content-length: %d\r\ncontent-type: %b%b%b" % (len(body), kind.encode("ascii"), _END, body)
