"""Access control: token or session, host name, origin, request rate and body size. Every request passes it first.

The token is created once, in a file that only its owner can read. A browser gets a session for it: a signed cookie, so
the service keeps no state about it; it ends at its expiry, or when the token is replaced.

`check_call` decides and is pure; `AccessControl` is the ASGI middleware that applies it.
"""

import asyncio
import hashlib
import hmac
import ipaddress
import json
import os
import re
import secrets
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from gossamer.clock import Clock
from gossamer.config.sections import ServiceSection
from gossamer.errors import DirectoryError
from gossamer.service.schemas import quote

REQUEST_TIMEOUT = 30.0
"""Time limit of a request, in seconds."""
MAX_REQUESTS = 5000.0
"""Requests per second from all clients together."""
SESSION_COOKIE: Final = "gossamer"
SESSION_SECONDS: Final = 43_200
_MOST_DIGITS: Final = 12


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
    """Create the file atomically, with a complete token."""
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
                    f"{path} is readable by other users; run chmod 600 on it, or delete it to get a new token"
                )
            token = file.read().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise DirectoryError(f"cannot read {path}: {error}") from error
    if len(token) < 16:
        raise DirectoryError(f"{path} has no token of at least 16 characters; delete it to get a new token")
    return token


def token_matches(token: str, authorization: str) -> bool:
    """Whether an Authorization header has this token. Takes constant time."""
    scheme, _, given = authorization.partition(" ")
    same = hmac.compare_digest(token.encode("ascii"), given.strip().encode("utf-8", "replace"))
    return same and scheme.lower() == "bearer"


def session_value(token: str, expiry: int) -> str:
    """The cookie of a session that is valid until `expiry`, in Unix time: `v1.EXPIRY.HMAC`. The HMAC-SHA256 of the
    expiry is keyed with the token."""
    signature = hmac.new(token.encode("ascii"), str(expiry).encode("ascii"), hashlib.sha256).hexdigest()
    return f"v1.{expiry}.{signature}"


def session_expiry(token: str, cookies: str, now: float) -> int | None:
    """When the session of this token that a Cookie header has ends, in Unix time; None if there is none, or it has
    ended."""
    for cookie in cookies.split(";"):
        name, _, value = cookie.strip().partition("=")
        _, _, rest = value.partition(".")
        expiry = rest.partition(".")[0]
        if name == SESSION_COOKIE and expiry.isascii() and expiry.isdigit() and len(expiry) <= _MOST_DIGITS:
            known = session_value(token, int(expiry))
            if hmac.compare_digest(known.encode("ascii"), value.encode("utf-8", "replace")) and now < int(expiry):
                return int(expiry)
    return None


Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

LIVENESS: Final = frozenset({"/healthz", "/readyz"})
API_PREFIX: Final = "/api/v1"
"""Each route exists with this prefix too."""
LOGIN, LOGOUT = "/login", "/logout"
PAGES: Final = frozenset({"/", "/docs"})
"""Pages for people, who are sent to the login first."""
LOGIN_FILES: Final = frozenset({"/page/style.css", "/page/theme.js", "/page/icon.svg"})
"""The files that the login page uses."""
STREAMS: Final = frozenset({"/events"})
LINES: Final = "application/x-ndjson"
"""Media type of a streamed body, whose size is not limited."""
WRONG_TOKENS = 10.0
"""Requests with a wrong token that are answered 401, per second; more are answered 429."""
CHANGING: Final = frozenset({"POST", "PUT", "PATCH", "DELETE"})
LOOPBACK_NAMES: Final = frozenset({"localhost", "127.0.0.1", "[::1]", "::1"})

CONTENT_POLICY: Final = (
    b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    b"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS: Final[tuple[tuple[bytes, bytes], ...]] = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"content-security-policy", CONTENT_POLICY),
    (b"cache-control", b"no-store"),
)


@dataclass(frozen=True, slots=True)
class Policy:
    """Limits and credentials that requests are checked against."""

    token: str
    names: frozenset[str] | None  # allowed Host names, lower case, without port; None: all
    on_loopback: bool  # reading needs no token, and there is no login
    https: bool  # browsers use HTTPS
    max_body_bytes: int
    request_timeout: float
    max_requests: float  # per second


@dataclass(frozen=True, slots=True)
class Call:
    """The parts of a request's head that are checked."""

    method: str
    path: str
    host: str | None  # None unless there is exactly one
    origin: str | None
    authorization: str
    cookies: str
    content_type: str
    content_length: int | None

    @property
    def is_endless(self) -> bool:
        return self.content_type == LINES and self.path == "/seed/urls"


@dataclass(frozen=True, slots=True)
class Refusal:
    status: int
    error: str
    headers: tuple[tuple[bytes, bytes], ...] = ()


def check_call(policy: Policy, call: Call, now: float) -> Refusal | None:
    """None if the call is allowed, otherwise the response that refuses it."""
    if "\0" in call.path or "/../" in call.path or call.path.endswith("/.."):
        return Refusal(400, "invalid path")
    if call.host is None:
        return Refusal(400, "the request must have exactly one Host field")
    # A foreign page in a local browser can send requests here, even under its own host name (DNS rebinding).
    if policy.names is not None and _name(call.host) not in policy.names:
        return Refusal(403, f"unknown host name {quote(call.host)}; service.names lists the allowed names")
    if call.origin is not None and call.origin.partition("://")[2].lower() != call.host.lower():
        return Refusal(403, f"cross-origin request from {quote(call.origin)} refused")
    if call.path in LIVENESS:
        return None
    if not may_pass(policy, call, now):
        if call.path in PAGES and call.method in ("GET", "HEAD"):
            return Refusal(303, "log in first", ((b"location", LOGIN.encode("ascii")),))
        return Refusal(401, "missing or wrong token", ((b"www-authenticate", b"Bearer"),))
    if call.content_length is not None and call.content_length > policy.max_body_bytes and not call.is_endless:
        return Refusal(413, f"body of {call.content_length} bytes; at most {policy.max_body_bytes} are allowed")
    return None


def may_pass(policy: Policy, call: Call, now: float) -> bool:
    """Whether the call has the credentials that it needs."""
    if token_matches(policy.token, call.authorization):
        return True
    if policy.on_loopback:
        return call.method not in CHANGING
    if call.path in (LOGIN, LOGOUT) or (call.path in LOGIN_FILES and call.method not in CHANGING):
        return True
    return session_expiry(policy.token, call.cookies, now) is not None


_HOST: Final = re.compile(r"(\[[0-9a-f:.]+\]|[^\[\]:@/?#]+)(?::[0-9]*)?").fullmatch


def _name(host: str) -> str:
    """A Host header without its port; empty if it has another form."""
    found = _HOST(host.lower())
    return "" if found is None else found[1]


def route_path(path: str) -> str:
    """The path without the prefix of the API. The pages exist without it only."""
    rest = path.removeprefix(API_PREFIX)
    is_page = rest in PAGES or rest in (LOGIN, LOGOUT) or rest.startswith("/page/")
    return rest if rest.startswith("/") and not is_page else path


def parse_call(scope: Scope) -> Call:
    fields: dict[bytes, bytes] = {}
    for name, value in scope["headers"]:
        # Repeated headers, such as Authorization or Origin, are joined, so that they match nothing.
        fields[name] = value if name not in fields else fields[name] + b", " + value
    length = fields.get(b"content-length", b"")
    origin = fields.get(b"origin")
    hosts = [value for name, value in scope["headers"] if name == b"host"]
    return Call(
        method=scope["method"],
        path=scope["path"],
        host=hosts[0].decode("latin-1") if len(hosts) == 1 else None,
        origin=None if origin is None else origin.decode("latin-1"),
        authorization=fields.get(b"authorization", b"").decode("latin-1"),
        cookies=fields.get(b"cookie", b"").decode("latin-1"),
        content_type=fields.get(b"content-type", b"").decode("latin-1").partition(";")[0].strip().lower(),
        content_length=int(length) if length.isdigit() else None,
    )


def allowed_names(host: str, more: Iterable[str]) -> frozenset[str]:
    """The Host names that a service bound to `host` accepts."""
    own = f"[{host}]" if ":" in host else host
    return frozenset(name.lower() for name in (own, *more, *LOOPBACK_NAMES))


def policy_for(section: ServiceSection, token: str) -> Policy:
    return Policy(
        token=token,
        names=allowed_names(section.host, section.names),
        on_loopback=is_loopback(section.host),
        https=section.https,
        max_body_bytes=section.max_body_bytes,
        request_timeout=REQUEST_TIMEOUT,
        max_requests=MAX_REQUESTS,
    )


def is_loopback(host: str) -> bool:
    """Whether a socket bound to `host` is reachable only from this machine. Of names, only localhost counts as such."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class TokenBucket:
    """Token bucket: `rate` calls per second, with a burst of the same size. Time is a parameter."""

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


def limit_wrong_tokens() -> TokenBucket:
    """The limit that all ways of sending a token share."""
    return TokenBucket(WRONG_TOKENS)


METRICS_PATHS: Final = frozenset({"/metrics", "/healthz"})


def metrics_only(app: App, policy: Policy, clock: Clock) -> App:
    """The application of the metrics port: reading `METRICS_PATHS` needs no token, and there is nothing else. The
    metrics contain neither URLs nor host names, so requests may name any host."""
    access = AccessControl(app, replace(policy, names=None, on_loopback=True), clock, limit_wrong_tokens())

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        if scope["path"] not in METRICS_PATHS:
            await send_refusal(send, Refusal(404, f"{quote(scope['path'])} does not exist on the metrics port"))
        elif scope["method"] not in ("GET", "HEAD"):
            text = f"{scope['method']} is not allowed for {quote(scope['path'])}; use GET, HEAD"
            await send_refusal(send, Refusal(405, text, ((b"allow", b"GET, HEAD"),)))
        else:
            await access(scope, receive, send)

    return answer


class _HeadSent(Exception):
    """The head of a response to HEAD has been sent; the rest of a stream is not needed."""


class TooLarge(Exception):
    """A body exceeds the size limit. Raised where the application reads it; the response is 413."""


class AccessControl:
    """Passes allowed requests on, with a time limit, and refuses others with a JSON error."""

    def __init__(self, app: App, policy: Policy, clock: Clock, wrong_tokens: TokenBucket) -> None:
        self._app = app
        self._policy = policy
        self._clock = clock
        self._bucket = TokenBucket(policy.max_requests)
        self._wrong_tokens = wrong_tokens
        self.refused = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        path = route_path(scope["path"])
        if path != scope["path"]:
            prefix = len(API_PREFIX)
            scope = {**scope, "path": path, "raw_path": scope.get("raw_path", b"")[prefix:]}
        call = parse_call(scope)
        now = self._clock.monotonic()
        refused = check_call(self._policy, call, self._clock.now())
        if refused is None and call.path not in LIVENESS and not self._bucket.take(now):
            refused = Refusal(429, "too many requests", ((b"retry-after", b"1"),))
        if refused is not None and refused.status == 401 and not self._wrong_tokens.take(now):
            refused = Refusal(429, "too many wrong tokens", ((b"retry-after", b"1"),))
        started, is_head = False, call.method == "HEAD"

        async def send_with_headers(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                present = {name for name, _ in message["headers"]}
                message["headers"] = [*message["headers"], *(h for h in HEADERS if h[0] not in present)]
            elif is_head and message.get("more_body", False):
                await send({"type": "http.response.body", "body": b""})
                raise _HeadSent
            await send(message)

        if refused is not None:
            self.refused += 1
            await send_refusal(send_with_headers, refused)
            return
        if is_head:
            scope = {**scope, "method": "GET"}  # the server omits the body of the response
        endless = call.path in STREAMS or call.is_endless
        try:
            async with asyncio.timeout(self._stream_timeout(call) if endless else self._policy.request_timeout):
                await self._app(scope, receive if call.is_endless else self._bounded(receive), send_with_headers)
        except _HeadSent:
            return
        except TimeoutError:
            if not started:
                await send_refusal(send_with_headers, Refusal(503, "the request timed out", ((b"retry-after", b"1"),)))

    def _stream_timeout(self, call: Call) -> float | None:
        """A stream ends with the session that it was opened with."""
        now = self._clock.now()
        expiry = session_expiry(self._policy.token, call.cookies, now)
        return None if expiry is None or token_matches(self._policy.token, call.authorization) else expiry - now

    def _bounded(self, receive: Receive) -> Receive:
        room = self._policy.max_body_bytes

        async def receive_bounded() -> Message:
            nonlocal room
            message = await receive()
            room -= len(message.get("body", b""))
            if room < 0:
                raise TooLarge
            return message

        return receive_bounded


async def send_refusal(send: Send, refused: Refusal) -> None:
    body = json.dumps({"error": refused.error, "field": None}).encode("ascii")
    # The rest of the body is not read, so the connection is closed.
    head = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode("ascii"))]
    head += [*refused.headers, *HEADERS, (b"connection", b"close")]
    await send({"type": "http.response.start", "status": refused.status, "headers": head})
    await send({"type": "http.response.body", "body": body})
