"""Each step of the protocol on a real server, in the order in which it matters. Every mutant fails at one of them."""

import itertools
import threading
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any, TypeVar

import psycopg
import pytest

from gossamer.backends.postgres.session import PostgresSession, cluster_schema, cluster_statements
from gossamer.cluster import crawl_end, host_holds, inbox
from gossamer.cluster.fence import Fence, Passage, judge, raise_generation
from gossamer.cluster.handover import Released, first_contact
from gossamer.cluster.heartbeat import Heartbeat
from gossamer.cluster.inbox import Kind
from gossamer.cluster.lease import LeaseTerms
from gossamer.cluster.membership import Membership, Taken, TakenGate, end_silent_workers
from gossamer.cluster.page_grants import PageGrants, next_grant
from gossamer.cluster.partitions import Partitions
from gossamer.cluster.shared_addresses import GatePlan, SharedAddresses, exchange
from gossamer.cluster.watch import Silent
from gossamer.errors import HistoryLost, LeaseLost, NameInUse, StoreFailed
from gossamer.model.units import Epoch, HostKey, Instant, Seconds
from tests.cluster.faults import Faults, ServerClockStep, connector
from tests.cluster.mini_crawl import POLICY, SCHEMA, STATEMENTS
from tests.cluster.mini_crawl import TERMS as SHORT_TERMS
from tests.cluster.mutants import MUTANTS
from tests.cluster.protocol_worker import Mutant
from tests.integration.crawl_process import wait_until
from tests.postgres_server import PostgresServer

pytestmark = pytest.mark.service

T = TypeVar("T")
TERMS = LeaseTerms(Seconds(30.0))
"""Long enough that nothing times out on a busy machine: these tests do not wait for it."""
PARTITIONS = 4
HOSTS = (HostKey("7"), HostKey("8"))


@dataclass
class Worker:
    """The parts of a worker that a step needs."""

    session: PostgresSession
    epoch: Epoch
    name: str
    faults: Faults
    fence: Fence = field(init=False)
    membership: Membership = field(init=False)
    partitions: Partitions = field(init=False)

    def __post_init__(self) -> None:
        self.fence = Fence(self.session, self.epoch)
        self.membership = Membership(self.session, self.epoch, self.name, TERMS, weight=1.0, version="test")
        self.partitions = Partitions(self.epoch, POLICY, TERMS.long_life)

    def take(self, count: int) -> list[Taken]:
        taken = self.fence.run(lambda: self.partitions.take(self.session, count))
        self.partitions.on_taken(taken, Instant(1000.0))
        return taken

    def bury(self, other: "Worker", beat: int = 0) -> bool:
        return self.fence.run(lambda: self.membership.declare_dead(Silent(other.epoch, beat)))


class Stage:
    """A crawl in a database with nothing else in it, and workers that do what a test says."""

    def __init__(self, url: str, mutant: Mutant) -> None:
        self.url, self.mutant = url, mutant
        self.step = ServerClockStep()
        self.sql: Mapping[str, str] = {**cluster_statements(), **STATEMENTS, **mutant.statements}
        self._epochs = itertools.count(1)
        self._opened: list[PostgresSession] = []
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("DROP SCHEMA public CASCADE; CREATE SCHEMA public")
            connection.execute(cluster_schema() + SCHEMA)
        self.outside, _ = self.session()
        self.outside.execute("create_partitions", PARTITIONS)
        self.outside.execute("create_crawl", PARTITIONS, 10, 0.0)

    def session(self) -> tuple[PostgresSession, Faults]:
        faults = Faults()
        opened = PostgresSession(connector(self.url, faults, self.step, main=True), TERMS.waiting, self.sql)
        self._opened.append(opened)
        return opened, faults

    def worker(self, name: str | None = None) -> Worker:
        """Has not joined yet."""
        epoch = Epoch(next(self._epochs))
        session, faults = self.session()
        return Worker(session, epoch, name or f"worker {epoch}", faults)

    def member(self) -> Worker:
        worker = self.worker()
        worker.membership.join()
        return worker

    def heartbeat(self, worker: Worker) -> Heartbeat:
        heart = Heartbeat(self.session()[0], worker.epoch, TERMS, now=lambda: 0.0, turned=lambda: 0.0)
        heart._watch = self.mutant.watch()
        return heart

    def meanwhile(self, work: Callable[[], T], then: Callable[[], object]) -> T:
        """Start `work`, which has to wait for a lock; do `then` once it waits; return what `work` returns."""
        results: list[T] = []
        thread = threading.Thread(target=lambda: results.append(work()), daemon=True)
        thread.start()
        watcher = psycopg.connect(self.url, autocommit=True)
        with watcher:
            waiting = (
                "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
            )
            wait_until(
                lambda: not thread.is_alive() or watcher.execute(waiting).fetchone() == (1,),
                "a statement to wait",
                60.0,
            )
        then()
        thread.join(60.0)
        return results[0]

    def ask(self, statement: str) -> list[tuple[Any, ...]]:
        with psycopg.connect(self.url) as connection:
            return connection.execute(statement).fetchall()

    def close(self) -> None:
        for session in self._opened:
            session.close()


# --- the fence ---------------------------------------------------------------------------------------


def a_worker_that_was_declared_dead_changes_nothing(stage: Stage) -> None:
    dead, other = stage.member(), stage.member()
    dead.take(1)

    assert other.bury(dead)
    with pytest.raises(LeaseLost):
        dead.fence.run(lambda: dead.session.execute("capture", [7], dead.epoch))
    assert stage.ask("SELECT * FROM captures") == []


def a_commit_whose_answer_was_lost_is_made_once(stage: Stage) -> None:
    worker = stage.member()

    def work() -> str:
        worker.session.execute("capture", [7], worker.epoch)
        return "result"

    for fate in ("made", "not made"):
        worker.faults.lose_answer = fate
        with pytest.raises(StoreFailed):
            worker.fence.run(work, stored=1)
        assert worker.fence.run(work, stored=1) == "result"

    assert stage.ask("SELECT count(*) FROM captures") == [(2,)]
    assert stage.ask("SELECT commits, stored FROM fence") == [(2, 2)]


def a_commit_counts_although_the_worker_was_declared_dead_after_it(stage: Stage) -> None:
    dead, other = stage.member(), stage.member()
    dead.faults.lose_answer = "made"
    with pytest.raises(StoreFailed):
        dead.fence.run(lambda: 1)
    other.bury(dead)

    assert dead.fence.run(lambda: 1) == 1
    with pytest.raises(LeaseLost):
        dead.fence.run(lambda: 2)


def lost_history_ends_all_workers_once(stage: Stage) -> None:
    worker, other = stage.member(), stage.member()
    worker.take(1)
    stage.outside.execute("take_gates", other.epoch, ["10.0.0.1"])
    with psycopg.connect(stage.url) as connection:
        connection.execute("UPDATE fence SET commits = 0")

    with pytest.raises(HistoryLost):
        worker.fence.run(lambda: None)
    for _ in range(2):
        raise_generation(worker.session, 1)

    assert stage.ask("SELECT generation FROM crawl") == [(2,)]
    assert stage.ask("SELECT DISTINCT epoch, released FROM partitions") == [(None, "lost")]
    assert stage.ask("SELECT DISTINCT epoch, released FROM gates") == [(None, "lost")]
    with pytest.raises(LeaseLost):
        other.fence.run(lambda: None)


def a_row_that_is_gone_is_lost_history_also_for_heartbeats_and_addresses(stage: Stage) -> None:
    """The server was restored from a copy that is older than the worker."""
    worker = stage.member()
    heart = stage.heartbeat(worker)
    heart.send()
    with psycopg.connect(stage.url) as connection:
        connection.execute("DELETE FROM fence; DELETE FROM workers")

    heart.send()

    assert isinstance(heart.end, HistoryLost) and not heart.lease.may_start(0.0)
    with pytest.raises(HistoryLost):
        exchange(worker.session, worker.epoch, GatePlan((), ()))


# --- membership --------------------------------------------------------------------------------------


def heartbeats_do_not_wait_for_a_commit_but_a_death_does(stage: Stage) -> None:
    worker, other = stage.member(), stage.member()
    heart = stage.heartbeat(worker)
    with ExitStack() as open_transaction:
        open_transaction.enter_context(worker.session.transaction())
        worker.session.execute("pass_fence", worker.epoch, 0, 0)
        heart.send()
        assert heart.failure is None

        done = stage.meanwhile(lambda: other.bury(worker, beat=1), open_transaction.close)

    assert done
    heart.send()
    assert isinstance(heart.end, LeaseLost) and not heart.lease.may_start(0.0)


def a_worker_that_joins_or_dies_is_noticed_before_the_next_heartbeat(stage: Stage) -> None:
    worker = stage.member()
    heart = stage.heartbeat(worker)
    heart.send()
    assert not heart.membership_changed()

    other = stage.member()

    assert heart.membership_changed()
    heart.send()
    assert not heart.membership_changed()
    worker.bury(other)
    assert heart.membership_changed()


def a_worker_that_has_sent_a_heartbeat_meanwhile_is_not_declared_dead(stage: Stage) -> None:
    worker, other = stage.member(), stage.member()
    stage.heartbeat(worker).send()

    assert not other.bury(worker, beat=0)
    assert worker.take(1)


def a_step_of_the_servers_clock_makes_no_worker_silent(stage: Stage) -> None:
    worker, other = stage.member(), stage.member()
    stage.heartbeat(worker).send()
    stage.step.seconds = 3600.0
    heart = stage.heartbeat(other)
    heart.send()

    assert heart.view is not None
    assert {member.epoch for member in heart.view.members} == {worker.epoch, other.epoch}
    assert heart.view.silent == ()


def a_name_belongs_to_one_living_worker(stage: Stage) -> None:
    worker, second = stage.worker("same"), stage.worker("same")
    worker.membership.join()

    with pytest.raises(NameInUse):
        second.membership.join()
    with second.session.transaction():  # it may find out that the other one is silent
        assert second.membership.declare_dead(Silent(worker.epoch, 0))
    assert second.membership.join().owned == []


def of_workers_that_join_at_the_same_time_only_the_first_is_alone(stage: Stage) -> None:
    first, second = stage.worker(), stage.worker()
    with ExitStack() as open_transaction:
        open_transaction.enter_context(first.session.transaction())
        first.session.execute("lock_crawl")
        first.session.execute("join_fence", first.epoch)
        first.session.execute("join_workers", first.epoch, "first", 1.0, "1")

        joined = stage.meanwhile(second.membership.join, open_transaction.close)

    assert not joined.alone
    second.fence.run(second.membership.leave)
    first.fence.run(first.membership.leave)
    assert stage.worker().membership.join().alone


def only_a_worker_that_is_silent_frees_its_name(stage: Stage) -> None:
    dead, other, living = stage.worker("dead"), stage.worker("other"), stage.worker("living")
    for worker in (dead, other, living):
        worker.membership.join()
    heart, time = stage.heartbeat(living), [0.0]

    def pause(seconds: float) -> None:
        time[0] += seconds
        heart.send()

    def end(worker: Worker) -> None:
        end_silent_workers(stage.outside, TERMS, lambda: time[0], pause, among={worker.epoch})

    end(living)
    assert time[0] < TERMS.silence
    end(dead)

    assert time[0] >= TERMS.silence
    assert stage.ask("SELECT name FROM workers WHERE state = 'active' ORDER BY name") == [("living",), ("other",)]


def a_restart_in_the_same_directory_takes_everything_back(stage: Stage) -> None:
    first, again = stage.worker("same"), stage.worker("same")
    first.membership.join()
    first.take(PARTITIONS)
    exchange(first.session, first.epoch, GatePlan(("10.0.0.1",), ()))
    again.faults.lose_answer = "made"
    with pytest.raises(StoreFailed):
        again.membership.join([first.epoch])

    joined = again.membership.join([first.epoch])

    assert sorted(joined.owned) == [Taken(part, Released.GIVEN) for part in range(PARTITIONS)]
    assert joined.gates == [TakenGate("10.0.0.1", Released.GIVEN, Seconds(0.0))]
    with pytest.raises(LeaseLost):
        first.fence.run(lambda: None)


def a_worker_that_leaves_owns_nothing_and_its_name_is_free(stage: Stage) -> None:
    worker, next_one = stage.worker("same"), stage.worker("same")
    worker.membership.join()
    worker.take(2)
    worker.fence.run(worker.membership.drain)
    heart = stage.heartbeat(worker)
    heart.send()
    assert heart.view is not None and heart.view.weights() == {}
    given = worker.partitions.numbers()
    worker.fence.run(lambda: worker.partitions.give(worker.session, given))
    worker.partitions.on_given(given)
    worker.fence.run(worker.membership.leave)

    next_one.membership.join()
    assert next_one.take(PARTITIONS) == [
        Taken(part, Released.GIVEN if part in given else Released.NEW) for part in range(PARTITIONS)
    ]


# --- partitions --------------------------------------------------------------------------------------


def a_partition_of_a_dead_worker_stays_so_until_it_has_rested(stage: Stage) -> None:
    dead, second, third = stage.member(), stage.member(), stage.member()
    dead.take(2)
    second.bury(dead)
    assert sorted(second.take(2)) == [Taken(0, Released.DEAD), Taken(1, Released.DEAD)]

    second.fence.run(lambda: second.partitions.give(second.session, [0]))
    second.partitions.on_given([0])
    rested = second.partitions.rested(Instant(1000.0 + POLICY.longest_gap))
    second.fence.run(lambda: second.partitions.mark(second.session, rested=rested, outlived=[]))
    second.partitions.on_marked(rested=rested, outlived=[])
    second.fence.run(lambda: second.partitions.give(second.session, [1]))

    assert rested == [1]
    assert sorted(third.take(2)) == [Taken(0, Released.DEAD), Taken(1, Released.GIVEN)]


def a_partition_whose_owners_die_again_and_again_is_free_later(stage: Stage) -> None:
    watcher = stage.member()
    for death in range(4):
        victim = stage.member()
        assert len(victim.take(1)) == 1, death
        watcher.bury(victim)

    assert stage.ask("SELECT deaths, free_from > now() FROM partitions WHERE part = 0") == [(4, True)]
    assert [taken.part for taken in stage.member().take(PARTITIONS)] == [1, 2, 3]
    stage.step.seconds = TERMS.ttl
    survivor = stage.member()
    assert survivor.take(1) == [Taken(0, Released.DEAD)]
    outlived = survivor.partitions.long_lived(Instant(1000.0 + TERMS.long_life))
    survivor.fence.run(lambda: survivor.partitions.mark(survivor.session, rested=[], outlived=outlived))
    assert stage.ask("SELECT sum(deaths) FROM partitions") == [(0,)]


def a_host_rests_before_its_next_owner_contacts_it(stage: Stage) -> None:
    def first(released: Released) -> float:
        return first_contact(
            stage.mutant.policy, released, next_contact=Instant(90.0), taken=Instant(100.0), gap=Seconds(1.0)
        )

    assert first(Released.NEW) == 100.0
    assert first(Released.GIVEN) == 101.0
    assert first(Released.DEAD) == 100.0 + POLICY.longest_gap
    assert first(Released.LOST) == 100.0 + POLICY.longest_gap + POLICY.ttl


def no_contact_starts_without_a_lease(stage: Stage) -> None:
    lease = stage.mutant.lease()
    lease.renew(0.0)

    assert lease.may_start(SHORT_TERMS.contacts - 0.01)
    assert not lease.may_start(SHORT_TERMS.contacts)


# --- inbox, addresses, grants, end -------------------------------------------------------------------


def a_message_that_appears_late_with_a_small_id_is_not_deleted(stage: Stage) -> None:
    slow, fast, owner = stage.member(), stage.member(), stage.member()
    with slow.session.transaction():
        inbox.send(slow.session, [(0, Kind.URLS, b"slow")])
        inbox.send(fast.session, [(0, Kind.URLS, b"fast"), (1, Kind.GAINS, b"other")])
        read = inbox.read(owner.session, [0, 2])
    assert [message.body for message in read] == [b"fast"]

    owner.fence.run(lambda: inbox.delete(owner.session, read))

    assert [message.body for message in inbox.read(owner.session, [0, 1])] == [b"slow", b"other"]
    assert [message.body for message in inbox.read(owner.session, [0, 1], 1)] == [b"slow"]


def a_host_of_another_worker_is_contacted_while_its_owner_holds_it(stage: Stage) -> None:
    asker, owner = stage.member(), stage.member()
    with psycopg.connect(stage.url) as connection:
        connection.execute("INSERT INTO hosts VALUES (7, 50.0, 1.0), (8, 50.0, 1.0)")
    holds = asker.fence.run(lambda: [host_holds.ask(asker.session, 0, host, 90.0) for host in HOSTS])
    for now in (100.0, 110.0):
        for hold in holds:
            hold.look(asker.session, now)
    assert not any(hold.may_start(110.0) or hold.is_over(1e9) for hold in holds)

    granted, dropped = inbox.read(owner.session, [0])
    assert [host_holds.host_of(message) for message in (granted, dropped)] == list(HOSTS)
    owner.fence.run(lambda: host_holds.grant(owner.session, granted, Instant(60.0)))
    owner.fence.run(lambda: inbox.delete(owner.session, [dropped]))
    for hold in holds:
        hold.look(asker.session, 125.0)

    assert stage.ask("SELECT id, next_contact FROM hosts ORDER BY id") == [(7, 180.0), (8, 50.0)]
    assert [hold.may_start(140.0) for hold in holds] == [True, False]
    assert [hold.is_over(140.0) for hold in holds] == [False, True]
    assert holds[0].is_over(140.1)
    assert host_holds.START_WITHIN + host_holds.LONGEST_REQUEST + 30.0 <= host_holds.HELD_FOR


def an_address_has_one_holder_also_while_that_joins(stage: Stage) -> None:
    first, again, other = stage.worker("same"), stage.worker("same"), stage.member()
    first.membership.join()
    plan = GatePlan(("10.0.0.1", "10.0.0.2"), ())
    assert len(exchange(first.session, first.epoch, plan).taken) == 2

    with ExitStack() as open_transaction:
        # What `join` does, as long as it is not committed.
        open_transaction.enter_context(again.session.transaction())
        again.session.fetch_value("lock_fence", first.epoch)
        again.session.execute("take_gates_back", again.epoch, first.epoch)
        again.session.execute("end_fence", first.epoch)
        again.session.execute("join_fence", again.epoch)
        answer = stage.meanwhile(lambda: exchange(other.session, other.epoch, plan), open_transaction.close)

    assert answer.taken == ()
    assert sorted(exchange(again.session, again.epoch, GatePlan((), ())).wanted) == ["10.0.0.1", "10.0.0.2"]


def an_address_passes_on_with_its_rest(stage: Stage) -> None:
    worker, other = stage.member(), stage.member()
    gates, others = (SharedAddresses(POLICY, Seconds(0.5)) for _ in range(2))
    exchanged = {id(gates): worker, id(others): other}

    def talk(mine: SharedAddresses, now: float) -> None:
        plan = mine.plan(Instant(now))
        if plan is not None:
            member = exchanged[id(mine)]
            mine.apply(exchange(member.session, member.epoch, plan), Instant(now))

    assert gates.acquire("10.0.0.1", Instant(0.0)) == 0.05
    talk(gates, 0.1)
    assert gates.acquire("10.0.0.1", Instant(0.1)) is None
    assert others.acquire("10.0.0.1", Instant(0.1)) is not None
    talk(others, 0.2)  # it is not free, so it is wanted
    talk(gates, 0.3)
    gates.release("10.0.0.1", Instant(40.0))
    assert gates.acquire("10.0.0.1", Instant(5.0)) == 40.0
    talk(gates, 10.3)  # kept long enough: given up with the rest of its rest
    assert gates.held == {}
    assert others.acquire("10.0.0.1", Instant(500.0)) is not None
    talk(others, 500.0)

    assert others.acquire("10.0.0.1", Instant(500.0)) == pytest.approx(500.0 + 29.7)
    worker.bury(other)
    with pytest.raises(LeaseLost):
        exchange(other.session, other.epoch, GatePlan(("10.0.0.2",), ()))


def addresses_that_nobody_uses_are_forgotten_long_after_their_rest(stage: Stage) -> None:
    worker = stage.member()
    addresses = ["10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4"]
    exchange(worker.session, worker.epoch, GatePlan(tuple(addresses), ()))
    resting = ((addresses[0], Seconds(0.0)), (addresses[1], Seconds(0.0)), (addresses[2], Seconds(600.0)))
    exchange(worker.session, worker.epoch, GatePlan((), resting))
    with psycopg.connect(stage.url) as connection:
        connection.execute("UPDATE gates SET released_at = now() - interval '65 minutes' WHERE address <> '10.0.0.2'")

    assert stage.outside.execute("forget_gates", 3600.0) == 1

    assert stage.ask("SELECT address FROM gates ORDER BY address") == [(each,) for each in addresses[1:]]


def what_a_dead_worker_was_granted_comes_back(stage: Stage) -> None:
    dead, other = stage.member(), stage.member()
    dead_grants, grants = PageGrants(dead.session, dead.fence), PageGrants(other.session, other.fence)
    while dead_grants.ask():
        pass
    assert dead_grants.granted == 10 and dead_grants.left(9) and not dead_grants.left(10)
    dead.fence.run(lambda: None, stored=3)
    assert grants.ask() == 0
    other.bury(dead)

    assert grants.ask() == next_grant(7, 1) == 3
    grants.keep(0)
    grants.give_back()
    assert grants.granted == 0
    while grants.ask():
        pass
    assert grants.granted == 7


def what_was_stored_without_a_limit_counts(stage: Stage) -> None:
    """Also of a worker that was killed, and is not known to be dead yet."""
    worker, other = stage.member(), stage.member()
    worker.fence.run(lambda: None, stored=4)
    other.fence.run(lambda: None, stored=3)
    grants = PageGrants(worker.session, worker.fence)
    while grants.ask():
        pass
    assert grants.granted == 7


def a_crawl_does_not_end_while_a_url_is_added(stage: Stage) -> None:
    worker, seeder = stage.member(), stage.session()[0]
    with ExitStack() as open_transaction:
        open_transaction.enter_context(seeder.transaction())
        assert seeder.fetch_value("share_crawl") == "running"
        inbox.send(seeder, [(0, Kind.URLS, b"a")])
        ended = stage.meanwhile(
            lambda: worker.fence.run(lambda: crawl_end.finish(worker.session, worker.epoch, 0)), open_transaction.close
        )

    assert not ended
    worker.fence.run(lambda: inbox.delete(worker.session, inbox.read(worker.session, [0])))
    assert worker.fence.run(lambda: crawl_end.finish(worker.session, worker.epoch, 0))
    assert worker.fence.run(lambda: crawl_end.finish(worker.session, worker.epoch, 0))
    assert seeder.fetch_value("share_crawl") == "finished"


def a_crawl_ends_when_its_limit_is_reached_or_nothing_is_due(stage: Stage) -> None:
    worker = stage.member()
    with psycopg.connect(stage.url) as connection:
        connection.execute("INSERT INTO due VALUES (-1.0), (1.0)")
        connection.execute("INSERT INTO queue VALUES (0, 1)")
    assert not worker.fence.run(lambda: crawl_end.finish(worker.session, worker.epoch, 0))

    assert worker.fence.run(lambda: crawl_end.finish(worker.session, worker.epoch, 0), stored=10)


def a_crawl_does_not_end_before_all_have_applied_its_rules_and_answered_its_orders(stage: Stage) -> None:
    worker, other = stage.member(), stage.member()
    heart = Heartbeat(
        stage.session()[0], other.epoch, TERMS, now=lambda: 0.0, turned=lambda: 0.0, rules_version=lambda: 1
    )

    def ends(rules_version: int) -> bool:
        return worker.fence.run(lambda: crawl_end.finish(worker.session, worker.epoch, rules_version))

    with psycopg.connect(stage.url, autocommit=True) as connection:
        connection.execute("UPDATE crawl SET rules_version = 1")
        assert not ends(1)  # the other one has not
        heart.send()
        assert not ends(0)  # nor has this one
        connection.execute("INSERT INTO orders VALUES (0), (1)")
        assert not ends(1)
        connection.execute("UPDATE orders SET state = 1")

    assert ends(1)


STEPS = (
    a_worker_that_was_declared_dead_changes_nothing,
    a_commit_whose_answer_was_lost_is_made_once,
    a_commit_counts_although_the_worker_was_declared_dead_after_it,
    lost_history_ends_all_workers_once,
    a_row_that_is_gone_is_lost_history_also_for_heartbeats_and_addresses,
    heartbeats_do_not_wait_for_a_commit_but_a_death_does,
    a_worker_that_joins_or_dies_is_noticed_before_the_next_heartbeat,
    a_worker_that_has_sent_a_heartbeat_meanwhile_is_not_declared_dead,
    a_step_of_the_servers_clock_makes_no_worker_silent,
    a_name_belongs_to_one_living_worker,
    of_workers_that_join_at_the_same_time_only_the_first_is_alone,
    only_a_worker_that_is_silent_frees_its_name,
    a_restart_in_the_same_directory_takes_everything_back,
    a_worker_that_leaves_owns_nothing_and_its_name_is_free,
    a_partition_of_a_dead_worker_stays_so_until_it_has_rested,
    a_partition_whose_owners_die_again_and_again_is_free_later,
    a_host_rests_before_its_next_owner_contacts_it,
    no_contact_starts_without_a_lease,
    a_message_that_appears_late_with_a_small_id_is_not_deleted,
    a_host_of_another_worker_is_contacted_while_its_owner_holds_it,
    an_address_has_one_holder_also_while_that_joins,
    an_address_passes_on_with_its_rest,
    addresses_that_nobody_uses_are_forgotten_long_after_their_rest,
    what_a_dead_worker_was_granted_comes_back,
    what_was_stored_without_a_limit_counts,
    a_crawl_does_not_end_while_a_url_is_added,
    a_crawl_ends_when_its_limit_is_reached_or_nothing_is_due,
    a_crawl_does_not_end_before_all_have_applied_its_rules_and_answered_its_orders,
)
FAILS: Mapping[str, Callable[[Stage], None]] = {
    "no fence": a_worker_that_was_declared_dead_changes_nothing,
    "the fence does not count commits": a_commit_whose_answer_was_lost_is_made_once,
    "the inbox is emptied up to an id": a_message_that_appears_late_with_a_small_id_is_not_deleted,
    "no rest after taking": a_host_rests_before_its_next_owner_contacts_it,
    "death by timestamps": a_step_of_the_servers_clock_makes_no_worker_silent,
    "no lease check": no_contact_starts_without_a_lease,
    "the end in one statement": a_crawl_does_not_end_while_a_url_is_added,
    "a dead worker keeps its grant": what_a_dead_worker_was_granted_comes_back,
}
"""The step at which each mutant fails."""


@pytest.fixture(scope="module")
def play(postgres_server: PostgresServer) -> Callable[[Callable[[Stage], None], Mutant], None]:
    """Runs a step on new tables."""
    url = postgres_server.create_database()

    def run(step: Callable[[Stage], None], mutant: Mutant) -> None:
        stage = Stage(url, mutant)
        try:
            step(stage)
        finally:
            stage.close()

    return run


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.__name__)
def test_step(step: Callable[[Stage], None], play: Callable[[Callable[[Stage], None], Mutant], None]) -> None:
    play(step, Mutant())


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_each_part_of_the_protocol_is_needed(
    mutant: Mutant, play: Callable[[Callable[[Stage], None], Mutant], None]
) -> None:
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        play(FAILS[mutant.name], mutant)


def test_the_fence_has_four_answers() -> None:
    rows = {None: Passage.LOST, (True, 5): Passage.OPEN, (False, 5): Passage.DEAD, (True, 4): Passage.LOST}
    rows |= {(True, 6): Passage.COMMITTED, (False, 6): Passage.COMMITTED, (True, 7): Passage.LOST}

    assert {row: judge(row, 5) for row in rows} == rows
