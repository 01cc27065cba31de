"""The index of an archive: keys, lines, and an order that needs no memory."""

import json
import random
from base64 import b32encode
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.backends.warc.captures import WarcCaptures
from gossamer.backends.warc.reader import WarcArchive
from gossamer.dedup import payload_digest
from gossamer.model.settlement import Capture
from gossamer.reports import cdxj
from gossamer.reports.cdxj import SortedLines, index_lines, surt
from tests.backends.warc.warc_samples import new_ids, response_of, writer_in
from tests.table import table

KEYS = {
    "http://example.org": "org,example)/",
    "https://www.Example.org/": "org,example)/",
    "http://www2.a.example.org/B/C/": "org,example,a)/b/c",
    "http://example.org:8080/": "org,example:8080)/",
    "http://example.org:80/x": "org,example)/x",
    "https://example.org:80/x": "org,example:80)/x",
    "http://user:secret@example.org/x#part": "org,example)/x",
    "http://example.org/x?b=2&a=1&a=0": "org,example)/x?a=0&a=1&b=2",
    "http://example.org/x?": "org,example)/x",
    "http://example.org?q=A": "org,example)/?q=a",
    "http://example.org//a//b": "org,example)/a/b",
    "http://example.org/a%2Fb%20c": "org,example)/a/b%20c",
    "http://example.org/%2525": "org,example)/%25",
    "http://example.org/ü": "org,example)/%c3%bc",
    "http://example.org/?jsessionid=0123456789abcdef0123456789ABCDEF&x=1": "org,example)/?x=1",
    "http://example.org/?sid=short": "org,example)/?sid=short",
    "http://example.org/?cfid=1&cftoken=2": "org,example)/",
    "http://example.org/(S(4hqa0555fwsecu455xqckv45))/page.aspx": "org,example)/page.aspx",
    "http://127.0.0.1/": "1,0,0,127)/",
    "http://[::1]:8080/x": "[::1]:8080)/x",
    "ftp://example.org:21/pub/": "org,example)/pub",
    "dns:example.org": "dns:example.org",
}


@table("url", KEYS)
def test_an_address_has_the_key_by_which_replay_tools_look_it_up(url: str) -> None:
    assert surt(url) == KEYS[url]


@given(st.text(max_size=60))
def test_any_text_has_a_key_without_white_space(text: str) -> None:
    for url in (text, "http://" + text, "http://h.test/" + text):
        key = surt(url)

        if "://" in url and url.startswith("http://h.test/"):
            assert key.isascii() and not set(key) & set(" \t\r\n")


def test_a_line_has_key_moment_and_fields_and_stops_at_the_committed_end(tmp_path: Path) -> None:
    writer = writer_in(tmp_path)
    files = WarcCaptures(writer, new_ids(7))
    first = files.append(Capture(response_of(b"one"), payload_digest(b"one")))
    files.flush()
    end = writer.length
    files.append(Capture(response_of(b"two", status=404), payload_digest(b"two")))
    files.flush()
    files.close()
    archive = WarcArchive(tmp_path)

    [line] = index_lines(archive, writer.file_name, end)
    both = list(index_lines(archive, writer.file_name))

    key, moment, rest = line.split(" ", 2)
    assert (key, moment) == ("test,x)/page?a=1", "20231114221320")
    assert json.loads(rest) == {
        "url": "http://x.test/page?a=1",
        "mime": "text/html",
        "status": "200",
        "digest": b32encode(payload_digest(b"one")).decode("ascii"),
        "length": str(first.length),
        "offset": str(first.offset),
        "filename": writer.file_name,
    }
    assert both[0] == line
    assert json.loads(both[1].split(" ", 2)[2])["status"] == "404"


@pytest.mark.parametrize("number", [0, 1, 7, 5_000])
def test_lines_come_out_sorted_however_many_fit_into_memory(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cdxj, "MOST_RUNS", 4)
    rng = random.Random(number)
    lines = [f"{rng.randrange(10**6):x} ü{i}" for i in range(number)]

    with SortedLines(tmp_path, lines=97) as kept:
        assert kept.add(lines) == number
        assert len(list(tmp_path.rglob("*"))) <= 2 + cdxj.MOST_RUNS
        found = list(kept)

    assert found == sorted(line.encode() + b"\n" for line in lines)
    assert list(tmp_path.iterdir()) == []
