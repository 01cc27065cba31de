"""Replies, paths and listings, without a connection."""

import pytest

from gossamer.extract.crawl_page import extract_page
from gossamer.fetch.ftp import (
    CONTENT_TYPE,
    MAX_ENTRIES,
    MAX_LINES,
    Entry,
    FtpPath,
    as_directory,
    ftp_path,
    index_page,
    read_listing,
)
from gossamer.fetch.ftp_session import BadReply, Reply, ReplyReader, extended_port, passive_port
from tests.table import table


def read(*lines: bytes) -> list[Reply | None]:
    reader = ReplyReader()
    return [reader.feed(line) for line in lines]


def test_a_reply_of_one_line_is_complete_at_once() -> None:
    assert read(b"220 hello\r\n", b"331\n") == [Reply(220, b"220 hello"), Reply(331, b"331")]


def test_a_reply_of_many_lines_ends_with_its_own_code() -> None:
    lines = [b"220-hello\r\n", b"221 not yet\r\n", b" 220 nor this\r\n", b"220-\r\n", b"2200\r\n", b"220 done\r\n"]

    assert read(*lines) == [None] * 5 + [Reply(220, b"220 done")]


@pytest.mark.parametrize("line", [b"", b"hello", b"22 x", b"2200 x", b" 220 x", b"020 x", b"600 x", b"220x"])
def test_a_line_without_a_code_is_no_reply(line: bytes) -> None:
    with pytest.raises(BadReply):
        read(line)


@pytest.mark.parametrize(
    ("text", "port"),
    [
        (b"229 Entering (|||50000|)", 50000),
        (b"229 (!!!1024!)", 1024),
        (b"229 (|||1023|)", None),
        (b"229 (|||65536|)", None),
        (b"229 (|1|10.0.0.1|50000|)", None),
        (b"229 no port", None),
    ],
)
def test_the_port_of_an_extended_passive_reply_is_read(text: bytes, port: int | None) -> None:
    assert extended_port(Reply(229, text)) == port


@pytest.mark.parametrize(
    ("text", "port"),
    [
        (b"227 Entering Passive Mode (10,0,0,1,200,10)", 51210),
        (b"227 10,0,0,1,4,0", 1024),
        (b"227 (10,0,0,1,0,22)", None),
        (b"227 (10,0,0,1,300,10)", None),
        (b"227 (10,0,0,1,4)", None),
    ],
)
def test_the_port_of_a_passive_reply_is_read(text: bytes, port: int | None) -> None:
    assert passive_port(Reply(227, text)) == port


@table(
    ("url", "path"),
    [
        ("ftp://h", FtpPath(b"/", True)),
        ("ftp://h/", FtpPath(b"/", True)),
        ("ftp://h/a/b.txt", FtpPath(b"/a/b.txt", False)),
        ("ftp://h/a/", FtpPath(b"/a/", True)),
        ("ftp://h/a%20b%2Fc", FtpPath(b"/a b/c", False)),
        ("ftp://h/%C3%A9", FtpPath("/\u00e9".encode(), False)),
        ("ftp://h/a;type=I", FtpPath(b"/a", False)),
        ("ftp://h/a;type=d", FtpPath(b"/a", True)),
        ("ftp://h/;type=a", FtpPath(b"/", True)),
        ("ftp://h/a?b", FtpPath(b"/a?b", False)),
        ("ftp://h/%0a", None),
        ("ftp://h/%1b", None),
    ],
)
def test_the_path_of_a_url_is_what_the_server_is_asked_for(url: str, path: FtpPath | None) -> None:
    assert ftp_path(url) == path


def test_a_url_becomes_that_of_a_directory() -> None:
    assert as_directory("ftp://h/a;type=i") == "ftp://h/a/"


UNIX = b"""total 12\r
drwxr-xr-x   2 root  wheel      4096 Jan 31 12:00 sub dir\r
-rw-r--r--   1 root  wheel        12 Dec  1  2019 a.txt\r
-rw-r--r--   1 root               13 Dec  1  2019 no group\r
-rw-r--r--   1                    14 Dec  1  2019 nobody\r
-rw-r--r--+  1 root  wheel        15 2020-01-31 12:00 iso\r
lrwxrwxrwx   1 root  wheel         3 Feb 02 10:10 link -> /etc\r
drwxr-xr-x   2 root  wheel      4096 Jan 31 12:00 .\r
drwxr-xr-x   2 root  wheel      4096 Jan 31 12:00 ..\r
-rw-r--r--   1 root  wheel        12 Jan 31 12:00 ../../etc/passwd\r
-rw-r--r--   1 root  wheel        12 Jan 31 12:00\r
-what is this\r
"""
DOS = b"""01-31-20  12:00PM       <DIR>          sub dir\r
12-01-19  01:00AM                   12 a.txt\r
01-31-20  12:00PM       what           b\r
"""
FACTS = b"""type=cdir;modify=20200131120000; .\r
Type=dir;Modify=20200131120000;perm=el; sub dir\r
type=pdir; ..\r
type=file;size=12;modify=20191201010000.123; a.txt\r
size=99999999999999999999999; odd\r
no facts at all\r
"""


def test_the_usual_forms_of_a_listing_are_read() -> None:
    unix = read_listing(UNIX, facts=False).entries
    dos = read_listing(DOS, facts=False).entries
    facts = read_listing(FACTS, facts=True).entries

    assert unix == (
        Entry(b"a.txt", False, "12", "Dec 1 2019"),
        Entry(b"iso", False, "15", "2020-01-31 12:00"),
        Entry(b"link", False, "3", "Feb 02 10:10"),
        Entry(b"no group", False, "13", "Dec 1 2019"),
        Entry(b"nobody", False, "14", "Dec 1 2019"),
        Entry(b"sub dir", True, "4096", "Jan 31 12:00"),
    )
    assert dos == (Entry(b"a.txt", False, "12", "12-01-19 01:00AM"), Entry(b"sub dir", True, "", "01-31-20 12:00PM"))
    assert facts == (
        Entry(b"a.txt", False, "12", "20191201010000"),
        Entry(b"odd", False, "", ""),
        Entry(b"sub dir", True, "", "20200131120000"),
    )


def test_a_listing_has_limits() -> None:
    many = b"".join(b"type=file; %d\n" % number for number in range(MAX_ENTRIES + 1))

    assert read_listing(many, facts=True).cut
    assert len(read_listing(many, facts=True).entries) == MAX_ENTRIES
    assert not read_listing(b"type=file; x\n" * MAX_LINES, facts=True).cut
    assert read_listing(b"\n" * (MAX_LINES + 1), facts=True).cut
    assert read_listing(b"type=file; " + b"x" * 5000, facts=True).entries == ()


def test_names_become_links_that_lead_back_to_them() -> None:
    names = [b"http:", b"..;", b"a?b#c", b"%2e%2e", b"\xff\xfe", b"<script>", b'"&', "\u00e9".encode(), b" lead"]
    data = b"".join(b"type=file; %s\n" % name for name in names)

    page = index_page(b"/<dir>/", read_listing(data, facts=True))

    read_back = extract_page(page, CONTENT_TYPE, "ftp://h/dir/")
    assert read_back.title == "Index of /<dir>/"
    assert {ftp_path("ftp://h/" + href) for href in read_back.hrefs} == {FtpPath(b"/" + name, False) for name in names}
