"""The JSON outputs have the forms that their schemas describe, and a page has the same form in all of them.

Run as a script (`make docs`), it writes docs/schemas.
"""

import csv
import json
import shutil
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import jsonschema_rs
import psycopg
import pyarrow.parquet
import pytest

import gossamer
from gossamer.cli.main import main
from gossamer.cli.schema import SCHEMAS, schema_text
from gossamer.model.cache_fault import CacheFault
from gossamer.observe.workers import WorkerFigures
from gossamer.reports.export.tables import PAGES_WITH_PARTS, Kind
from tests.backends.postgres.postgres_databases import PostgresDatabases
from tests.integration.crawl_process import gossamer as run
from tests.integration.raw_site import RawSite, answer
from tests.service.service_process import Service

pytestmark = pytest.mark.service

Captured = pytest.CaptureFixture[str]
FOLDER = Path(__file__).resolve().parents[2] / "docs" / "schemas"

CONTRACT = (
    *("v", "url", "host", "state", "status", "reason", "depth", "via", "priority", "size", "mime", "title", "language"),
    *("canonical", "digest", "fetched_at", "took", "next_visit", "found_at", "found_on", "links", "duplicate_of"),
    *("near_duplicate_of", "distance", "redirect_to", "truncated", "unverified", "replaced_characters", "etag"),
    *("last_modified", "rendered", "warc_file", "warc_offset", "warc_length", "priority_parts"),
)

HOME = """<!DOCTYPE html><html lang=de><title>Über, "uns"</title><link rel=canonical href=/start>
    <a href=/same>1</a> <a href=/copy>2</a> <a href=/moved>3</a> <a href=/missing>4</a> <a href=/gone>5</a>
    <a href=/private>6</a> <a href=/broken>7</a></html>"""
SAME = b"<!DOCTYPE html><title>=1+1</title><p>the same document at two addresses \xff</html>"
SITE = {
    "/robots.txt": answer(b"User-agent: *\nDisallow: /private\nCrawl-delay: 0.01\n", kind="text/plain"),
    "/": answer(HOME.encode(), 'ETag: "1"', "Last-Modified: Mon, 06 May 2024 10:00:00 GMT"),
    "/same": answer(SAME),
    "/copy": answer(SAME),
    "/moved": b"HTTP/1.1 301 Moved\r\nLocation: /same?moved\r\nContent-Length: 0\r\n\r\n",
    "/gone": b"HTTP/1.1 410 Gone\r\nContent-Length: 0\r\n\r\n",
    "/broken": b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\nnonsense\r\n",
    "/same?moved": answer(b"<!DOCTYPE html><title>Moved</title><p>a page that a redirect led to</html>"),
}


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("shapes")
    (folder / "gossamer.toml").write_text("[retry]\nmax_tries = 1\n")
    (folder / "metrics.toml").write_text('[service]\nmetrics_listen = "127.0.0.1:0"\n')
    with RawSite(SITE) as site:
        fixed = ["--dir", folder / "crawl", "--config", folder / "gossamer.toml", "--allow-private", "--delay", 0.02]
        ended = run("crawl", site.base + "/", *fixed, "--order", "bfs", "--quiet")
        assert ended.status == 0, ended.err
        yield folder / "crawl"


@pytest.fixture(scope="module")
def served(crawled: Path) -> dict[str, Any]:
    """What the service answers, and what the status is while it runs."""
    with Service(crawled, "--no-keep-fresh", "--config", crawled.parent / "metrics.toml") as service:
        pages = service.get("/pages?limit=100&parts=true").json["pages"]
        return {
            "page": pages,
            "serve": [service.announced],
            "host": service.get("/hosts").json["hosts"],
            "dead": service.get("/dead").json["dead"],
            "explain": [service.get(f"/explain?url={pages[0]['url']}").json],
            "status": run("status", "--json", "--dir", crawled).lines,
        }


def printed(capsys: Captured, *words: object) -> list[dict[str, Any]]:
    assert main([str(word) for word in words]) == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def from_text(text: str, kind: Kind) -> object:
    """A cell of a CSV file; what is empty is unknown."""
    if not text:
        return None
    read: dict[Kind, Callable[[str], Any]] = {Kind.WHOLE: int, Kind.REAL: float, Kind.PARTS: json.loads}
    return {"true": True, "false": False}[text] if kind is Kind.FLAG else read.get(kind, str)(text)


def from_arrow(value: object, kind: Kind) -> object:
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return json.loads(value) if kind is Kind.PARTS and isinstance(value, str) else value


def test_one_crawl_gives_equal_pages_in_all_ways(
    crawled: Path, served: dict[str, Any], capsys: Captured, tmp_path: Path
) -> None:
    kinds = {column.name: column.kind for column in PAGES_WITH_PARTS}
    fixed = ["--dir", crawled, "--parts"]
    pages = printed(capsys, "pages", "--json", *fixed)
    warcs = [page.pop("warc") for page in pages]
    exported = printed(capsys, "export", "--quiet", *fixed)
    assert main(["export", "--quiet", "--raw", "-o", str(tmp_path / "pages.csv"), *map(str, fixed)]) == 0
    with (tmp_path / "pages.csv").open(encoding="utf-8", newline="") as file:
        cells = [{name: from_text(text, kinds[name]) for name, text in row.items()} for row in csv.DictReader(file)]
    assert main(["export", "--quiet", "-o", str(tmp_path / "pages.parquet"), *map(str, fixed)]) == 0
    table = pyarrow.parquet.read_table(tmp_path / "pages.parquet")
    arrow = [{name: from_arrow(value, kinds[name]) for name, value in row.items()} for row in table.to_pylist()]
    stored = [{**page, "priority_parts": None} for page in gossamer.open(crawled).urls()]
    answered = [{name: value for name, value in page.items() if name != "warc"} for page in served["page"]]

    assert len(pages) == 10 and {page["state"] for page in pages} == {
        *("stored", "duplicate", "redirect", "missing", "gone", "excluded", "dead")
    }
    assert {page["via"] for page in pages} == {"seed", "link", "redirect"}
    assert all(tuple(page) == CONTRACT for page in (*pages, *exported, *cells, *arrow, *answered))
    assert pages == exported == cells == arrow == answered
    assert stored == [{**page, "priority_parts": None} for page in pages]
    assert table.schema.metadata[b"gossamer.schema"] == b"page/1"
    for page, warc in zip(pages, warcs, strict=True):
        location = {name: page[f"warc_{name}"] for name in ("file", "offset", "length")}
        assert warc == (None if page["warc_file"] is None else location)
    home = pages[0]
    assert (home["title"], home["etag"], home["unverified"], home["rendered"]) == ('Über, "uns"', '"1"', False, False)
    assert next(page for page in pages if page["state"] == "stored" and page["depth"])["replaced_characters"] == 1


def test_hosts_and_explain_show_the_delay_of_the_last_start_unless_another_is_given(
    crawled: Path, capsys: Captured, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "gossamer.toml").write_text("delay = 7\ndelay_factor = 0\n")
    (tmp_path / "mine.toml").write_text("delay = 9\ndelay_factor = 0\n")
    fixed = ["--json", "--dir", crawled]

    (host,) = printed(capsys, "hosts", *fixed)
    (mine,) = printed(capsys, "hosts", "--config", "mine.toml", *fixed)
    url = f"http://{host['host']}/"
    shown = [printed(capsys, "explain", url, *words, *fixed)[0]["politeness"] for words in ([], ["--delay", "3"])]

    assert host["delay"] < 1 and mine["delay"] == 9
    assert shown[0]["gap"] < 1 and shown[1]["gap"] == 3


def test_a_host_with_a_port_is_refused_instead_of_matching_nothing(crawled: Path, capsys: Captured) -> None:
    (host,) = printed(capsys, "hosts", "--json", "--dir", crawled)
    name = host["host"]
    for command in ("export", "pages", "hosts", "dead"):
        for wrong in (f"{name}:8080", f"http://{name}/", f"http://{name}:8080/x"):
            assert main([command, "--host", wrong, "--dir", str(crawled)]) == 2
            assert f"{wrong!r} is not the name of a host; without scheme, port and path it is {name!r}" in (
                capsys.readouterr().err
            )
    assert main(["export", "--host", "none.test", "--dir", str(crawled)]) == 0
    assert "nothing of host none.test was exported" in capsys.readouterr().err


def deviations(schema: Any, value: Any, place: str = "") -> Iterator[str]:
    """Where the keys of an object are not those of its schema, which permits others for the sake of later versions."""
    if isinstance(value, dict) and "properties" in schema:
        if unknown := value.keys() - schema["properties"].keys():
            yield f"{place}: {unknown}"
        for name, own in schema["properties"].items():
            yield from deviations(own, value.get(name), f"{place}.{name}")
    elif isinstance(value, list) and isinstance(schema.get("items"), dict):
        for each in value:
            yield from deviations(schema["items"], each, place + "[]")


def workers_of_a_shared_crawl(capsys: Captured, databases: PostgresDatabases) -> list[Any]:
    """One that has just joined, and one that has had an error."""
    figures = WorkerFigures(
        at=1.0, commit_seconds=0.1, cache=CacheFault.SLOW, error="away", error_at=1.0, machine="m", pid=1
    )
    with databases.one() as url:
        with psycopg.connect(url, autocommit=True) as db:
            for epoch, stats in ((1, "{}"), (2, figures.encode())):
                db.execute("INSERT INTO fence (epoch) VALUES (%s)", (epoch,))
                row = (epoch, f"w{epoch}", stats)
                db.execute("INSERT INTO workers VALUES (%s, %s, 0, 'active', 1, now(), '0', %s)", row)
        return printed(capsys, "workers", "--json", "--store", url)


def test_every_json_output_is_valid_by_its_schema(
    crawled: Path, served: dict[str, Any], capsys: Captured, tmp_path: Path, postgres_databases: PostgresDatabases
) -> None:
    copy = shutil.copytree(crawled, tmp_path / "copy")
    fixed = ["--json", "--dir", crawled]
    pages = printed(capsys, "pages", *fixed)
    urls = [page["url"] for page in pages] + ["http://elsewhere.test/x.gif", "mailto:x"]
    found = {
        "page": [*pages, *printed(capsys, "pages", "--parts", *fixed)],
        "status": printed(capsys, "status", *fixed),
        "host": printed(capsys, "hosts", *fixed),
        "dead": printed(capsys, "dead", *fixed),
        "explain": [story for url in urls for story in printed(capsys, "explain", url, *fixed)],
        "crawl": run("crawl", "--delay", 0.02, *fixed[:1], "--dir", copy).lines,
        "link": printed(capsys, "export", "--what", "links", "--quiet", *fixed[1:]),
        "text": [
            *printed(capsys, "export", "--what", "text", "--quiet", *fixed[1:]),
            *printed(capsys, "export", "--what", "text", "--markdown", "--quiet", *fixed[1:]),
        ],
        "verify": [*printed(capsys, "verify", *fixed), *printed(capsys, "verify", "--repair", "--json", "--dir", copy)],
        "dead-requeue": printed(capsys, "dead", "requeue", "--host", "none.test", "--json", "--dir", copy),
        "dead-drop": printed(capsys, "dead", "drop", "--json", "--dir", copy),
        "worker": workers_of_a_shared_crawl(capsys, postgres_databases),
    }
    assert main(["index", "--json", "--dir", str(copy), "-o", str(tmp_path / "index.cdxj")]) == 0
    found["index"] = [json.loads(capsys.readouterr().err.splitlines()[-1])]

    assert {*found, "serve"} == SCHEMAS.keys() and served.keys() <= SCHEMAS.keys()
    found["serve"] = served["serve"]
    for name, objects in found.items():
        assert main(["schema", name]) == 0
        schema = json.loads(capsys.readouterr().out)
        validator = jsonschema_rs.Draft202012Validator(schema, validate_formats=True)
        assert objects
        for each in (*objects, *served.get(name, ())):
            each.pop("warc", None)
            validator.validate(each)
            assert each["v"] == 1 and list(deviations(schema, each)) == []
            assert not validator.is_valid({**each, "v": 2}) and not validator.is_valid({"v": 1})


def test_the_schemas_in_the_documents_are_those_that_the_command_prints() -> None:
    files = {path.name: path.read_text(encoding="utf-8") for path in FOLDER.iterdir()}

    assert files == {f"{name}-1.json": schema_text(name) for name in SCHEMAS}, "run `make docs`"
    for text in files.values():
        jsonschema_rs.meta.validate(json.loads(text))


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name in SCHEMAS:
        (FOLDER / f"{name}-1.json").write_text(schema_text(name), encoding="utf-8")
