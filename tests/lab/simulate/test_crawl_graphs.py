"""The link graph of a crawl, read back from a database of the real schema."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from gossamer.backends.sqlite.driver import open_for_writing, open_reader
from gossamer.errors import StoreFailed
from gossamer.model.states import UrlState
from gossamer.model.task import Via
from gossamer.reports.link_graph import StoredGraph
from gossamer.reports.table.links import LinkQueries
from tests.lab.simulate.stored_crawls import domain, links, url


@pytest.fixture
def db(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    made = open_for_writing(tmp_path / "crawl.db")
    yield made
    made.close()


def read(tmp_path: Path) -> StoredGraph:
    return StoredGraph(LinkQueries(open_reader(tmp_path / "crawl.db")))


def test_pages_are_numbered_by_discovery_and_have_the_links_in_the_order_of_the_page(
    db: sqlite3.Connection, tmp_path: Path
) -> None:
    for number, suffix in ((10, 7), (20, 3), (30, 7)):
        domain(db, number, suffix)
    url(db, 5, 20, via=Via.SEED)
    url(db, 6, 10, UrlState.REDIRECT)
    url(db, 9, 20, UrlState.QUEUED)
    url(db, 12, 30, UrlState.DEAD, Via.SEED)
    links(db, 5, 12, 6, 9)
    links(db, 6, 5)

    found = read(tmp_path)

    assert list(found.links()) == [[3, 1, 2], [0], [], []]
    pages = found.pages
    assert list(pages.site_of) == [0, 1, 0, 2]
    assert list(pages.suffix_of) == [0, 1, 1]
    assert list(pages.seeds) == [0, 3]
    assert pages.urls == ["http://d20/5", "http://d10/6", "http://d20/9", "http://d30/12"]


def test_excluded_and_unknown_urls_are_no_pages_and_nobody_links_to_them(
    db: sqlite3.Connection, tmp_path: Path
) -> None:
    domain(db, 1, 1)
    url(db, 1, 1, via=Via.SEED)
    url(db, 2, 1, UrlState.EXCLUDED, Via.SEED)
    url(db, 3, 1)
    links(db, 1, 77, 2, 3)
    links(db, 2, 3)
    links(db, 3, 2, 1)
    links(db, 99, 1)

    found = read(tmp_path)

    assert list(found.links()) == [[1], [0]]
    assert list(found.pages.seeds) == [0]


def test_a_graph_of_more_than_a_chunk_is_whole(db: sqlite3.Connection, tmp_path: Path) -> None:
    domain(db, 1, 1)
    db.execute("BEGIN")
    for number in range(1, 2501):
        url(db, number, 1)
        links(db, number, number % 2500 + 1)
    db.execute("COMMIT")

    assert list(read(tmp_path).links()) == [[page % 2500] for page in range(1, 2501)]


def test_links_that_are_no_fingerprints_are_told_as_a_fault_of_the_store(
    db: sqlite3.Connection, tmp_path: Path
) -> None:
    domain(db, 1, 1)
    url(db, 1, 1)
    db.execute("INSERT INTO links (url_id, targets) VALUES (1, x'0102')")

    with pytest.raises(StoreFailed, match="2 bytes are no list of 64-bit numbers"):
        list(read(tmp_path).links())
