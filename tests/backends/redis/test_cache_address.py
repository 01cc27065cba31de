"""URLs of caches: what they mean, and what is never shown."""

from pathlib import Path

import pytest

from gossamer.backends.redis.address import CacheAddress, Server, parse_address
from gossamer.errors import ConfigError


@pytest.mark.parametrize(
    ("url", "servers", "primary"),
    [
        ("redis://h", [Server("h", 6379)], None),
        ("redis://h:7000/3", [Server("h", 7000, False, 3)], None),
        ("rediss://h/1", [Server("h", 6379, True, 1)], None),
        ("redis://[::1]:7000", [Server("::1", 7000)], None),
        ("redis://a:1/2,redis://b:2/3", [Server("a", 1, False, 2), Server("b", 2, False, 3)], None),
        ("redis://a:1,b:2/4", [Server("a", 1, False, 4), Server("b", 2, False, 4)], None),
        ("redis://a,rediss://b", [Server("a", 6379), Server("b", 6379, True)], None),
        ("redis+sentinel://s1,s2:9/main", [Server("s1", 26379), Server("s2", 9)], "main"),
    ],
)
def test_a_url_names_servers_or_sentinels(url: str, servers: list[Server], primary: str | None) -> None:
    found = parse_address(url, {})

    assert (list(found.servers), found.primary, found.login) == (servers, primary, ())


@pytest.mark.parametrize(
    "url",
    [
        *("", "h:1", "http://h", "redis://", "redis://h:0", "redis://h:99999", "redis://h:x", "redis://h/db"),
        *("redis+sentinel://s1,s2", "redis+sentinel://s1/n,redis://h"),
    ],
)
def test_other_urls_are_refused_with_the_forms_that_would_do(url: str) -> None:
    with pytest.raises(ConfigError, match=r"cache\.url: .*redis://HOST:PORT/DB") as caught:
        parse_address(url, {})

    assert "secret" not in str(caught.value)


def test_a_password_comes_from_the_url_then_the_environment_then_a_file(tmp_path: Path) -> None:
    file = tmp_path / "password"
    file.write_text("from a file\n")
    by_file = {"GOSSAMER_CACHE_PASSWORD_FILE": str(file)}
    by_environment = {"GOSSAMER_CACHE_PASSWORD": "from the environment", **by_file}

    assert parse_address("redis://me:p%40ss@h", by_environment).login == ("me", "p@ss")
    assert parse_address("redis://h", by_environment).login == ("from the environment",)
    assert parse_address("redis://me@h", by_file).login == ("me", "from a file")


def test_a_password_file_that_cannot_be_read_is_named() -> None:
    with pytest.raises(ConfigError, match="GOSSAMER_CACHE_PASSWORD_FILE: cannot read '/nowhere'"):
        parse_address("redis://h", {"GOSSAMER_CACHE_PASSWORD_FILE": "/nowhere"})


@pytest.mark.parametrize("url", ["redis://:secret@h:1/2", "redis+sentinel://me:secret@s1,s2/main"])
def test_a_password_is_not_shown(url: str) -> None:
    found = parse_address(url, {})

    assert isinstance(found, CacheAddress) and found.password == "secret"
    assert "secret" not in f"{found} {found!r}"
    with pytest.raises(ConfigError) as caught:
        parse_address("redis://:secret@h:x", {})
    assert "secret" not in str(caught.value)
