import io
from pathlib import Path

import pytest

from gossamer.errors import BadSeed, UsageError
from gossamer.filter.canonical import canonicalise
from gossamer.filter.domains import has_known_suffix
from gossamer.model.units import HostKey, Url
from gossamer.seed.lists import Seed, read_arguments, read_seed_file, read_seeds, split_seed_string, with_scheme
from tests.table import table


def urls_in(content: bytes) -> list[str]:
    return [seed.url for seed in read_seed_file("-", canonicalise, io.BytesIO(content))]


def test_a_list_has_one_url_a_line_and_comments() -> None:
    lines = [
        "# news\n",
        "http://a.test/\n",
        "\n",
        "   \t\r\n",
        "  https://B.test/x#part  # the other\n",
        "http://a.test\n",
    ]

    assert read_seeds(lines, "seeds.txt", canonicalise) == [
        Seed(url=Url("http://a.test/"), host=HostKey("a.test"), where="seeds.txt, line 2"),
        Seed(url=Url("https://b.test/x"), host=HostKey("b.test"), where="seeds.txt, line 5"),
    ]


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("example.org", "https://example.org/"),
        ("example.org/x?y", "https://example.org/x?y"),
        ("localhost:8080", "https://localhost:8080/"),
        ("127.0.0.1:8000/a", "https://127.0.0.1:8000/a"),
        ("[::1]:8080", "https://[::1]:8080/"),
        ("//example.org/x", "https://example.org/x"),
        ("HTTP://example.org", "http://example.org/"),
    ],
)
def test_a_seed_without_scheme_is_read_as_https(text: str, url: str) -> None:
    assert [seed.url for seed in read_arguments([text], canonicalise)] == [url]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("ftp://h.test/", "bad_scheme"),
        ("mailto:a@h.test", "bad_scheme"),
        ("/relative", "bad_url"),
        ("http://h.test:25/", "blocked_port"),
        ("a b", "bad_url"),
        ("", "bad_url"),
        ("http://h.test/" + "x" * 10_000, "url_too_long"),
    ],
)
def test_a_bad_seed_is_named_with_its_reason(text: str, reason: str) -> None:
    with pytest.raises(BadSeed, match=r"argument 2.*" + reason) as raised:
        read_arguments(["http://good.test/", text], canonicalise)

    assert raised.value.text == text
    assert raised.value.reason == reason


def test_a_bad_line_is_named_with_its_number() -> None:
    with pytest.raises(BadSeed, match=r"bad seed 'gopher://x' \(standard input, line 3\): not http or https"):
        urls_in(b"http://a.test/\n\ngopher://x\n")


def test_a_byte_order_mark_is_tolerated() -> None:
    assert urls_in(b"\xef\xbb\xbfhttp://a.test/\r\nhttp://b.test/\r\n") == ["http://a.test/", "http://b.test/"]


def test_a_byte_order_mark_before_a_comment_is_tolerated() -> None:
    assert urls_in(b"\xef\xbb\xbf# list\nhttp://a.test/") == ["http://a.test/"]


def test_only_line_ends_end_lines() -> None:
    assert urls_in("http://a.test/x\u2028y\n".encode()) == ["http://a.test/x%E2%80%A8y"]


def test_a_file_that_is_not_utf_8_is_named_with_the_line() -> None:
    with pytest.raises(UsageError, match="standard input: line 2 is not UTF-8"):
        urls_in(b"http://a.test/\nhttp://b.test/\xff\n")


def test_a_file_is_read_and_named(tmp_path: Path) -> None:
    path = tmp_path / "seeds.txt"
    path.write_text("http://a.test/\n")

    seeds = read_seed_file(str(path), canonicalise, io.BytesIO())

    assert [seed.where for seed in seeds] == [f"{path}, line 1"]


@pytest.mark.parametrize("name", ["missing.txt", "", "a\0b"])
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, name: str) -> None:
    path = str(tmp_path / name)

    with pytest.raises(UsageError, match="cannot read seeds from") as raised:
        read_seed_file(path, canonicalise, io.BytesIO())

    assert name.partition("\0")[0] in str(raised.value)


@table(
    ("text", "urls"),
    [
        ("http://a.test/,http://b.test/", ["http://a.test/", "http://b.test/"]),
        (" http://a.test/ , https://b.test/x \n", ["http://a.test/", "https://b.test/x"]),
        ("http://a.test/1,2,http://b.test/", ["http://a.test/1,2", "http://b.test/"]),
        ("a.test,b.test/x", ["a.test", "b.test/x"]),
        ("a.test, b.test", ["a.test", "b.test"]),
        ("http://a.test/,", ["http://a.test/"]),
        ("http://a.test/\nhttp://b.test/", ["http://a.test/", "http://b.test/"]),
        ("http://a/, http://b/,c.test", ["http://a/", "http://b/", "c.test"]),
        ("http://a/,b.ccc:80/x,http://d/?q,e.test", ["http://a/", "b.ccc:80/x", "http://d/?q", "e.test"]),
        ("http://a/x,b.co.uk,www.c.org/y,z", ["http://a/x", "b.co.uk", "www.c.org/y,z"]),
        ("http://a,http://b,c", ["http://a", "http://b", "c"]),
        ("http://a.test,b.test,c.test/1,2", ["http://a.test", "b.test", "c.test/1,2"]),
        ("http://a/0,36-0,1-2,0.html", ["http://a/0,36-0,1-2,0.html"]),
        ("http://a/@51.5,-0.12,15z", ["http://a/@51.5,-0.12,15z"]),
        ("http://a/v,v2.draft,b.html?x=1,y", ["http://a/v,v2.draft,b.html?x=1,y"]),
        (",, ,", []),
        ("", []),
    ],
)
def test_a_string_of_urls_is_split_at_its_commas(text: str, urls: list[str]) -> None:
    assert split_seed_string(text, has_known_suffix) == urls


def test_a_scheme_is_kept() -> None:
    assert with_scheme("ftp://h.test/") == "ftp://h.test/"
