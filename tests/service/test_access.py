"""Who may call: decided from the head of a request alone."""

import asyncio
import errno
import os
from dataclasses import replace
from pathlib import Path

import pytest

from gossamer.clock import VirtualClock
from gossamer.errors import DirectoryError
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
    parse_call,
    token_in,
    token_matches,
)
from gossamer.service.server import is_loopback

TOKEN = "t" * 43
HERE = Policy(TOKEN, allowed_names("127.0.0.1", (), True), True, 1000, 30.0, 100.0)
ELSEWHERE = replace(HERE, names=allowed_names("192.0.2.7", ("crawl.test",), False), on_loopback=False)
GET = Call("GET", "/status", "127.0.0.1:8470", None, "", "", None)
POST = Call("POST", "/crawl", "localhost:8470", None, f"Bearer {TOKEN}", "application/json", 20)


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
        (ELSEWHERE, replace(GET, host="crawl.test", path="/"), 401),
        (ELSEWHERE, replace(GET, host="localhost", authorization=f"Bearer {TOKEN}"), 403),
    ],
)
def test_a_call_passes_or_is_refused(policy: Policy, call: Call, status: int | None) -> None:
    refused = check_call(policy, call)

    assert (None if refused is None else refused.status) == status
    assert refused is None or TOKEN not in refused.error


def test_two_fields_of_one_name_match_nothing() -> None:
    token, origin = (b"authorization", b"Bearer " + TOKEN.encode()), (b"origin", b"http://localhost")
    statuses = []
    for field in ((b"host", b"localhost"), token, origin):
        headers = [(b"host", b"localhost"), token, origin, field]
        refused = check_call(HERE, parse_call({"method": "POST", "path": "/crawl", "headers": headers}))
        statuses.append(None if refused is None else refused.status)

    assert statuses == [400, 401, 403]


def test_a_bucket_gives_its_rate_and_no_more() -> None:
    bucket = TokenBucket(10.0)

    assert sum(bucket.take(0.0) for _ in range(100)) == 10
    assert sum(bucket.take(0.5) for _ in range(100)) == 5
    assert sum(bucket.take(100.0) for _ in range(100)) == 10


def test_wrong_tokens_have_a_slower_rate_than_other_calls() -> None:
    gate = AccessControl(answered, HERE, VirtualClock())

    def statuses(authorization: bytes, calls: int) -> list[int]:
        found: list[int] = []

        async def send(message: Message) -> None:
            if message["type"] == "http.response.start":
                found.append(message["status"])

        async def receive() -> Message:
            return {"type": "http.request", "body": b"", "more_body": False}

        headers = [(b"host", b"localhost"), (b"authorization", authorization)]
        for _ in range(calls):
            asyncio.run(gate({"type": "http", "method": "POST", "path": "/crawl", "headers": headers}, receive, send))
        return found

    assert statuses(b"Bearer wrong", 12) == [401] * 10 + [429] * 2
    assert statuses(b"Bearer " + TOKEN.encode(), 3) == [200] * 3


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
