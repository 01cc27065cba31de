"""What a crawl leaves: records that other people's tools accept, an index that finds them, tables of them."""

import csv
import gzip
import io
import json
import sqlite3
import zlib
from contextlib import closing
from pathlib import Path

import pytest
from warcio.archiveiterator import ArchiveIterator

from tests.extract.test_pdf import document as pdf_document
from tests.integration.crawl_process import Command, Json, gossamer, scene, small_web, wait_for_requests
from tests.integration.raw_site import RawSite, answer, chunked
from tests.warc_checking import check_warcs

pytestmark = pytest.mark.service

TEXT = "Das ist der Text einer Seite, und es ist genug davon, dass man die Sprache erkennt. " * 5
SAME = f"<!DOCTYPE html><html lang=de><title>Gleich</title><p>{TEXT}<a href=/deep>weiter</a></html>".encode()
DEEP = b"<!DOCTYPE html><html lang=en><title>Deep</title><p>the end</html>"
HOME = b"""<!DOCTYPE html><html lang=en><title>Home</title><base href="/"><a href="same">first
  one</a><a href="again" rel="nofollow">never</a><a href="copy">copy</a><a href="packed">packed</a>
  <a href="pieces">pieces</a><a href="other-pieces">other pieces</a></html>"""


def site() -> dict[str, bytes]:
    packed = gzip.compress(SAME, mtime=0)
    framed = "Transfer-Encoding: chunked"
    return {
        "/": answer(HOME),
        "/same": answer(SAME),
        "/copy": answer(SAME, "X-Copy: yes"),
        "/packed": answer(packed, "Content-Encoding: gzip"),
        "/pieces": answer(chunked(DEEP + b"<!-- pieces -->", 10), framed, length=False),
        "/other-pieces": answer(chunked(DEEP + b"<!-- pieces -->", 7), framed, length=False),
        "/deep": answer(DEEP),
    }


class Crawled:
    """A finished crawl of the site, and what its server sent."""

    def __init__(self, directory: Path, base: str, answers: dict[str, bytes]) -> None:
        self.dir, self.base, self.answers = directory, base, answers
        self.warcs = sorted((directory / "warc").glob("*.warc.gz"))

    def export(self, *options: object) -> str:
        ended = gossamer("export", "--dir", self.dir, *options)
        assert ended.status == 0, ended.err
        return ended.out

    def rows(self, *options: object) -> list[Json]:
        return [json.loads(line) for line in self.export(*options, "--format", "jsonl").splitlines()]


def crawl(folder: Path, toml: str = "") -> Crawled:
    folder.mkdir(exist_ok=True)
    (folder / "gossamer.toml").write_text(toml)
    answers = site()
    with RawSite(answers) as served:
        fixed = ["--dir", folder / "crawl", "--config", folder / "gossamer.toml", "--allow-private", "--delay", 0.02]
        # One after the other, so that it is known who comes first.
        ended = gossamer("crawl", served.base + "/", *fixed, "--order", "bfs", "--json", "--quiet")
        assert ended.status == 0, ended.err
        return Crawled(folder / "crawl", served.base, answers)


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Crawled:
    return crawl(tmp_path_factory.mktemp("outputs"))


def records(found: Crawled) -> list[tuple[str, dict[str, str], bytes]]:
    """Kind, named fields and block of every record, as warcio has them."""
    seen: list[tuple[str, dict[str, str], bytes]] = []
    for path in found.warcs:
        with path.open("rb") as file:
            seen += [
                (record.rec_type, dict(record.rec_headers.headers), record.raw_stream.read())
                for record in ArchiveIterator(file, no_record_parse=True)
            ]
    return seen


# --- the archive ----------------------------------------------------------------------------------------


def test_warcio_check_and_fastwarc_accept_every_record(crawled: Crawled) -> None:
    assert check_warcs(crawled.dir / "warc") == len(records(crawled)) > 10


def test_an_archived_page_is_byte_for_byte_what_the_server_sent(crawled: Crawled) -> None:
    blocks = {h["WARC-Target-URI"]: block for kind, h, block in records(crawled) if kind == "response"}

    assert blocks == {crawled.base + path: crawled.answers[path] for path in ("/", "/same", "/pieces", "/deep")}


def test_a_duplicate_is_a_revisit_record_that_names_the_original(crawled: Crawled) -> None:
    seen = records(crawled)
    originals = {h["WARC-Target-URI"]: h for kind, h, _ in seen if kind == "response"}
    revisits = {h["WARC-Target-URI"]: (h, block) for kind, h, block in seen if kind == "revisit"}
    pairs = {"/copy": "/same", "/packed": "/same", "/other-pieces": "/pieces"}

    assert revisits.keys() == {crawled.base + path for path in pairs}
    for path, original in pairs.items():
        head, block = revisits[crawled.base + path]
        of = originals[crawled.base + original]
        assert head["WARC-Profile"].endswith("/revisit/identical-payload-digest")
        assert head["WARC-Refers-To-Target-URI"] == crawled.base + original
        assert head["WARC-Refers-To-Date"] == of["WARC-Date"]
        assert head["WARC-Payload-Digest"] == of["WARC-Payload-Digest"]
        # A head is kept only where the original's body fits behind it.
        sent, _, _ = crawled.answers[path].partition(b"\r\n\r\n")
        assert block == (sent + b"\r\n\r\n" if path == "/copy" else b"")


def test_every_answer_has_its_request(crawled: Crawled) -> None:
    seen = records(crawled)
    answers = {h["WARC-Record-ID"]: h for kind, h, _ in seen if kind in ("response", "revisit")}
    requests = {h["WARC-Concurrent-To"]: h for kind, h, _ in seen if kind == "request"}

    assert answers.keys() == requests.keys()
    assert all(requests[i]["WARC-Target-URI"] == h["WARC-Target-URI"] for i, h in answers.items())


def test_duplicates_leave_no_record_where_none_is_wanted_and_links_one_where_they_are(tmp_path: Path) -> None:
    found = crawl(tmp_path, "[archive]\nrevisits = false\noutlinks = true\n")

    seen = records(found)
    assert "revisit" not in {kind for kind, _, _ in seen}
    metadata = {h["WARC-Target-URI"]: (h, block) for kind, h, block in seen if kind == "metadata"}
    head, block = metadata[found.base + "/same"]
    assert block == f"outlink: {found.base}/deep\r\n".encode()
    assert head["Content-Type"] == "application/warc-fields"
    assert head["WARC-Concurrent-To"] in {h["WARC-Record-ID"] for kind, h, _ in seen if kind == "response"}
    check_warcs(found.dir / "warc")
    assert gossamer("verify", "--dir", found.dir).status == 0


# --- the index ------------------------------------------------------------------------------------------


def test_the_index_is_sorted_and_leads_to_every_document(crawled: Crawled) -> None:
    ended = gossamer("index", "--dir", crawled.dir, "--quiet")
    lines = (crawled.dir / "index.cdxj").read_bytes().splitlines()

    assert ended.status == 0, ended.err
    assert lines == sorted(lines)
    found = {}
    for line in lines:
        _, moment, rest = line.decode().split(" ", 2)
        fields = json.loads(rest)
        with (crawled.dir / "warc" / fields["filename"]).open("rb") as file:
            file.seek(int(fields["offset"]))
            member = zlib.decompressobj(31).decompress(file.read(int(fields["length"])))
        record = next(iter(ArchiveIterator(io.BytesIO(gzip.compress(member)))))
        assert record.rec_headers.get_header("WARC-Target-URI") == fields["url"]
        assert record.rec_headers.get_header("WARC-Payload-Digest") == "sha1:" + fields["digest"]
        assert len(moment) == 14
        found[fields["url"].removeprefix(crawled.base)] = (fields["mime"], fields.get("status"))
    whole = ("text/html", "200")
    assert found == {
        **dict.fromkeys(("/", "/same", "/pieces", "/deep"), whole),
        "/copy": ("warc/revisit", "200"),
        "/packed": ("warc/revisit", None),
        "/other-pieces": ("warc/revisit", None),
    }


# --- tables ---------------------------------------------------------------------------------------------


def test_pages_are_exported_with_what_is_known_of_them(crawled: Crawled) -> None:
    rows = {str(row["url"]).removeprefix(crawled.base): row for row in crawled.rows("--what", "pages")}

    assert rows.keys() == set(site())
    assert rows["/same"]["title"] == "Gleich"
    assert rows["/copy"]["duplicate_of"] == crawled.base + "/same"
    assert rows["/copy"]["digest"] == rows["/same"]["digest"]
    assert rows["/deep"]["found_on"] == crawled.base + "/same"


def test_links_are_exported_with_their_texts(crawled: Crawled) -> None:
    rows = [row for row in crawled.rows("--what", "links") if row["source"] == crawled.base + "/"]

    assert rows[0] == {
        "v": 1,
        "source": crawled.base + "/",
        "target": crawled.base + "/same",
        "text": "first one",
        "kind": "a",
        "rel": "",
        "nofollow": False,
        "hreflang": None,
    }
    assert [row["nofollow"] for row in rows] == [False, True, False, False, False, False]


def test_texts_are_exported_once_for_each_document(crawled: Crawled) -> None:
    rows = {str(row["url"]).removeprefix(crawled.base): row for row in crawled.rows("--what", "text")}

    assert rows.keys() == {"/", "/same", "/pieces", "/deep"}
    assert str(rows["/same"]["text"]).startswith("Das ist der Text einer Seite")
    assert (rows["/same"]["language"], rows["/deep"]["language"]) == ("de", "en")


def test_pages_are_exported_as_markdown_files_in_a_new_directory(crawled: Crawled, tmp_path: Path) -> None:
    folder = tmp_path / "pages"

    crawled.export("--what", "markdown", "-o", folder)

    host = crawled.base.partition("://")[2].replace(":", "_")
    names = {path.relative_to(folder).as_posix() for path in folder.rglob("*.md")}
    (same,) = (path for path in folder.rglob("same*.md"))
    assert {name.partition("/")[0] for name in names} == {host}
    assert len(names) == len(crawled.rows("--what", "text"))
    head, _, text = same.read_text().removeprefix("---\n").partition("---\n")
    meta = {key: json.loads(value) for key, _, value in (line.partition(": ") for line in head.splitlines())}
    assert (meta["url"], meta["title"], meta["language"]) == (crawled.base + "/same", "Gleich", "de")
    assert set(meta) == {"url", "title", "fetched_at", "language", "digest"}
    assert f"[weiter]({crawled.base}/deep)" in text
    again = gossamer("export", "--dir", crawled.dir, "--what", "markdown", "-o", folder)
    assert (again.status, "is not empty" in again.err) == (2, True)


def test_the_text_of_a_pdf_is_exported_and_an_unreadable_one_is_counted(tmp_path: Path) -> None:
    pages = {
        "/": answer(b"<a href=/good.pdf>good</a> <a href=/bad.pdf>bad</a>"),
        "/good.pdf": answer(pdf_document("The river rose"), kind="application/pdf"),
        "/bad.pdf": answer(b"%PDF-1.7 and then nothing", kind="application/pdf"),
    }
    with RawSite(pages) as served:
        fixed = ("--dir", tmp_path / "crawl", "--allow-private", "--delay", 0.02, "--quiet")
        assert gossamer("crawl", served.base + "/", *fixed).status == 0

    ended = gossamer("export", "--dir", tmp_path / "crawl", "--what", "text", "--markdown")

    rows = {str(row["mime"]): row for row in map(json.loads, ended.out.splitlines())}
    assert (ended.status, len(rows)) == (0, 2)
    assert (rows["application/pdf"]["text"], rows["application/pdf"]["text_source"]) == ("The river rose", "pdf")
    assert rows["text/html"]["markdown"]
    assert "skipped: 1 PDF document without readable text (pdf_unreadable)" in ended.err


def test_the_graph_is_an_edge_list_by_url_or_by_number(crawled: Crawled, tmp_path: Path) -> None:
    by_url = {tuple(line.split("\t")) for line in crawled.export("--what", "graph").splitlines()}
    nodes = tmp_path / "nodes.tsv"
    numbers = [line.split("\t") for line in crawled.export("--what", "graph", "--nodes", nodes).splitlines()]

    names = dict(line.split("\t") for line in nodes.read_text().splitlines())
    base = crawled.base
    to = {"/same", "/copy", "/packed", "/pieces", "/other-pieces"}
    assert by_url == {*((base + "/", base + path) for path in to), (base + "/same", base + "/deep")}
    assert {(names[a], names[b]) for a, b in numbers} == by_url
    assert set(names.values()) == {base + path for path in site()}


def test_filters_choose_by_host_status_type_language_and_time(crawled: Crawled) -> None:
    def urls(*options: object) -> set[str]:
        return {str(row["url"]).removeprefix(crawled.base) for row in crawled.rows("--what", "pages", *options)}

    assert urls("--language", "de") == {"/same"}
    assert urls("--status", "2xx", "--mime", "text/*") == set(site())
    assert urls("--status", "404") == urls("--mime", "image/*") == urls("--host", "elsewhere.test") == set()
    assert urls("--host", "127.0.0.1") == urls("--since", "2020-01-01") == set(site())
    assert urls("--until", "2020-01-01T00:00Z") == set()


def test_all_formats_hold_the_same_rows(crawled: Crawled, tmp_path: Path) -> None:
    import pyarrow.parquet

    for what in ("pages", "links", "text"):
        plain = crawled.rows("--what", what)
        packed, table, lists = tmp_path / f"{what}.jsonl.gz", tmp_path / f"{what}.parquet", tmp_path / f"{what}.csv"
        for path in (packed, table, lists):
            crawled.export("--what", what, "-o", path)
        assert [json.loads(line) for line in gzip.decompress(packed.read_bytes()).splitlines()] == plain
        read = pyarrow.parquet.read_table(table).to_pylist()
        with lists.open(newline="") as file:
            rows = list(csv.DictReader(file))
        key = "source" if what == "links" else "url"
        assert [row[key] for row in read] == [row[key] for row in plain] == [row[key] for row in rows]
        assert [set(row) for row in read] == [set(row) for row in plain] == [set(row) for row in rows]


def test_an_export_that_fails_leaves_the_older_file_as_it_was(crawled: Crawled, tmp_path: Path) -> None:
    path = tmp_path / "pages.jsonl"
    path.write_text("older")

    ended = gossamer("export", "--dir", crawled.dir, "--what", "pages", "--status", "9xy", "-o", path)
    elsewhere = gossamer("export", "--dir", crawled.dir, "--what", "pages", "-o", tmp_path / "no" / "pages.jsonl")

    assert (ended.status, elsewhere.status) == (2, 1)
    assert "9xy" in ended.err
    assert path.read_text() == "older"
    assert [entry.name for entry in tmp_path.iterdir()] == ["pages.jsonl"]


def test_exports_and_checks_run_beside_a_live_crawl(tmp_path: Path) -> None:
    with scene(tmp_path / "web", small_web(seed=71, pages=400)) as stage:
        with Command(*stage.command) as crawler:
            wait_for_requests(stage, crawler, 60)
            live = [
                gossamer("export", "--dir", stage.dir, "--what", what, "--format", "jsonl")
                for what in ("pages", "links", "text", "graph")
            ]
            checked = gossamer("verify", "--dir", stage.dir)
            indexed = gossamer("index", "--dir", stage.dir, "-o", "-", "--quiet")
            ended = crawler.ended()
        assert ended.status == 0, ended.err
        assert [one.status for one in (*live, checked, indexed)] == [0] * 6, (live, checked.out)
        assert gossamer("verify", "--dir", stage.dir).status == 0
        check_warcs(stage.dir / "warc")
        with closing(sqlite3.connect(stage.dir / "crawl.db")) as db:
            (revisits,) = db.execute("SELECT count(*) FROM captures WHERE revisit").fetchone()
        assert revisits == ended.report["duplicates"] != 0
