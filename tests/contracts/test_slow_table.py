"""Any batches, failures, restarts and crashes: the tables and the reports are those of the slow and obvious twin."""

import random

import pytest

from gossamer.errors import DiskFull, StoreFailed
from gossamer.frontier.orderings import Ordering
from gossamer.frontier.orderings.best_first import BestFirst
from gossamer.frontier.orderings.mercator import Mercator
from gossamer.frontier.orderings.ordering import Balance, DepthFirst, Importance, Novelty
from gossamer.model.batch import Batch, RetiredHost
from gossamer.model.facts import UrlFacts
from gossamer.model.settlement import PageLinks
from gossamer.model.states import UrlState
from gossamer.model.units import Fingerprint, HostId, HostKey, Instant, Seconds
from gossamer.store.row_formats import unpack_numbers
from tests.backends.table_store import AnyTables, Store, candidate, domain_of, settlement, tables_and_seeds
from tests.contracts.slow_table import SlowTable
from tests.examples import random_seeds

HOSTS = ["a.x.test", "b.x.test", "y.test", "www.z.org", "z.org"]
STRANGERS = ["never.known.test", "c.x.test", "later.test"]  # of which the second is of a domain that will be known
NUMBERS = 40
ENOUGH = 60


class ByLinks(Ordering):
    """Three classes, by how many pages link to a URL; what other domains link to comes first."""

    name = "by-links"
    fronts = 3
    moved_by_links = True

    def score(self, url: UrlFacts) -> float:
        return min(1.0, (url.links + 3 * url.links_from_others) / 8)

    def front_of(self, score: float) -> int:
        return 0 if score >= 0.5 else 1 if score >= 0.25 else 2


ORDERINGS = [Ordering, ByLinks, Mercator, BestFirst, Novelty, Importance, Balance, DepthFirst]


def random_batch(table: SlowTable, chance: random.Random, now: float) -> Batch:
    batch = Batch()
    for _ in range(chance.choice((0, 1, 4, 12))):
        found_on = chance.choice((0, *(row.url_id for row in table.rows.values())))
        batch.candidates.append(candidate(chance.choice(HOSTS), chance.randint(1, NUMBERS), found_on=found_on))
    if chance.random() < 0.03:
        batch.candidates.append(candidate("later.test", 1))
    rows = sorted(table.rows.items(), key=lambda item: item[1].url_id)
    for (domain, _), row in chance.sample(rows, min(len(rows), chance.randrange(5))):
        done = settlement(row.url_id, UrlState.STORED, row.host_id, row.front)._replace(previous_state=row.state)
        kind = chance.random()
        if kind < 0.3 and row.state is UrlState.QUEUED:
            again = chance.choice((now - 5.0, now + 3.0, now + 500.0))
            batch.settle(done._replace(state=UrlState.QUEUED, available_at=Instant(again), reason="slow"))
            continue
        digest = chance.choice((b"one", b"two", None))
        batch.settle(done._replace(status=chance.choice((200, None)), digest=digest))
        if kind < 0.9:
            batch.links.append(random_links(row.url_id, table.domains[domain], chance))
    for domain_id in table.domains.values():
        if chance.random() < 0.2:
            batch.page_requests[domain_id] += chance.randint(1, 3)
    if table.hosts and chance.random() < 0.4:
        host_id = HostId(chance.randint(1, len(table.hosts)))
        batch.retired.append(RetiredHost(host_id, Instant(now + chance.choice((-5.0, 20.0)))))
    return batch


def random_links(url_id: int, domain_id: int, chance: random.Random) -> PageLinks:
    targets = {
        (chance.choice(HOSTS if chance.random() < 0.85 else STRANGERS), chance.randint(1, NUMBERS))
        for _ in range(chance.choice((0, 1, 5, 20)))
    }
    by_print = {number: host for host, number in sorted(targets)}  # each fingerprint once, as pages have them
    prints = [Fingerprint(number) for number in by_print]
    return PageLinks(url_id, domain_id, prints, [HostKey(host) for host in by_print.values()])


def check_tables(store: Store, table: SlowTable) -> None:
    columns = "id, front, place, priority, available_at, state, links, links_from_others, credit, visits, changes"
    columns += ", link_sum, steps, ordinal"
    assert store.rows(f"SELECT {columns} FROM urls ORDER BY id") == [
        (r.url_id, r.front, r.place, r.priority, r.available_at, r.state, *r.facts[3:11])
        for r in sorted(table.rows.values(), key=lambda row: row.url_id)
    ]
    assert store.rows("SELECT domain, accesses, links, links_from_others FROM domains ORDER BY id") == [
        (domain, table.domain_visits[domain], table.domain_links[domain], table.domain_others[domain])
        for domain in table.domains
    ]
    entries = sorted((host_id, front, place) for (host_id, front), place in table.fronts.items())
    assert store.rows("SELECT host_id, front, place FROM fronts ORDER BY 1, 2") == entries
    graph = {int(str(page)): unpack_numbers(targets) for page, targets in store.db.execute("SELECT * FROM links")}
    assert graph == table.pages
    suffixes: dict[str, int] = {}
    for domain in table.domains:
        suffix = domain_of(HostKey(domain))[2]
        suffixes[suffix] = suffixes.get(suffix, 0) + table.domain_visits[domain]
    visits = store.loader.suffix_visits()
    found = {str(suffix): visits.get(int(str(n)), 0) for n, suffix in store.rows("SELECT id, suffix FROM suffixes")}
    assert found == suffixes


def fail(new_seeds: object) -> str:
    raise StoreFailed("the transaction fails")


@pytest.mark.parametrize("ordering", ORDERINGS, ids=lambda kind: kind.name)
@tables_and_seeds(random_seeds(2))
def test_both_tables_are_alike_after_every_commit(tables: AnyTables, ordering: type[Ordering], seed: int) -> None:
    chance = random.Random(seed)
    store = Store(tables, ordering(), targets_at_once=ENOUGH)
    table = SlowTable(ordering(), ENOUGH, store.now)
    for _ in range(45):
        store.clock.advance(Seconds(chance.choice((0.0, 0.01, 1.0, 4.0))))
        batch = random_batch(table, chance, store.now)
        event = chance.random()
        if event < 0.03:  # before the transaction
            store.captures.flush_fails = True
            with pytest.raises(DiskFull):
                store.writer.commit(batch, store.now)
            store.captures.flush_fails = False
        elif event < 0.06:  # in its middle
            batch.answers[1] = fail
            with pytest.raises(StoreFailed):
                store.writer.commit(batch, store.now)
            del batch.answers[1]
            table.fail(batch, store.now)
        elif event < 0.14:
            if event < 0.1:
                table.close()
                store.close()
            else:  # a crash, as far as the tables can tell
                store.writer_db.close()
                store.loader.close()
            store.open()
            table.open(store.now)
            check_tables(store, table)

        committed = store.writer.commit(batch, store.now)
        report = table.commit(batch, store.now)

        assert committed.number == report.number == store.loader.counters()["commits"]
        touched = {(host_id, front): place for host_id, front, place in committed.touched}
        assert touched == report.touched
        assert sorted(committed.moved) == sorted(report.moved)
        assert sorted(committed.linked) == sorted(report.linked)
        check_tables(store, table)
    assert any(row.links_from_others for row in table.rows.values()), "nothing was tested"
    store.close()
