"""What every backend promises to readers of a crawl, and to those who repair one."""

from collections import Counter
from collections.abc import Iterator

import pytest

from gossamer.model.batch import Batch, SeedRecord
from gossamer.model.facts import QueuePosition, UrlFacts
from gossamer.model.settlement import Settlement
from gossamer.model.states import UrlState
from gossamer.model.task import Via
from gossamer.model.units import Domain, Fingerprint, HostId, HostKey, Instant, Origin
from gossamer.reports.link_graph import StoredGraph
from gossamer.reports.ports import CrawlEditor, CrawlReader
from gossamer.reports.records import HOST_SORTS, DeadFilter, HostFilter, OrphanRecord, PageFilter
from gossamer.reports.table.reader import TableEditor, TableReader
from tests.backends.table_store import FILE, START, AnyTables, Store, candidate, links_of, settlement

NOW = Instant(START)
A, B = HostKey("www.a.test"), HostKey("b.other")
URLS = [f"http://{A}/0/{n}" for n in range(1, 6)] + [f"http://{B}/0/{n}" for n in range(6, 9)]


def position(url: UrlFacts) -> QueuePosition:
    return QueuePosition(0, 0.5)


@pytest.fixture
def store(tables: AnyTables) -> Iterator[Store]:
    """Eight URLs on two hosts. Ids: 1 stored (a seed), 2 duplicate of 1, 3 redirect, 4 excluded, 5 queued (all on A); 6
    and 7 dead, 8 queued (on B)."""
    made = Store(tables)
    seed = candidate(A, 1)._replace(via=Via.SEED)
    made.writer.commit(Batch(candidates=[seed], seeds=[SeedRecord(seed.url, A, "a", "argument 1")]), NOW)
    found = [candidate(A, n, found_on=1) for n in range(2, 6)] + [candidate(B, n, found_on=1) for n in range(6, 9)]
    made.writer.commit(Batch(candidates=found, links=[links_of(1, 1, (A, 3), (B, 8), ("c.test", 99))]), NOW)
    visits = Batch(links=[links_of(3, 1, (A, 1))])
    visits.counters.update({"fetched": 3, "excluded:robots": 1})
    visits.settle(settlement(1, body=b"document")._replace(mime="text/html", title="One"))
    visits.settle(settlement(2, UrlState.DUPLICATE)._replace(status=200, duplicate_of=1))
    visits.settle(settlement(3, UrlState.REDIRECT)._replace(status=301, redirect_to=URLS[0]))
    visits.settle(settlement(4, UrlState.EXCLUDED)._replace(reason="robots"))
    for number, reason in ((6, "conn_refused"), (7, "read_timeout")):
        visits.settle(Settlement(HostId(2), number, 0, UrlState.DEAD, NOW, tries=3, reason=reason, detail="no answer"))
    made.writer.commit(visits, NOW)
    yield made
    made.close()


@pytest.fixture
def reader(store: Store) -> CrawlReader:
    return TableReader(store.reading)


@pytest.fixture
def editor(store: Store) -> CrawlEditor:
    return TableEditor(store.database)


# --- the crawl as a whole --------------------------------------------------------------------------------


def test_totals_count_states_hosts_and_seeds(reader: CrawlReader) -> None:
    found = reader.status.totals()

    assert {name: found[name] for name in ("pages", "queued", "dead", "hosts", "domains", "seeds", "discovered")} == {
        "pages": 1,
        "queued": 2,
        "dead": 2,
        "hosts": 2,
        "domains": 2,
        "seeds": 1,
        "discovered": 8,
    }
    assert found["excluded"] == {"robots": 1}
    assert found["dead_by_reason"] == {"conn_refused": 1, "read_timeout": 1}
    assert found["finished"] is False


def test_what_was_committed_after_the_reader_was_opened_is_read(store: Store, reader: CrawlReader) -> None:
    assert reader.pages.last_id() == 8
    store.writer.commit(Batch(candidates=[candidate(B, 9)]), NOW)

    assert reader.pages.last_id() == 9
    assert reader.status.totals()["queued"] == 3


def test_facts_of_the_crawl_are_text_or_none(store: Store, reader: CrawlReader) -> None:
    assert reader.status.fact("service") is None
    assert reader.status.queue_order() is None
    assert reader.status.options() == {}
    store.writer.commit(Batch(facts={"service": "{}", "options": '{"scope": "any"}', "order": "bfs"}), NOW)

    assert reader.status.fact("service") == "{}"
    assert reader.status.queue_order() == "bfs"
    assert reader.status.options() == {"scope": "any"}
    assert reader.status.seed_sources() == {"argument 1"}


def test_waits_tell_what_is_due(reader: CrawlReader) -> None:
    waits = reader.status.waits(NOW)

    assert (waits.in_flight, waits.due, waits.retries, waits.missing) == (None, 2, 0, 0)


def test_a_recrawl_report_samples_stored_pages(reader: CrawlReader) -> None:
    report = reader.status.recrawl_report(NOW)

    assert (report.overdue, report.waiting, len(report.sample)) == (0, 0, 1)


# --- pages -----------------------------------------------------------------------------------------------


def test_pages_come_in_order_of_discovery_with_their_last_visit(reader: CrawlReader) -> None:
    rows = list(reader.pages.stream(PageFilter()))

    assert [row.url for row in rows] == URLS
    first, second = rows[:2]
    assert (first.state, first.status, first.mime, first.title) == (UrlState.STORED, 200, "text/html", "One")
    assert (first.warc_file, first.warc_offset, first.warc_length) == (FILE, 0, len(b"document"))
    assert (second.duplicate_of, second.found_on) == (URLS[0], URLS[0])


def test_pages_are_filtered_by_state_and_host(reader: CrawlReader) -> None:
    def ids(state: UrlState | None = None, host: str | None = None) -> list[int]:
        chosen = PageFilter(state=state, host=host)
        streamed = [row.url_id for row in reader.pages.stream(chosen)]
        assert streamed == [row.url_id for row in reader.pages.window(chosen, after=0).items]
        return streamed

    assert ids(state=UrlState.QUEUED) == [5, 8]
    assert ids(host="B.other.") == [6, 7, 8]
    assert ids(state=UrlState.DEAD, host=A) == []
    assert ids(host="nowhere.test") == []


def test_windows_follow_each_other_without_gaps(reader: CrawlReader) -> None:
    found, after = [], 0
    while True:
        window = reader.pages.window(PageFilter(), after=after, most=3)
        found += [row.url_id for row in window.items]
        if window.next is None:
            break
        after = window.next

    assert found == list(range(1, 9))
    assert [row.url_id for row in reader.pages.window(PageFilter(), after=0, contains="other/0/7").items] == [7]


def test_progress_ends_with_the_newest_id(reader: CrawlReader) -> None:
    seen: list[tuple[int, int]] = []
    list(reader.pages.stream(PageFilter(), lambda done, total: seen.append((done, total))))

    assert seen[-1] == (8, 8)


# --- hosts -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sort", HOST_SORTS)
def test_hosts_are_sorted_as_the_port_says(sort: str, reader: CrawlReader) -> None:
    rows = reader.hosts.rows(HostFilter(), sort)

    assert rows == sorted(rows, key=lambda row: (HOST_SORTS[sort](row), row.host))
    assert reader.hosts.rows(HostFilter(), sort, offset=1, limit=1) == rows[1:2]


def test_a_host_has_its_counts(reader: CrawlReader) -> None:
    [row] = reader.hosts.rows(HostFilter(host="WWW.a.test."), "host")

    assert (row.host, row.domain, row.known, row.queued, row.stored) == (A, "a.test", 5, 1, 1)
    assert row.excluded == Counter({"robots": 1})


@pytest.mark.parametrize(
    ("wanted", "hosts"),
    [
        (HostFilter(), {A, B}),
        (HostFilter(host="*.a.test"), {A}),
        (HostFilter(host="a.test"), set()),
        (HostFilter(contains="other"), {B}),
    ],
)
def test_hosts_are_filtered_by_name(wanted: HostFilter, hosts: set[str], reader: CrawlReader) -> None:
    assert {row.host for row in reader.hosts.rows(wanted, "host")} == hosts
    assert reader.hosts.count(wanted) == len(hosts)


# --- dead letters ----------------------------------------------------------------------------------------


def test_dead_letters_come_with_their_last_failure(reader: CrawlReader) -> None:
    first, second = reader.dead_letters.stream(DeadFilter())

    assert (first.url, first.reason, first.tries, first.detail) == (URLS[5], "conn_refused", 3, "no answer")
    assert second.url == URLS[6]


def test_dead_letters_are_filtered_and_paged(reader: CrawlReader) -> None:
    letters = reader.dead_letters
    window = letters.window(DeadFilter(), after=0, most=1)

    assert ([letter.url_id for letter in window.items], window.next) == ([6], 6)
    assert [letter.url_id for letter in letters.window(DeadFilter(), after=6).items] == [7]
    assert letters.ids(DeadFilter(reason="read_timeout"), after=0, most=10) == [7]
    assert letters.ids(DeadFilter(host=A), after=0, most=10) == []
    assert letters.ids_of([URLS[6], URLS[0], "http://unknown.test/"]) == [7]


def test_excluded_urls_are_found_by_reason_and_host(reader: CrawlReader) -> None:
    assert [chunk for chunk in reader.dead_letters.excluded(("robots",)) if chunk] == [[(4, URLS[3], A, 1, 0)]]
    assert [chunk for chunk in reader.dead_letters.excluded(("robots",), B) if chunk] == []
    assert [chunk for chunk in reader.dead_letters.excluded(("depth_limit",)) if chunk] == []


# --- one URL ---------------------------------------------------------------------------------------------


def test_a_url_is_found_by_the_first_known_identity(reader: CrawlReader) -> None:
    facts = reader.urls.facts(A, Domain("a.test"), "test", Origin(f"http://{A}"), [Fingerprint(77), Fingerprint(2)])

    assert facts.url is not None and facts.visit is not None and facts.host is not None
    assert (facts.url.url, facts.url.state, facts.visit.duplicate_of) == (URLS[1], UrlState.DUPLICATE, URLS[0])
    assert (facts.host.host, [step.url for step in facts.way]) == (A, [URLS[0]])


def test_of_an_unknown_url_its_host_is_read(reader: CrawlReader) -> None:
    facts = reader.urls.facts(A, Domain("a.test"), "test", Origin(f"http://{A}"), [Fingerprint(77)])

    assert facts.url is None and facts.host is not None
    assert facts.next_id == 9


def test_hosts_with_seeds_are_known(reader: CrawlReader) -> None:
    assert reader.urls.seed_host(A) == A
    assert reader.urls.seed_host(B) is None
    assert reader.urls.seed_host_in(Domain("a.test")) == A
    assert reader.urls.seed_host_in(Domain("b.other")) is None


def test_parameters_and_the_key_of_fingerprints_are_known(reader: CrawlReader) -> None:
    assert reader.urls.learnt_parameters(A) == []
    assert reader.urls.fingerprint_key() == reader.links.fingerprint_key()


# --- links -----------------------------------------------------------------------------------------------


def test_edges_have_the_targets_of_a_page_and_its_visit(reader: CrawlReader) -> None:
    edges = list(reader.links.edges())

    assert [(page.url_id, page.targets) for page in edges] == [(1, [3, 8, 99]), (3, [1])]
    assert edges[0].visited.status == 200
    assert list(reader.links.edges(host=B)) == []
    assert [(url_id, targets) for url_id, targets in reader.links.targets()] == [(1, [3, 8, 99]), (3, [1])]


def test_nodes_and_names_are_those_of_all_urls(reader: CrawlReader) -> None:
    ids, prints = reader.links.nodes()

    assert (list(ids), list(prints)) == (list(range(1, 9)), list(range(1, 9)))
    assert dict(reader.links.names()) == dict(enumerate(URLS, 1))
    assert reader.links.names_of([3, 77]) == {3: URLS[2]}


def test_the_link_graph_leaves_out_excluded_and_unknown_urls(reader: CrawlReader) -> None:
    graph = StoredGraph(reader.links)

    assert list(graph.pages.ids) == [1, 2, 3, 5, 6, 7, 8]
    assert list(graph.pages.seeds) == [0]
    assert list(graph.links())[:3] == [[2, 6], [], [0]]
    assert len(set(reader.links.domain_suffixes().values())) == 2


# --- verify ----------------------------------------------------------------------------------------------


def test_nothing_is_wrong_with_what_the_writer_has_stored(reader: CrawlReader) -> None:
    audit = reader.audit

    assert not audit.integrity() and not audit.wrong_counters() and not audit.hosts_without_front()
    assert audit.hosts_counted_wrong() == 0
    assert not list(audit.unbacked()) and not list(audit.unknown_visits())
    assert not list(audit.unseen()) and not list(audit.dangling_contents())
    assert audit.count_urls() == 8


def test_captures_are_read_by_file_and_offset(reader: CrawlReader) -> None:
    assert reader.audit.archive_lengths() == {FILE: len(b"document")}
    [row] = reader.audit.captures_of(FILE)
    assert (row.offset, row.length, row.url_id, row.url, row.set_aside) == (0, 8, 1, URLS[0], False)
    assert list(reader.audit.captures_of("unknown.warc.gz")) == []


# --- changes ---------------------------------------------------------------------------------------------


def test_dead_letters_are_requeued_by_filter(reader: CrawlReader, editor: CrawlEditor) -> None:
    assert editor.requeue_dead(DeadFilter(reason="conn_refused"), NOW, position) == 1

    assert [row.url_id for row in reader.pages.stream(PageFilter(state=UrlState.QUEUED))] == [5, 6, 8]
    assert not reader.audit.wrong_counters() and not reader.audit.hosts_without_front()


def test_dropped_dead_letters_are_excluded(reader: CrawlReader, editor: CrawlEditor) -> None:
    assert editor.drop_dead(DeadFilter(host=B), NOW, position) == 2

    rows = list(reader.pages.stream(PageFilter(state=UrlState.EXCLUDED, host=B)))
    assert [row.reason for row in rows] == ["dropped", "dropped"]
    assert reader.status.totals()["excluded"] == {"dropped": 2, "robots": 1}


def test_a_repair_queues_a_page_and_its_duplicates_again(reader: CrawlReader, editor: CrawlEditor) -> None:
    with editor.repair(NOW, position) as repair:
        repair.set_aside(FILE, 0)
        assert repair.queue_again([1]) == 2
        repair.count_again()

    assert [row.url_id for row in reader.pages.stream(PageFilter(state=UrlState.QUEUED))] == [1, 2, 5, 8]
    assert [row.set_aside for row in reader.audit.captures_of(FILE)] == [True]
    assert reader.audit.wrong_counters() == []
    assert reader.audit.hosts_counted_wrong() == 0


def test_a_repair_that_fails_changes_nothing(reader: CrawlReader, editor: CrawlEditor) -> None:
    def fail() -> None:
        with editor.repair(NOW, position) as repair:
            repair.queue_again([1])
            repair.shorten(FILE, 0)
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()

    assert [row.url_id for row in reader.pages.stream(PageFilter(state=UrlState.QUEUED))] == [5, 8]
    assert reader.audit.archive_lengths() == {FILE: 8}


def test_lost_and_found_records_get_the_right_rows(reader: CrawlReader, editor: CrawlEditor) -> None:
    with editor.repair(NOW, position) as repair:
        repair.forget_capture(FILE, 0)
        repair.add_rows(
            [
                OrphanRecord(FILE, 0, 4, URLS[0], False, START, b"digest"),
                OrphanRecord(FILE, 4, 4, "http://unknown.test/", False, None, None),
            ]
        )

    rows = list(reader.audit.captures_of(FILE))
    assert [(row.offset, row.length, row.url, row.set_aside) for row in rows] == [
        (0, 4, URLS[0], False),
        (4, 4, None, True),
    ]


def test_the_content_seen_test_is_repaired(reader: CrawlReader, editor: CrawlEditor) -> None:
    with editor.repair(NOW, position) as repair:
        repair.forget_content(b"document")
    assert [url_id for url_id, _ in reader.audit.unseen()] == [1]

    with editor.repair(NOW, position) as repair:
        repair.learn_content(1)
    assert list(reader.audit.unseen()) == []
