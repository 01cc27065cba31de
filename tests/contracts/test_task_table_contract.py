"""The task table of every backend and its slow, obvious twin answer every question alike."""

import random

import pytest

from gossamer.frontier.orderings import Ordering
from gossamer.model.batch import Batch, HostClock, RetiredHost
from gossamer.model.facts import QueuePosition, UrlFacts
from gossamer.model.loads import FrontRequest, HostRequest, LoadRequest
from gossamer.model.states import UrlState
from gossamer.model.task import Task
from gossamer.model.units import HostId, Instant, Seconds
from tests.backends.table_store import AnyTables, Store, candidate, links_of, settlement, tables_and_seeds
from tests.frontier.frontier_table import Changes, Outcome, TaskTable

HOSTS = 5
START = (-1e300, 0)


class ByClass(Ordering):
    """The URL says its class; four links lift it by one."""

    fronts = 3
    moved_by_links = True

    def score(self, url: UrlFacts) -> float:
        return 0.5

    def standing(self, url: UrlFacts) -> QueuePosition:
        return QueuePosition(max(0, int(url.url.split("/")[3]) - (url.links > 3)), 0.5)


class ByScore(Ordering):
    """The URL says its score; every link adds one."""

    by_score = True
    moved_by_links = True

    def score(self, url: UrlFacts) -> float:
        return int(url.url.split("/")[3]) + url.links


def compare_reads(store: Store, table: TaskTable, chance: random.Random) -> None:
    due_by = Instant(store.now + chance.choice((-1.0, 0.0, 0.5, 30.0)))
    places = [0.0, *(row.place for row in table.rows[-20:])]
    fronts = store.ordering.front_queues
    for front in range(fronts):
        cursor = chance.choice([START, (chance.choice(places), chance.randrange(HOSTS + 1))])
        cursor = min(cursor, (due_by, 0))
        wanted = FrontRequest(front, cursor, chance.choice((1, 3, 100)), due_by)
        found = store.loader.load(LoadRequest((wanted,), ())).fronts[0]
        assert (found.entries, found.next_due) == table.read_front(wanted)
    host_id = HostId(chance.randint(1, HOSTS))
    cursor = min((chance.choice(places), chance.randrange(len(table.rows) + 1)), (due_by, 0))
    classes = tuple((front, chance.choice([START, cursor]), chance.choice((1, 4, 64))) for front in range(fronts))
    asked = HostRequest(host_id, True, classes, due_by)
    loaded = store.loader.load(LoadRequest((), (asked,)))
    assert loaded.number == table.number
    read = loaded.hosts[0]
    record, expected = table.read_host(asked)
    assert read.record is not None and record is not None
    assert (read.record.next_contact, read.record.last_took, read.record.address) == (
        record.next_contact,
        record.last_took,
        record.address,
    )
    assert [(front, [told(t) for t in tasks], due) for front, tasks, due in read.classes] == [
        (front, [told(t) for t in tasks], due) for front, tasks, due in expected
    ]


def told(task: Task) -> tuple[int, int, float, float]:
    return task.url_id, task.front, task.place, task.priority


@pytest.mark.parametrize("by_score", [False, True])
@tables_and_seeds(range(5))
def test_both_tables_answer_alike_after_any_batches(tables: AnyTables, seed: int, by_score: bool) -> None:
    chance = random.Random(seed)
    store = Store(tables, ByScore() if by_score else ByClass(), targets_at_once=1)
    table = TaskTable(by_score)
    first = [(host_id, 0) for host_id in range(1, HOSTS + 1)]  # so that both number the hosts alike
    store.writer.commit(Batch(candidates=[candidate(f"h{h}.test", h, 0) for h, _ in first]), store.now)
    table.commit(Changes(found=list(first)), store.now)
    linked: set[int] = set()
    for step in range(60):
        store.clock.advance(Seconds(chance.choice((0.0, 0.01, 1.0, 10.0))))
        batch, changes = Batch(), Changes()
        for _ in range(chance.choice((0, 1, 5))):
            host_id, value = chance.randint(1, HOSTS), chance.randrange(3)
            number = len(table.rows) + len(changes.found) + 1
            batch.candidates.append(candidate(f"h{host_id}.test", number, value))
            changes.found.append((host_id, value))
        chosen = chance.sample(table.queued, min(len(table.queued), chance.randrange(6)))
        for row in chosen[:3]:
            again_at = chance.choice((None, None, store.now, store.now + 5.0, store.now + 50.0))
            state = UrlState.STORED if again_at is None else UrlState.QUEUED
            done = settlement(row.url_id, state, row.host_id, row.front)
            batch.settle(done if again_at is None else done._replace(available_at=Instant(again_at)))
            changes.outcomes.append(Outcome(row.host_id, row.url_id, row.front, again_at))
        # Links of a page that is not in the table. By class, what waits for a date would be moved by its next link.
        lifted = [row for row in chosen[3:] if by_score or (row.place <= store.now and row.url_id not in linked)]
        if lifted:
            targets = [(f"h{row.host_id}.test", row.url_id) for row in lifted]
            batch.links.append(links_of(100_000 + step, 1, *targets))
            if not by_score:  # a class is looked at when there are four
                batch.links += [links_of(number * 100_000 + step, 1, *targets) for number in (2, 3, 4)]
            linked.update(row.url_id for row in lifted)
            changes.lifted += [(row.url_id, 1) for row in lifted]
        if chance.random() < 0.4:
            clock = (store.now + chance.choice((1.0, 40.0)), 0.5, "10.0.0.1")
            host = HostId(chance.randint(1, HOSTS))
            batch.hosts[host] = HostClock(host, Instant(clock[0]), clock[1], clock[2])
            changes.clocks[host] = clock
        if chance.random() < 0.4:
            host, until = HostId(chance.randint(1, HOSTS)), Instant(store.now + chance.choice((-5.0, 20.0)))
            batch.retired.append(RetiredHost(host, until))
            changes.retired.append((host, until))
        committed = store.writer.commit(batch, store.now)
        report = table.commit(changes, store.now)
        assert committed.number == report.number
        assert sorted(committed.touched) == report.touched
        assert (committed.settled, committed.retired) == (report.settled, report.retired)
        assert sorted(committed.moved) == sorted(report.moved)
        for _ in range(3):
            compare_reads(store, table, chance)
    store.close()
