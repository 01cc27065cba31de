"""The same question, asked again within a moment: answered with the same bytes. Hot: benchmarks/bench_service.py.

Scrapers and dashboards ask the same thing, to the byte, many times a second. A whole answer is kept under the exact
bytes of its request, credentials included: nobody is told what he has not just been allowed to ask. It is good for a
quarter of a second, as old as the picture that it tells of may be anyway, or for a second where it is dear (`LONGER`);
longer while many different ones are asked for, and making them takes much of the time (`EASY`): what callers cost is
bounded by how much there is to ask for, not by how often they ask. But never longer than until a change is
acknowledged: whoever has changed something and asks is told of it. Then one caller has it made anew, and the others get
the old one while that lasts, within bounds (`PATIENCE`): a crowd costs no more than one, and does not stand in line for
what is long to make. A repeated call counts like any other.

What is asked for the first time, but by a caller and on a path that were let in before, may be answered at once too:
`service.short` says what.
"""

import asyncio
import math
import re
from collections.abc import Callable
from typing import Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from gossamer.clock import Clock
from gossamer.service.gate import CHANGING, App, Message, Receive, Scope, Send

FRESH: Final = 0.25
"""Seconds for which an answer is good ..."""
FRESH_LONGER: Final = 1.0
"""... or this many, if it is read from the database, long to make, or always the same."""
FRESH_LONGEST: Final = 10.0
"""... up to this many while answers are dear altogether: as often as the time for them is more than ..."""
EASY: Final = 0.02
"""... this share of the front's."""
_LATELY: Final = 2.0
"""Seconds over which that share is reckoned."""
PATIENCE: Final = 5
"""So many times as long as is usual an old answer is given while somebody has it made anew."""
LONGER: Final = frozenset({"/hosts", "/pages", "/explain", "/dead", "/metrics", "/healthz"})
LONGEST: Final = 128 * 1024
MOST_BYTES: Final = 16 * 1024 * 1024
"""Of all answers that are kept."""

MOST_CALLERS: Final = 1_000
"""Whose heads are known, by path."""

_ASKED: Final = "gossamer.asked"
_END: Final = b"\r\n\r\n"
_LINE: Final = re.compile(rb"GET (/[a-z]+)(?:\?([!\"$-~]{0,16000}))? HTTP/1\.1\r\n")
# What makes a request more than its head, or the answer to it the last one of its connection.
_NOT_PLAIN: Final = frozenset({b"content-length", b"transfer-encoding", b"connection", b"upgrade", b"expect"})


Short = Callable[[bytes, bytes, bytes], Callable[[], bytes | None] | None]


class _Kept:
    __slots__ = ("answer", "due", "fresh", "path", "until")

    def __init__(self, path: str, answer: bytes, now: float, times: float) -> None:
        """Good for so many times as long as is usual, if it is one that may be."""
        usual = FRESH_LONGER if path in LONGER else FRESH
        self.path = path
        self.answer = answer  # what follows the status line and the date
        self.fresh = min(FRESH_LONGEST, times * usual) if path in LONGER else usual
        self.due = now + self.fresh  # then somebody has it made anew
        self.until = self.due + PATIENCE * usual


class Effort:
    """How much of the time goes into making answers, lately. Time is a parameter."""

    def __init__(self) -> None:
        self._spent = 0.0
        self._at = 0.0

    def note(self, begun: float, ended: float) -> None:
        self._spent = self._spent * math.exp((self._at - ended) / _LATELY) + ended - begun
        self._at = ended

    def share(self, now: float) -> float:
        return self._spent * math.exp((self._at - now) / _LATELY) / _LATELY


class Answers:
    """Answers of the last moment, by the bytes of their requests. `counts` is asked for every repetition whether the
    caller may call once more; `short` makes answers at once, or leaves them to others. Bounded."""

    def __init__(self, clock: Clock, counts: Callable[[str], bool], short: Short | None = None) -> None:
        self._clock = clock
        self._counts = counts
        self._short = short
        # Whom the gate has let in: that rests on the path and the fields alone, and on nothing that changes.
        self._let_in: set[tuple[bytes, bytes]] = set()
        self._kept: dict[bytes, _Kept] = {}
        self._bytes = 0
        self._effort = Effort()
        self.changes = 0

    def __len__(self) -> int:
        return len(self._kept)

    def repeated(self, asked: bytes) -> bytes | None:
        """The answer to this request, if it was given a moment ago."""
        kept = self._kept.get(asked)
        if kept is None:
            return None
        now = self._clock.monotonic()
        if now >= kept.due:
            kept.due = now + kept.fresh  # the next one tries if this one is not back by then
            return None
        if now >= kept.until:
            return None
        return kept.answer if self._counts(kept.path) else None

    def may_repeat(self, path: str) -> bool:
        """Whether whoever asks what somebody else asks may wait for that answer."""
        return self._counts(path)

    def made(self, asked: bytes) -> bytes | None:
        """The answer to this request, if it can be made at once for whoever asks."""
        line = None if self._short is None else _LINE.match(asked)
        if line is None or (line[1], fields := asked[line.end() :]) not in self._let_in:
            return None
        assert self._short is not None
        make = self._short(line[1], line[2] or b"", fields)
        path = line[1].decode("ascii")
        if make is None or not self._counts(path):
            return None
        begun = self._clock.monotonic()
        answer = make()
        self._effort.note(begun, self._clock.monotonic())
        if answer is not None:
            self.keep(asked, path, answer, self.changes)
        return answer

    def let_in(self, asked: bytes) -> None:
        """This request was answered."""
        line = None if self._short is None else _LINE.match(asked)
        if line is not None:
            if len(self._let_in) >= MOST_CALLERS:
                self._let_in.clear()
            self._let_in.add((line[1], asked[line.end() :]))

    def keep(self, asked: bytes, path: str, answer: bytes, changes: int) -> None:
        """An answer, begun when so many changes had been made: if there was another since, it may not know of it."""
        size = len(asked) + len(answer)
        if changes != self.changes or size > LONGEST:
            return
        self._drop(asked)
        while self._bytes + size > MOST_BYTES:
            self._drop(next(iter(self._kept)))  # the oldest
        now = self._clock.monotonic()
        self._kept[asked] = _Kept(path, answer, now, max(1.0, self._effort.share(now) / EASY))
        self._bytes += size

    def _drop(self, asked: bytes) -> None:
        kept = self._kept.pop(asked, None)
        if kept is not None:
            self._bytes -= len(asked) + len(kept.answer)

    def changed(self) -> None:
        """Something was changed: what was told before may not be so any more."""
        self.changes += 1
        self._forget()

    def _forget(self) -> None:
        self._kept.clear()
        self._bytes = 0


class Remembering:
    """The application around all others: keeps what they answer, and forgets it when they change something. What is
    asked while the same is being answered waits for that answer."""

    def __init__(self, app: App, answers: Answers) -> None:
        self._app = app
        self._answers = answers
        self._under_way: dict[bytes, asyncio.Future[list[Message] | None]] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        if scope["method"] in CHANGING:
            await self._app(scope, receive, self._changing(send))
        elif _ASKED in scope and scope["http_version"] == "1.1" and not _NOT_PLAIN & {n for n, _ in scope["headers"]}:
            await self._one_of_many(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    def _changing(self, send: Send) -> Send:
        async def sending(message: Message) -> None:
            self._answers.changed()  # before the caller knows, and again for what was asked meanwhile
            self._under_way.clear()  # whoever asks from now on does not wait for what was asked before
            await send(message)

        return sending

    async def _one_of_many(self, scope: Scope, receive: Receive, send: Send) -> None:
        asked, path = scope[_ASKED], scope["path"]
        first = self._under_way.get(asked)
        if first is not None and self._answers.may_repeat(path):
            answer = await asyncio.shield(first)
            if answer is not None:
                for message in answer:
                    await send({**message})
                return
        own = self._under_way[asked] = asyncio.get_running_loop().create_future()
        try:
            await self._app(scope, receive, self._keeping(asked, path, send, own))
        finally:
            if self._under_way.get(asked) is own:
                del self._under_way[asked]
            if not own.done():
                own.set_result(None)

    def _keeping(self, asked: bytes, path: str, send: Send, others: "asyncio.Future[list[Message] | None]") -> Send:
        changes = self._answers.changes
        start: Message | None = None
        head = b""

        async def sending(message: Message) -> None:
            nonlocal start, head
            if message["type"] == "http.response.start":
                head = b"".join([b"%b: %b\r\n" % field for field in message["headers"]]) + b"\r\n"
                if message["status"] == 200 and b"content-length:" in head:
                    start = {**message}
            elif start is not None and not message.get("more_body", False):
                self._answers.keep(asked, path, head + message["body"], changes)
                self._answers.let_in(asked)
                others.set_result([start, {**message}])
            else:
                start = None
            if start is None and not others.done():
                others.set_result(None)  # an error, or a stream: everybody asks for himself
            await send(message)

        return sending


class Repeating(HttpToolsProtocol):
    """A connection that answers what was just asked by itself. `answers` is set by whoever makes the class."""

    answers: Answers
    _within = False  # a request

    def on_message_begin(self) -> None:
        self._within = True
        super().on_message_begin()
        if self._asked is not None:
            self.scope[_ASKED] = self._asked  # type: ignore[typeddict-unknown-key]

    def on_message_complete(self) -> None:
        self._within = False
        super().on_message_complete()

    def data_received(self, data: bytes) -> None:
        self._asked: bytes | None = None
        idle = not self._within and (self.cycle is None or self.cycle.response_complete)
        if idle and data.startswith(b"GET ") and data.find(_END) == len(data) - len(_END):
            answer = None if self.flow.write_paused else self.answers.repeated(data) or self.answers.made(data)
            if answer is not None:
                self._repeat(answer)
                return
            self._asked = data
        super().data_received(data)

    def _repeat(self, answer: bytes) -> None:
        head = b"".join([b"%b: %b\r\n" % field for field in self.server_state.default_headers])
        self.transport.write(b"HTTP/1.1 200 OK\r\n" + head + answer)
        self.on_response_complete()
