"""Who may call: decided from the head of a request alone."""

import asyncio
import errno
import os
from dataclasses import replace
from pathlib import Path

import pytest

from gossamer.clock import VirtualClock
from gossamer.errors import DirectoryError
from gossamer.model.units import Seconds
from gossamer.service.access import (
    LINES,
    AccessControl,
    Call,
    Message,
    Policy,
    Receive,
    Scope,
    Send,
    TokenBucket,
    allowed_names,
    check_call,
    is_loopback,
    limit_wrong_tokens,
    parse_call,
    session_expiry,
    session_value,
    token_in,
    token_matches,
)
from gossamer.service.login import Login
from gossamer.service.server import dashboard_url

TOKEN = "t" * 43
NOW = 1_800_000_000
HERE = Policy(TOKEN, allowed_names("127.0.0.1", ()), True, False, 1000, 30.0, 100.0)
ELSEWHERE = replace(HERE, names=allowed_names("192.0.2.7", ("crawl.test",)), on_loopback=False)
GET = Call("GET", "/status", "127.0.0.1:8470", None, "", "", "", None)
POST = Call("POST", "/crawl", "localhost:8470", None, f"Bearer {TOKEN}", "", "application/json", 20)
SESSION = f"theme=dark; gossamer={session_value(TOKEN, NOW + 1)}"
FROM_BROWSER = replace(POST, authorization="", cookies=SESSION, origin="http://localhost:8470")


@pytest.mark.parametrize(
    ("policy", "call", "status"),
    [
        (HERE, GET, None),
        (HERE, POST, None),
        (HERE, replace(POST, authorization=""), 401),
        (HERE, replace(POST, authorization=f"bearer {TOKEN}"), None),
        (HERE, replace(POST, authorization=f"Bearer {TOKEN}x"), 401),
        (HERE, replace(POST, authorization=f"Basic {TOKEN}"), 401),
        (HERE, replace(POST, content_length=1001), 413),
        (HERE, replace(POST, content_length=10**9, content_type=LINES), 413),
        (HERE, replace(POST, content_length=10**9, content_type=LINES, path="/seed/urls"), None),
        (HERE, replace(GET, host="evil.test"), 403),
        (HERE, replace(GET, host="evil.test", path="/healthz"), 403),
        (HERE, replace(GET, host=""), 403),
        (HERE, replace(GET, host=None), 400),
        (HERE, replace(GET, host="[::1]:8470"), None),
        (HERE, replace(GET, host="127.0.0.1, evil.test"), 403),
        (HERE, replace(POST, origin="http://evil.test"), 403),
        (HERE, replace(POST, origin="null"), 403),
        (HERE, replace(POST, origin="http://["), 403),
        (HERE, replace(POST, origin=""), 403),
        (HERE, replace(POST, origin="http://localhost:8470/"), 403),
        (HERE, replace(POST, origin="http://localhost:9999"), 403),
        (HERE, replace(POST, origin="http://localhost:8470"), None),
        (HERE, replace(GET, path="/metrics/../../x"), 400),
        (HERE, replace(GET, path="/a\0b"), 400),
        (ELSEWHERE, replace(GET, host="crawl.test"), 401),
        (ELSEWHERE, replace(GET, host="192.0.2.7:8470", authorization=f"Bearer {TOKEN}"), None),
        (ELSEWHERE, replace(GET, host="crawl.test", path="/healthz"), None),
        (ELSEWHERE, replace(GET, host="crawl.test", path="/"), 303),
        (ELSEWHERE, replace(GET, path="/docs"), 303),
        (ELSEWHERE, replace(POST, path="/", authorization=""), 401),
        (ELSEWHERE, replace(GET, host="localhost", authorization=f"Bearer {TOKEN}"), None),
        (ELSEWHERE, replace(GET, host="evil.test", authorization=f"Bearer {TOKEN}"), 403),
        (ELSEWHERE, replace(GET, path="/login"), None),
        (ELSEWHERE, replace(GET, path="/page/style.css"), None),
        (ELSEWHERE, replace(GET, path="/page/main.js"), 401),
        (ELSEWHERE, replace(GET, path="/login", host="evil.test"), 403),
        (ELSEWHERE, replace(POST, path="/login", authorization="", origin="http://evil.test"), 403),
        (ELSEWHERE, replace(GET, cookies=SESSION), None),
        (ELSEWHERE, replace(GET, path="/", cookies=SESSION), None),
        (ELSEWHERE, FROM_BROWSER, None),
        (ELSEWHERE, replace(FROM_BROWSER, origin="http://localhost:3000"), 403),
        (ELSEWHERE, replace(FROM_BROWSER, cookies="gossamer=v1"), 401),
        (HERE, FROM_BROWSER, 401),
        (HERE, replace(POST, path="/login", authorization=""), 401),
    ],
)
def test_a_call_passes_or_is_refused(policy: Policy, call: Call, status: int | None) -> None:
    refused = check_call(policy, call, NOW)

    assert (None if refused is None else refused.status) == status
    assert refused is None or TOKEN not in refused.error


def test_two_fields_of_one_name_match_nothing() -> None:
    token, origin = (b"authorization", b"Bearer " + TOKEN.encode()), (b"origin", b"http://localhost")
    statuses = []
    for field in ((b"host", b"localhost"), token, origin):
        headers = [(b"host", b"localhost"), token, origin, field]
        refused = check_call(HERE, parse_call({"method": "POST", "path": "/crawl", "headers": headers}), NOW)
        statuses.append(None if refused is None else refused.status)

    assert statuses == [400, 401, 403]


def test_a_bucket_gives_its_rate_and_no_more() -> None:
    bucket = TokenBucket(10.0)

    assert sum(bucket.take(0.0) for _ in range(100)) == 10
    assert sum(bucket.take(0.5) for _ in range(100)) == 5
    assert sum(bucket.take(100.0) for _ in range(100)) == 10


class Gate:
    """The service bound elsewhere, with a clock that stands still."""

    def __init__(self, policy: Policy) -> None:
        self.clock, wrong_tokens = VirtualClock(), limit_wrong_tokens()
        inner = Login(answered, policy, self.clock, wrong_tokens)
        self._gate = AccessControl(inner, policy, self.clock, wrong_tokens)

    def call(self, method: str, path: str, body: bytes = b"", **fields: str) -> tuple[int, dict[str, str], bytes]:
        sent: list[Message] = []

        async def send(message: Message) -> None:
            sent.append(message)

        async def receive() -> Message:
            return {"type": "http.request", "body": body, "more_body": False}

        headers = [(b"host", b"localhost"), *((k.replace("_", "-").encode(), v.encode()) for k, v in fields.items())]
        asyncio.run(self._gate({"type": "http", "method": method, "path": path, "headers": headers}, receive, send))
        found = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
        return sent[0]["status"], found, sent[1]["body"]

    def log_in(self, token: str) -> tuple[int, dict[str, str], bytes]:
        return self.call("POST", "/login", f"token={token}".encode(), content_type=FORM)


FORM = "application/x-www-form-urlencoded"


def test_wrong_tokens_have_a_slower_rate_than_other_calls_whichever_way_they_come() -> None:
    gate = Gate(ELSEWHERE)

    headers = [gate.call("POST", "/crawl", authorization="Bearer wrong")[0] for _ in range(6)]
    forms = [gate.log_in("wrong")[0] for _ in range(6)]

    assert headers + forms == [401] * 10 + [429] * 2
    assert gate.call("POST", "/crawl", authorization="Bearer wrong")[0] == 429
    assert gate.call("POST", "/crawl", authorization=f"Bearer {TOKEN}")[0] == 200
    assert gate.log_in(TOKEN)[0] == 303


def test_the_right_token_starts_a_session_of_twelve_hours() -> None:
    for https, more in ((False, ""), (True, "; Secure")):
        gate = Gate(replace(ELSEWHERE, https=https))
        status, headers, _ = gate.log_in(f"+{TOKEN}%0A")
        value = session_value(TOKEN, int(gate.clock.now()) + 43_200)

        assert (status, headers["location"]) == (303, "/")
        assert headers["set-cookie"] == (f"gossamer={value}; HttpOnly; SameSite=Strict; Path=/; Max-Age=43200{more}")
        assert gate.call("POST", "/crawl", cookie=f"gossamer={value}")[0] == 200
        assert gate.call("GET", "/login", cookie=f"gossamer={value}")[0] == 303
        gate.clock.advance(Seconds(43_200.0))
        assert gate.call("POST", "/crawl", cookie=f"gossamer={value}")[0] == 401
        assert gate.call("GET", "/", cookie=f"gossamer={value}")[0] == 303


def test_the_login_page_alone_may_send_a_form() -> None:
    gate = Gate(ELSEWHERE)
    cookie = f"gossamer={session_value(TOKEN, int(gate.clock.now()) + 60)}"
    _, login, page = gate.call("GET", "/login")
    _, wrong, told = gate.log_in("wrong")
    _, dashboard, shown = gate.call("GET", "/", cookie=cookie)

    for headers in (login, wrong):
        assert "form-action 'self'" in headers["content-security-policy"]
        assert headers["referrer-policy"] == "same-origin" and headers["content-type"].startswith("text/html")
    assert b"Wrong token." in told and b"Wrong token." not in page
    assert "form-action 'none'" in dashboard["content-security-policy"] and b"<body data-session>" in shown


def test_a_form_that_is_none_and_methods_that_do_not_exist_are_refused() -> None:
    gate = Gate(ELSEWHERE)

    assert gate.call("POST", "/login", b'{"token": "x"}', content_type="application/json")[0] == 415
    assert gate.call("POST", "/login", b"token=" + b"x" * 900, content_type=FORM)[0] == 401
    assert gate.call("POST", "/login", b"token=" + b"x" * 9000, content_type=FORM)[0] == 401
    assert gate.call("POST", "/login", b"&" * 900, content_type=FORM)[0] == 401
    assert gate.call("PUT", "/login")[:1] == (405,) and gate.call("GET", "/logout")[1]["allow"] == "POST"


def test_logging_out_removes_the_cookie() -> None:
    status, headers, _ = Gate(ELSEWHERE).call("POST", "/logout")

    assert (status, headers["location"]) == (303, "/login")
    assert headers["set-cookie"].startswith("gossamer=; ") and "Max-Age=0" in headers["set-cookie"]


def test_only_an_unchanged_session_of_this_token_is_valid_until_it_expires() -> None:
    value = session_value(TOKEN, NOW)
    version, expiry, signature = value.split(".")
    forged = [
        f"{version}.{NOW + 100}.{signature}",
        f"v2.{expiry}.{signature}",
        f"{version}.0{expiry}.{signature}",
        f"{version}.{expiry}.{signature.upper()}",
        f"{version}.{expiry}.",
        f"{version}.{expiry}",
        f"{version}.-1.{signature}",
        f"{version}.\u0661.{signature}",
        f"{version}.{'9' * 5000}.{signature}",
        session_value("u" * 43, NOW),
        "",
    ]

    assert session_expiry(TOKEN, f"a=b; gossamer={value}", NOW - 1) == NOW
    assert session_expiry(TOKEN, f"gossamer=x; gossamer={value}", NOW - 1) == NOW
    assert session_expiry(TOKEN, f"gossamer={value}", NOW) is None
    assert session_expiry(TOKEN, f"other={value}", NOW - 1) is None
    assert [each for each in forged if session_expiry(TOKEN, f"gossamer={each}", NOW - 1) is not None] == []


def test_the_dashboard_is_named_by_an_address_that_a_browser_here_can_open() -> None:
    found = {
        at: dashboard_url(at)
        for at in ("http://0.0.0.0:1/", "http://127.0.0.1:2/", "http://[::]:3/", "http://h.test:4/")
    }

    assert [*found.values()] == [
        "http://localhost:1/",
        "http://localhost:2/",
        "http://localhost:3/",
        "http://h.test:4/",
    ]


async def answered(scope: Scope, receive: Receive, send: Send) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b""})


@pytest.mark.parametrize(
    ("host", "only_here"),
    [
        ("127.0.0.1", True),
        ("127.8.8.8", True),
        ("::1", True),
        ("localhost", True),
        ("0.0.0.0", False),
        ("h.test", False),
    ],
)
def test_loopback_is_what_only_this_machine_can_reach(host: str, only_here: bool) -> None:
    assert is_loopback(host) is only_here


def test_a_token_is_made_once_for_its_owner_only(tmp_path: Path) -> None:
    token = token_in(tmp_path / "service.token")

    assert token_in(tmp_path / "service.token") == token and len(token) >= 32
    assert (tmp_path / "service.token").stat().st_mode & 0o777 == 0o600
    assert (
        token_matches(token, f"Bearer {token}")
        and not token_matches(token, f"Bearer {token[:-1]}")
        and not token_matches(token, token)
    )
    assert not token_matches(token, "Bearer \u00fc")


@pytest.mark.parametrize(("text", "mode"), [("x" * 40, 0o644), ("short", 0o600), ("", 0o600)])
def test_a_token_that_protects_nothing_is_refused(tmp_path: Path, text: str, mode: int) -> None:
    path = tmp_path / "service.token"
    path.write_text(text)
    os.chmod(path, mode)

    with pytest.raises(DirectoryError, match=r"service\.token"):
        token_in(tmp_path / "service.token")


def test_a_token_that_cannot_be_made_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as disk:
        disk.setattr(os, "fsync", full)
        with pytest.raises(DirectoryError, match=r"service\.token: No space left"):
            token_in(tmp_path / "service.token")

    assert [*tmp_path.iterdir()] == []
    assert len(token_in(tmp_path / "service.token")) >= 32
