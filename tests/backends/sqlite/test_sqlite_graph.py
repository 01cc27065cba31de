"""The link graph that the writer stores is the one that is read back."""

from pathlib import Path

from gossamer.model.batch import Batch
from gossamer.model.states import UrlState
from gossamer.model.task import Via
from gossamer.reports.link_graph import StoredGraph
from gossamer.reports.table.links import LinkQueries
from tests.backends.table_store import Store, candidate, links_of, settlement


def test_what_the_writer_stores_is_read_back_as_pages_sites_suffixes_and_links(tmp_path: Path) -> None:
    store = Store(tmp_path / "crawl.db")
    seed = candidate("www.a.test", 100)._replace(via=Via.SEED)
    found = [candidate("a.test", 101), candidate("b.test", 102), candidate("c.other", 103)]
    store.writer.commit(Batch(candidates=[seed]), store.now)
    store.writer.commit(
        Batch(
            candidates=found,
            settlements=[settlement(1)],
            links=[links_of(1, 1, ("c.other", 103), ("a.test", 101), ("b.test", 102), ("unknown.test", 999))],
        ),
        store.now,
    )
    store.writer.commit(
        Batch(settlements=[settlement(3, UrlState.REDIRECT, 3)], links=[links_of(3, 2, ("www.a.test", 100))]), store.now
    )

    reader = StoredGraph(LinkQueries(store.reading))

    assert list(reader.links()) == [[3, 1, 2], [], [0], []]
    assert list(reader.pages.site_of) == [0, 1, 2, 3]
    assert list(reader.pages.suffix_of) == [0, 0, 0, 1]
    assert list(reader.pages.seeds) == [0]
    store.close()
