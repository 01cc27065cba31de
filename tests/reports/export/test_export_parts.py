"""The parts of an export: which rows, in which form, and a file that is whole or not there."""

import gzip
import io
import json
import os
from array import array
from pathlib import Path

import pytest

from gossamer.errors import UsageError
from gossamer.model.units import Instant
from gossamer.reports.export.formats import Csv, JsonLines, Tabs, open_output, timestamp
from gossamer.reports.export.rows import NodeTable
from gossamer.reports.export.tables import Column, Kind, Row, Selection, mimes_from, moment_from, statuses_from
from tests.table import table

COLUMNS = (Column("name"), Column("at", Kind.MOMENT), Column("n", Kind.WHOLE), Column("yes", Kind.FLAG))
ROWS: list[Row] = [('a "b", c\nd', 1_700_000_000.5, 7, True), ("ü\ud800", None, None, False)]


@table(
    ("wanted", "passes"),
    [
        (Selection(), True),
        (Selection(since=Instant(100.0)), True),
        (Selection(since=Instant(100.1)), False),
        (Selection(until=Instant(100.0)), False),
        (Selection(until=Instant(100.1)), True),
        (Selection(statuses=statuses_from("404,2xx")), True),
        (Selection(statuses=statuses_from("404")), False),
        (Selection(mimes=mimes_from("text/*")), True),
        (Selection(mimes=mimes_from("TEXT/HTML")), True),
        (Selection(mimes=mimes_from("text/plain, image/*")), False),
    ],
)
def test_a_page_passes_the_filters_that_fit(wanted: Selection, passes: bool) -> None:
    assert wanted.wants(Instant(100.0), 200, "text/html; charset=utf-8") is passes
    assert wanted.wants(None, None, None) is (wanted == Selection())


def test_a_language_is_also_its_regions() -> None:
    wanted = Selection(language="pt")

    assert [wanted.wants_language(tag) for tag in ("pt", "PT-br", "ptx", "de", None)] == [
        True,
        True,
        False,
        False,
        False,
    ]
    assert Selection().wants_language(None)


def test_moments_are_utc_unless_they_say_otherwise() -> None:
    assert moment_from("1970-01-02", "--since") == Instant(86_400.0)
    assert moment_from("1970-01-01T02:00+01:00", "--since") == Instant(3_600.0)
    assert moment_from(None, "--since") is None


@pytest.mark.parametrize("text", ["yesterday", "", "2024-13-01"])
def test_what_is_no_moment_is_refused_by_name(text: str) -> None:
    with pytest.raises(UsageError, match="--since"):
        moment_from(text, "--since")


@pytest.mark.parametrize(
    "read", [lambda: statuses_from("20"), lambda: statuses_from("abc"), lambda: mimes_from("html")]
)
def test_what_is_no_filter_is_refused(read: object) -> None:
    assert callable(read)
    with pytest.raises(UsageError, match="is neither"):
        read()


def test_json_lines_have_every_column_and_survive_what_is_no_text() -> None:
    stream = io.BytesIO()
    writer = JsonLines(stream, COLUMNS)
    writer.write(ROWS)
    writer.write([])
    writer.close()

    first, second = (json.loads(line) for line in stream.getvalue().decode().splitlines())
    assert first == {"name": 'a "b", c\nd', "at": "2023-11-14T22:13:20.500Z", "n": 7, "yes": True}
    assert second == {"name": "ü\ud800", "at": None, "n": None, "yes": False}


def test_csv_has_a_heading_and_quotes_what_must_be() -> None:
    stream = io.BytesIO()
    Csv(stream, COLUMNS).write(ROWS)

    assert stream.getvalue().decode() == (
        'name,at,n,yes\r\n"a ""b"", c\nd",2023-11-14T22:13:20.500Z,7,true\r\nü\\ud800,,,false\r\n'
    )


def test_tabs_have_no_heading() -> None:
    stream = io.BytesIO()
    Tabs(stream, ()).write([(1, 2), ("http://a.test/", "http://b.test/")])

    assert stream.getvalue() == b"1\t2\nhttp://a.test/\thttp://b.test/\n"


def test_a_moment_beyond_the_calendar_is_none() -> None:
    assert timestamp(1e300) is timestamp(-1.0) is timestamp(float("nan")) is None


def test_a_file_appears_when_it_is_whole_and_packed_if_its_name_says_so(tmp_path: Path) -> None:
    path = tmp_path / "rows.gz"
    with open_output(str(path)) as stream:
        stream.write(b"rows")
        assert not path.exists()

    assert gzip.decompress(path.read_bytes()) == b"rows"
    assert list(tmp_path.iterdir()) == [path]


def test_a_named_pipe_is_written_to_and_stays_a_pipe(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    reading = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    with open_output(str(path)) as stream:
        stream.write(b"rows")

    assert os.read(reading, 100) == b"rows"
    assert path.is_fifo() and list(tmp_path.iterdir()) == [path]
    os.close(reading)


def test_the_file_behind_a_symbolic_link_is_replaced_and_the_link_stays(tmp_path: Path) -> None:
    link, target = tmp_path / "latest", tmp_path / "rows"
    link.symlink_to(target)
    for rows in (b"first", b"second"):
        with open_output(str(link)) as stream:
            stream.write(rows)

        assert link.is_symlink() and target.read_bytes() == rows


def test_a_file_whose_making_fails_leaves_nothing_and_the_older_one_stays(tmp_path: Path) -> None:
    path = tmp_path / "rows"
    path.write_bytes(b"older")

    def fail() -> None:
        with open_output(str(path)) as stream:
            stream.write(b"rows")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()

    assert path.read_bytes() == b"older"
    assert list(tmp_path.iterdir()) == [path]


def test_fingerprints_become_ids_in_their_order_and_unknown_ones_are_left_out() -> None:
    nodes = NodeTable(array("q", [1, 2, 5]), array("q", [30, -10, 2**63 - 1]))

    assert nodes.ids_of([2**63 - 1, 7, -10, 30, 30, -(2**63)]) == [5, 2, 1, 1]
    assert nodes.ids_of([]) == []
    assert NodeTable(array("q"), array("q")).ids_of([1]) == []
