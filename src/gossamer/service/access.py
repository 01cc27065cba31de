"""The gate: who may call, from where, how often and with how much. Every request passes it first.

`judged` decides, and is pure; `AccessControl` is the ASGI application around all others that asks it.

The token that a caller must show: made once, readable by its owner only.
"""

import asyncio
import hmac
import json
import os
import secrets
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from gossamer.clock import Clock
from gossamer.errors import DirectoryError
from gossamer.service.schemas import shown


def token_in(path: Path) -> str:
    """The token in a file, which is created if it does not exist. Raises DirectoryError for a file that others may
    read, or that has no token, or if it cannot be created."""
    if not os.path.lexists(path):
        try:
            _make(path)
        except OSError as error:
            raise DirectoryError(f"cannot make {path}: {error.strerror}") from error
    return _read(path)


def _make(path: Path) -> None:
    """The file has all of its token from the moment on at which it has its name, whatever happens meanwhile."""
    unnamed = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        descriptor = os.open(unnamed, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(secrets.token_urlsafe(32) + "\n")
            file.flush()
            os.fsync(file.fileno())
        os.rename(unnamed, path)
    except OSError:
        with suppress(FileNotFoundError):
            os.unlink(unnamed)
        raise


def _read(path: Path) -> str:
    try:
        with path.open(encoding="ascii") as file:
            if os.fstat(file.fileno()).st_mode & 0o077:
                raise DirectoryError(
                    f"{path} can be read by others than its owner; chmod 600 it, or remove it for a new one"
                )
            token = file.read().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise DirectoryError(f"cannot read {path}: {error}") from error
    if len(token) < 16:
        raise DirectoryError(f"{path} holds no token of at least 16 characters; remove it, and a new one is made")
    return token


def shows(token: str, authorization: str) -> bool:
    """Whether the value of an Authorization field is this token. Takes as long whatever is wrong."""
    scheme, _, given = authorization.partition(" ")
    same = hmac.compare_digest(token.encode("ascii"), given.strip().encode("utf-8", "replace"))
    return same and scheme.lower() == "bearer"


Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

LIVENESS: Final = frozenset({"/healthz", "/readyz"})
STREAMS: Final = frozenset({"/events"})
LINES: Final = "application/x-ndjson"
"""The type of a body without end: it is read as it comes, and may be as long as it likes."""
WRONG_TOKENS = 10.0
"""Wrong tokens that are answered with 401, per second; more are answered with 429."""
CHANGING: Final = frozenset({"POST", "PUT", "PATCH", "DELETE"})
LOOPBACK_NAMES: Final = frozenset({"localhost", "127.0.0.1", "[::1]", "::1"})

HEADERS: Final[tuple[tuple[bytes, bytes], ...]] = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (
        b"content-security-policy",
        b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        b"base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
    (b"cache-control", b"no-store"),
)


@dataclass(frozen=True, slots=True)
class Policy:
    """What the gate holds callers to."""

    token: str
    names: frozenset[str]  # under which we may be called, lower case, without port
    on_loopback: bool
    max_body_bytes: int
    request_timeout: float
    max_requests: float  # a second


@dataclass(frozen=True, slots=True)
class Call:
    """What is known of a request from its head."""

    method: str
    path: str
    host: str
    origin: str | None
    authorization: str
    content_type: str
    content_length: int | None

    @property
    def is_endless(self) -> bool:
        return self.content_type == LINES and self.path == "/seed/urls"


@dataclass(frozen=True, slots=True)
class Refused:
    status: int
    error: str
    headers: tuple[tuple[bytes, bytes], ...] = ()


def judged(policy: Policy, call: Call) -> Refused | None:
    """None if the call may pass, else how it is refused."""
    if "\0" in call.path or "/../" in call.path or call.path.endswith("/.."):
        return Refused(400, "no such path")
    # A page of somebody else in a browser beside us can make it call us, under its own name at that (rebinding).
    if _name(call.host) not in policy.names:
        return Refused(403, f"this service is not called {shown(call.host)}; if it is, service.names must name it")
    if call.origin is not None and urlsplit(call.origin).netloc.lower() != call.host.lower():
        return Refused(403, f"calls from other sites are refused, as from {shown(call.origin)}")
    if call.path in LIVENESS:
        return None
    changes = call.method in CHANGING
    if (changes or not policy.on_loopback) and not shows(policy.token, call.authorization):
        return Refused(401, "a token is needed", ((b"www-authenticate", b"Bearer"),))
    if call.content_length is not None and call.content_length > policy.max_body_bytes and not call.is_endless:
        return Refused(413, f"the body may have {policy.max_body_bytes} bytes, not {call.content_length}")
    return None


def _name(host: str) -> str:
    """A Host field without its port."""
    host = host.lower()
    if host.startswith("["):
        return host.partition("]")[0] + "]"
    return host.partition(":")[0]


def call_from(scope: Scope) -> Call:
    fields: dict[bytes, bytes] = {}
    for name, value in scope["headers"]:
        # Two Host or Authorization fields are no honest caller's: together they match nothing.
        fields[name] = value if name not in fields else fields[name] + b", " + value
    length = fields.get(b"content-length", b"")
    origin = fields.get(b"origin")
    return Call(
        method=scope["method"],
        path=scope["path"],
        host=fields.get(b"host", b"").decode("latin-1"),
        origin=None if origin is None else origin.decode("latin-1"),
        authorization=fields.get(b"authorization", b"").decode("latin-1"),
        content_type=fields.get(b"content-type", b"").decode("latin-1").partition(";")[0].strip().lower(),
        content_length=int(length) if length.isdigit() else None,
    )


def names_for(host: str, more: Iterable[str], on_loopback: bool) -> frozenset[str]:
    """The names under which a service bound to `host` may be called."""
    own = {f"[{host}]" if ":" in host else host, *more}
    return frozenset(name.lower() for name in own | (LOOPBACK_NAMES if on_loopback else frozenset()))


class Bucket:
    """So many calls a second, and as many at once. Time is a parameter."""

    def __init__(self, rate: float) -> None:
        self._rate = rate
        self._left = rate
        self._at = 0.0

    def take(self, now: float) -> bool:
        self._left = min(self._rate, self._left + (now - self._at) * self._rate)
        self._at = now
        if self._left < 1.0:
            return False
        self._left -= 1.0
        return True


class _HeadIsOut(Exception):
    """All that was asked for has been told: the rest of a stream is not wanted."""


class TooLarge(Exception):
    """A body went on past what it may have. Raised into whoever reads it, who answers 413."""


class AccessControl:
    """Passes on what may pass, within its time; refuses the rest in a line of JSON."""

    def __init__(self, app: App, policy: Policy, clock: Clock) -> None:
        self._app = app
        self._policy = policy
        self._clock = clock
        self._bucket = Bucket(policy.max_requests)
        self._wrong_tokens = Bucket(WRONG_TOKENS)
        self.refused = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        call = call_from(scope)
        now = self._clock.monotonic()
        refused = judged(self._policy, call)
        if refused is None and call.path not in LIVENESS and not self._bucket.take(now):
            refused = Refused(429, "too many requests", ((b"retry-after", b"1"),))
        if refused is not None and refused.status == 401 and not self._wrong_tokens.take(now):
            refused = Refused(429, "too many wrong tokens", ((b"retry-after", b"1"),))
        begun, is_head = False, call.method == "HEAD"

        async def sending(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                present = {name for name, _ in message["headers"]}
                message["headers"] = [*message["headers"], *(h for h in HEADERS if h[0] not in present)]
            elif is_head and message.get("more_body", False):
                await send({"type": "http.response.body", "body": b""})
                raise _HeadIsOut
            await send(message)

        if refused is not None:
            self.refused += 1
            await _answer(sending, refused)
            return
        if is_head:
            scope = {**scope, "method": "GET"}  # the server leaves out the body of the answer
        endless = call.path in STREAMS or call.is_endless
        try:
            async with asyncio.timeout(None if endless else self._policy.request_timeout):
                await self._app(scope, receive if call.is_endless else self._bounded(receive), sending)
        except _HeadIsOut:
            return
        except TimeoutError:
            if not begun:
                await _answer(sending, Refused(503, "it took too long", ((b"retry-after", b"1"),)))

    def _bounded(self, receive: Receive) -> Receive:
        room = self._policy.max_body_bytes

        async def receiving() -> Message:
            nonlocal room
            message = await receive()
            room -= len(message.get("body", b""))
            if room < 0:
                raise TooLarge
            return message

        return receiving


async def _answer(send: Send, refused: Refused) -> None:
    body = json.dumps({"error": refused.error, "field": None}).encode("ascii")
    # What follows of a body that nobody wants is not read: the connection ends here.
    head = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode("ascii"))]
    head += [*refused.headers, (b"connection", b"close")]
    await send({"type": "http.response.start", "status": refused.status, "headers": head})
    await send({"type": "http.response.body", "body": body})
