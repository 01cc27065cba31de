"""What sitemaps say of URLs: kept with the URLs, and counted in their priorities."""

from collections.abc import Iterator

import pytest

from gossamer.frontier.orderings.best_first import BestFirst
from gossamer.frontier.orderings.mercator import Mercator
from gossamer.model.batch import Batch, HintRecord, SitemapName, SitemapRecord
from gossamer.model.facts import UrlFacts
from gossamer.model.loads import HostRequest, LoadRequest, SitemapFacts
from gossamer.model.requeue import ReportedChange, RequeueOrder
from gossamer.model.units import Fingerprint, HostId, HostKey, Instant, Seconds
from tests.backends.table_store import START, AnyTables, Store, candidate, reorder_tables, settlement

DAY = 86_400.0
HOST = HostKey("h.test")


@pytest.fixture
def store(tables: AnyTables) -> Iterator[Store]:
    opened = Store(tables, Mercator())
    yield opened
    opened.close()


def hint(number: int, modified: float | None = None, changefreq: str | None = None, listed_in: int = 9) -> HintRecord:
    date = None if modified is None else Instant(modified)
    return HintRecord(HOST, Fingerprint(number), listed_in, date, changefreq, 0.5)


def test_a_date_of_modification_counts_in_the_priority(store: Store) -> None:
    ordering = Mercator()
    fresh, old, unknown = candidate("h.test", 1), candidate("h.test", 2), candidate("h.test", 3)
    fresh, old = fresh._replace(modified=store.now), old._replace(modified=Instant(store.now - 3000 * DAY))

    store.writer.commit(Batch(candidates=[fresh, old, unknown]), store.now)

    found = store.rows("SELECT priority FROM urls ORDER BY id")
    facts = [
        UrlFacts(n, c.url, 1, ordinal=n, age=age)
        for n, (c, age) in enumerate(((fresh, 0.0), (old, 3000 * DAY), (unknown, None)))
    ]
    assert [score for (score,) in found] == pytest.approx([ordering.score(fact) for fact in facts])
    assert found[0] > found[1] and found[0] > found[2]


def test_a_priority_in_a_sitemap_counts_for_a_new_url_and_for_one_that_waits(tables: AnyTables) -> None:
    for ordering in (Mercator(), BestFirst()):
        store = Store(tables, ordering)
        first = store.value("SELECT coalesce(max(id), 0) FROM urls")
        assert isinstance(first, int)
        numbers = [first + n for n in range(1, 5)]
        found = [candidate("h.test", number) for number in numbers[:3]]
        worth = {numbers[0]: 1.0, numbers[1]: 0.0}
        hints = [hint(number)._replace(priority=priority) for number, priority in worth.items()]
        store.writer.commit(Batch(candidates=found, hints=hints), store.now)
        high, low, plain = (
            float(str(x)) for (x,) in store.rows("SELECT priority FROM urls WHERE id > ? ORDER BY id", first)
        )
        assert high - plain > 700 and plain - low > 700  # octaves of 1024, cut to quarters, less the ordinals

        moved = store.writer.commit(Batch(hints=[hint(numbers[2])._replace(priority=1.0)]), store.now).moved

        (move,) = moved
        assert move.url_id == numbers[2] and move.priority - plain == 1024
        assert store.rows("SELECT front, place, priority FROM urls WHERE id = ?", move.url_id) == [move[2:]]
        store.writer_db.execute("UPDATE urls SET state = 1")
        store.close()


def test_the_last_modified_of_the_page_itself_counts_when_it_is_scored_again(store: Store) -> None:
    store.writer.commit(Batch(candidates=[candidate("h.test", n) for n in (1, 2, 3)]), store.now)
    dates = {1: "Tue, 14 Nov 2023 22:13:20 GMT", 2: "Sun, 06 Nov 1994 08:49:37 GMT", 3: "Sat, 01 Jan 2050 00:00:00 GMT"}
    due = Instant(store.now + 1.0)
    done = [
        settlement(n, host_id=1)._replace(status=200, last_modified=date, available_at=due) for n, date in dates.items()
    ]
    store.writer.commit(Batch(settlements=done), store.now)

    store.writer.commit(Batch(requeue=RequeueOrder(Instant(due + 1.0), 10)), Instant(due + 1.0))

    fresh, old, never = (float(str(x)) for (x,) in store.rows("SELECT priority FROM urls ORDER BY id"))
    assert fresh - old > 400 and old - never < 100  # half an octave; a date in the future says nothing


def test_the_date_still_counts_when_the_queue_is_put_in_order_anew(store: Store) -> None:
    store.writer.commit(Batch(candidates=[candidate("h.test", 1)._replace(modified=store.now)]), store.now)
    before = store.value("SELECT priority FROM urls")
    other = Mercator({"freshness": 5.0})
    store.close()

    reorder_tables(store.tables, other.name, other, Instant(store.now + 30 * DAY), settings=other.settings)
    store.open()

    facts = UrlFacts(1, candidate("h.test", 1).url, 1, age=30 * DAY)
    assert store.value("SELECT priority FROM urls") == pytest.approx(other.score(facts))
    assert store.value("SELECT priority FROM urls") != before


def test_what_a_sitemap_says_is_kept_of_known_urls_too_and_the_last_word_counts(store: Store) -> None:
    store.writer.commit(Batch(candidates=[candidate("h.test", 1)]), store.now)

    store.writer.commit(Batch(hints=[hint(1, 1e9, "daily"), hint(2, 1e9)]), store.now)
    store.writer.commit(Batch(hints=[hint(1, None, "weekly", listed_in=10)]), store.now)

    assert store.rows("SELECT url_id, listed_in, changefreq, priority FROM hints") == [(1, 10, "weekly", 0.5)]
    assert store.rows("SELECT modified FROM urls") == [(1e9,)]


def test_a_host_knows_how_many_sitemaps_it_has_and_what_they_list(store: Store) -> None:
    maps = [candidate("h.test", number)._replace(sitemap=1) for number in (1, 2)]
    names = [SitemapName(HOST, Fingerprint(1), HostKey(host)) for host in ("a.test", "h.test", "a.test")]
    records = [
        SitemapRecord(1, HostId(1), "urlset", 30, 0),
        SitemapRecord(2, HostId(1), "sitemapindex", 7, 0),
        SitemapRecord(3, HostId(2), "urlset", 500, 0),
    ]

    store.writer.commit(
        Batch(candidates=[*maps, candidate("h.test", 3)], sitemap_names=names, sitemaps=records), store.now
    )

    assert store.loader.sitemap_facts(2, HostId(1)) == SitemapFacts((), 30, 2)
    assert store.loader.sitemap_facts(2, HostId(2)) == SitemapFacts((), 500, 0)
    itself = store.loader.sitemap_facts(1, HostId(1))
    assert itself == SitemapFacts((HostKey("a.test"), HOST), 0, 2), "read again, it takes no room from itself"


# --- reports of changes --------------------------------------------------------------------------------------


def with_pages(store: Store, *numbers: int) -> None:
    """Pages that were visited at START, and are planned ten days later."""
    store.writer.commit(Batch(candidates=[candidate("h.test", n) for n in numbers]), store.now)
    pages = [settlement(n, body=b"%d" % n)._replace(available_at=Instant(START + 10 * DAY)) for n in numbers]
    store.writer.commit(Batch(settlements=pages), store.now)


def dates(store: Store) -> list[float]:
    return [(date - START) / DAY for (date,) in store.db.execute("SELECT available_at FROM urls ORDER BY id")]


def test_a_page_that_a_trusted_list_says_has_changed_is_due_when_it_changed(store: Store) -> None:
    with_pages(store, 1, 2, 3, 4)
    store.clock.advance(Seconds(2 * DAY))
    told = [
        hint(1, START + DAY)._replace(trusted=True),
        hint(2, START + DAY),  # not trusted
        hint(3, START - DAY)._replace(trusted=True),  # we have seen that
        hint(4, START + 3 * DAY)._replace(trusted=True),  # tomorrow's news
    ]

    committed = store.writer.commit(Batch(hints=told), store.now)

    assert dates(store) == [1.0, 10.0, 10.0, 10.0]
    assert committed.reported == store.value("SELECT value FROM counters WHERE name = 'reported'") == 1


def test_the_date_of_a_visit_is_brought_forward_and_never_put_off(store: Store) -> None:
    with_pages(store, 1, 2)
    store.clock.advance(Seconds(2 * DAY))
    asked: list[ReportedChange] = []

    def when(page: ReportedChange) -> Instant | None:
        asked.append(page)
        return None if page.url_id == 1 else Instant(START + 99 * DAY)

    store.writer._date_of_reported = when
    told = [hint(number, START + DAY)._replace(trusted=True) for number in (1, 2)]

    committed = store.writer.commit(Batch(hints=told), store.now)

    assert (committed.reported, dates(store)) == (0, [10.0, 10.0])
    assert [(page.url_id, page.host, page.visited, page.modified) for page in asked] == [
        (number, HOST, START, START + DAY) for number in (1, 2)
    ]


def test_what_lists_say_of_a_url_comes_with_its_task(store: Store) -> None:
    store.writer.commit(Batch(candidates=[candidate("h.test", n) for n in (1, 2)]), store.now)
    store.writer.commit(Batch(hints=[hint(1, 1e9, "daily")]), store.now)

    classes = tuple((front, (-1.0, 0), 9) for front in range(3))
    loaded = store.loader.load(LoadRequest((), (HostRequest(HostId(1), False, classes, Instant(2 * START)),)))

    tasks = [task for host in loaded.hosts for _, tasks, _ in host.classes for task in tasks]
    assert [(task.url_id, task.modified, task.changefreq) for task in tasks] == [(1, 1e9, "daily"), (2, None, None)]
