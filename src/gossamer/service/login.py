"""Login for browsers: a form for the token at `/login`, which starts a session, and `/logout`.

Only for a service that is reachable from other machines; on loopback, reading needs no token.
"""

import hmac
from functools import cache
from pathlib import Path
from typing import Final
from urllib.parse import parse_qs

from gossamer.clock import Clock
from gossamer.service.access import (
    CONTENT_POLICY,
    LOGIN,
    LOGOUT,
    SESSION_COOKIE,
    SESSION_SECONDS,
    App,
    Policy,
    Receive,
    Refusal,
    Scope,
    Send,
    TokenBucket,
    TooLarge,
    parse_call,
    send_refusal,
    session_expiry,
    session_value,
)

_FOLDER: Final = Path(__file__).parent / "page"
_MOST_FORM: Final = 4_096  # bytes
_FORM: Final = "application/x-www-form-urlencoded"
_HEADERS: Final = (
    (b"content-type", b"text/html; charset=utf-8"),
    (b"content-security-policy", CONTENT_POLICY.replace(b"form-action 'none'", b"form-action 'self'")),
    # With no-referrer, which other pages have, browsers send `Origin: null` with a form, and it would be refused.
    (b"referrer-policy", b"same-origin"),
)


@cache
def _page(name: str) -> bytes:
    return (_FOLDER / name).read_bytes()


def login_page(message: str = "") -> bytes:
    """The form, with a message that has no special characters of HTML."""
    return _page("login.html").replace(b"<!-- message -->", message.encode("ascii"))


def dashboard_page() -> bytes:
    """The dashboard of a service with sessions: it offers to log out, and does not ask for the token."""
    return _page("index.html").replace(b"<body>", b"<body data-session>", 1)


class Login:
    """Answers `/login`, `/logout` and `/`; all other requests are passed on. Access control has checked them."""

    def __init__(self, app: App, policy: Policy, clock: Clock, wrong_tokens: TokenBucket) -> None:
        self._app = app
        self._policy = policy
        self._clock = clock
        self._wrong_tokens = wrong_tokens

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        match scope["method"], scope["path"]:
            case "GET", "/":
                await _send(send, 200, dashboard_page(), ((b"content-type", b"text/html; charset=utf-8"),))
            case "GET", path if path == LOGIN:
                if session_expiry(self._policy.token, parse_call(scope).cookies, self._clock.now()) is not None:
                    await _redirect(send, "/")
                else:
                    await _send(send, 200, login_page(), _HEADERS)
            case "POST", path if path == LOGIN:
                await self._log_in(scope, receive, send)
            case "POST", path if path == LOGOUT:
                await _redirect(send, LOGIN, self._cookie("", 0))
            case _, path if path in (LOGIN, LOGOUT):
                allowed = "GET, HEAD, POST" if path == LOGIN else "POST"
                text = f"{scope['method']} is not allowed for {path}; use {allowed}"
                await send_refusal(send, Refusal(405, text, ((b"allow", allowed.encode("ascii")),)))
            case _:
                await self._app(scope, receive, send)

    async def _log_in(self, scope: Scope, receive: Receive, send: Send) -> None:
        kind = parse_call(scope).content_type
        if kind != _FORM:
            await send_refusal(send, Refusal(415, f"the body must be {_FORM}"))
            return
        given = await _token_of(receive)
        if hmac.compare_digest(self._policy.token.encode("ascii"), given):
            expiry = int(self._clock.now()) + SESSION_SECONDS
            await _redirect(send, "/", self._cookie(session_value(self._policy.token, expiry), SESSION_SECONDS))
        elif self._wrong_tokens.take(self._clock.monotonic()):
            await _send(send, 401, login_page("Wrong token."), (*_HEADERS, (b"www-authenticate", b"Bearer")))
        else:
            await _send(send, 429, login_page("Too many wrong tokens; try again."), (*_HEADERS, (b"retry-after", b"1")))

    def _cookie(self, value: str, seconds: int) -> bytes:
        secure = "; Secure" if self._policy.https else ""
        text = f"{SESSION_COOKIE}={value}; HttpOnly; SameSite=Strict; Path=/; Max-Age={seconds}{secure}"
        return text.encode("ascii")


async def _token_of(receive: Receive) -> bytes:
    """The field `token` of a form; empty if there is none or the form is too long."""
    body, more = b"", True
    while more and len(body) <= _MOST_FORM:
        try:
            message = await receive()
        except TooLarge:
            return b""
        body += message.get("body", b"")
        more = message.get("more_body", False)
    if len(body) > _MOST_FORM:
        return b""
    return parse_qs(body).get(b"token", [b""])[0].strip()


async def _redirect(send: Send, path: str, cookie: bytes | None = None) -> None:
    fields = ((b"location", path.encode("ascii")),)
    await _send(send, 303, b"", fields if cookie is None else (*fields, (b"set-cookie", cookie)))


async def _send(send: Send, status: int, body: bytes, headers: tuple[tuple[bytes, bytes], ...]) -> None:
    length = (b"content-length", str(len(body)).encode("ascii"))
    await send({"type": "http.response.start", "status": status, "headers": [length, *headers]})
    await send({"type": "http.response.body", "body": body})
