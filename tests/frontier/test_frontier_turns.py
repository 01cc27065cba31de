"""Turns: which host is visited, when, and what the frontier returns when none may be."""

from dataclasses import replace

import pytest

from gossamer.frontier.decisions import FrontierLimits, Idle, WaitUntil
from gossamer.frontier.frontier import Frontier
from gossamer.frontier.orderings.mercator import Mercator
from gossamer.frontier.selector import Load
from gossamer.model.task import Visit
from gossamer.model.units import HostId, Instant
from tests.frontier.frontier_table import Report, Row, record_of, task_of
from tests.frontier.frontier_world import POLICY, START, World


def world_with(*urls: tuple[int, int], **limits: int) -> World:
    """A world that knows URLs given as (host, class), loaded and ready to go."""
    world = World(FrontierLimits(max_hosts=limits.get("max_hosts", 100), quantum=limits.get("quantum", 100)))
    for host_id, front in urls:
        world.discover(host_id, front)
    world.begin_commit()
    world.now += 0.001
    world.settle_everything()
    return world


def visit_in(world: World) -> Visit:
    turn = world.take_turn()
    assert isinstance(turn, Visit)
    return turn


def test_an_empty_frontier_is_idle_and_quiet() -> None:
    world = world_with()

    assert world.take_turn() == Idle()
    assert world.frontier.is_quiet


def test_a_host_is_not_contacted_again_before_its_delay_has_passed() -> None:
    world = world_with((1, 0), (1, 0))
    world.take_turn()
    finished = world.now
    world.finish(0, world.contact(took=0.3))

    world.now = finished + 2.9
    assert world.take_turn() == WaitUntil(Instant(finished + 3.0))

    world.now = finished + 3.0
    assert visit_in(world).host_id == 1


def test_a_visit_without_a_contact_costs_no_delay() -> None:
    world = world_with((1, 0), (1, 0))
    world.take_turn()

    world.finish(0, None)

    assert visit_in(world).task.url_id == 2


def test_a_host_has_one_visit_in_flight_at_a_time() -> None:
    world = world_with((1, 0), (1, 1), (1, 2))
    world.take_turn()

    assert world.take_turn() == Idle()


def test_the_urls_of_a_host_go_in_the_order_of_their_discovery() -> None:
    world = world_with(*[(1, 0)] * 20)
    order = []

    for _ in range(20):
        order.append(visit_in(world).task.url_id)
        world.finish(0, None)
        world.settle_everything()

    assert order == list(range(1, 21))


def test_a_url_put_back_is_the_next_one_of_its_class() -> None:
    world = world_with((1, 0), (1, 0))
    first = visit_in(world)

    world.finish(0, None, again=True)

    assert visit_in(world).task == first.task


def test_a_url_to_be_tried_later_comes_back_at_its_time() -> None:
    world = world_with((1, 1))
    world.take_turn()
    due = world.now + 500.0
    world.finish(0, None, again_at=due)
    world.settle_everything()

    assert world.take_turn() == WaitUntil(Instant(due))
    world.now = due
    world.take_turn()
    world.settle_everything()

    assert visit_in(world).task.url_id == 1


def test_a_later_url_is_found_at_its_time_although_its_host_keeps_its_back_queue() -> None:
    world = world_with(*[(1, 0)] * 30)
    world.take_turn()
    due = world.now + 5.0
    world.finish(0, None, again_at=due)

    for _ in range(100):
        turn = world.take_turns()
        assert isinstance(turn, Visit)
        if turn.task.url_id == 1:
            break
        world.finish(0, world.contact(took=0.01))

    seen_at = world.now
    assert due <= seen_at, "too early"
    assert len(world.table.queued) == 1, "the others, which are older, go first"


def test_urls_found_while_a_load_is_under_way_are_not_overlooked() -> None:
    world = world_with((1, 0), (1, 0), (1, 0), (1, 0))
    world.take_turn()
    world.finish(0, None)
    world.take_turn()
    world.begin_load()
    world.read()
    world.discover(1, 0)
    world.begin_commit()
    world.apply()
    world.report()
    world.deliver()

    world.finish(0, None)
    world.now += 0.001

    for _ in range(3):
        world.settle_everything()
        world.take_turn()
        world.finish(0, None)
    assert [row.url_id for row in world.table.queued if row.url_id not in world.unsettled] == []


def test_urls_committed_behind_the_cursor_are_not_overlooked() -> None:
    """A batch is dated, then a class is read up to a later date, then the batch is applied: its URLs lie behind."""
    world = world_with((1, 0))
    world.take_turn()
    world.finish(0, None, again_at=world.now + 5.0)
    world.settle_everything()
    world.discover(2, 0)
    world.now += 4.9
    world.begin_commit()
    world.now += 0.2
    world.take_turn()
    world.begin_load()
    world.read()
    world.deliver()
    world.begin_load()
    world.read()
    world.deliver()
    world.apply()
    world.report()

    assert visit_in(world).host_id == 1
    world.settle_everything()
    assert visit_in(world).host_id == 2


def test_hosts_found_while_a_front_queue_is_being_read_are_not_overlooked() -> None:
    world = world_with()
    world.discover(1, 0)
    world.begin_commit()
    world.apply()
    world.report()
    world.now += 0.001
    world.begin_load()
    world.read()
    world.discover(2, 0)
    world.begin_commit()
    world.apply()
    world.report()
    world.deliver()

    world.now += 0.001
    world.settle_everything()

    assert {visit_in(world).host_id, visit_in(world).host_id} == {1, 2}


def test_a_commit_moves_the_cursor_back_no_further_than_necessary() -> None:
    world = world_with(*[(host_id, 0) for host_id in range(1, 20)])
    world.now += 10.0
    world.take_turn()
    world.discover(20, 0)
    for _ in range(2):
        world.settle_everything()
        world.now += 0.001
        world.take_turn()
    read_until = world.now
    world.now += 10.0
    world.take_turn()
    world.discover(21, 0)
    world.begin_commit()
    world.apply()
    world.report()
    order = world.frontier.request_load(Instant(world.now + 0.001))

    assert [wanted.front for wanted in order.fronts] == [0]
    assert read_until - 0.01 <= order.fronts[0].cursor[0] <= read_until


def test_a_host_with_an_outdated_front_queue_entry_is_loaded_and_retired() -> None:
    frontier = Frontier(POLICY)
    frontier.request_load(Instant(1.0))
    for front in range(3):
        frontier.add_front(front, [(0.5, HostId(7))] if front == 0 else [], float("inf"), 1)
    frontier.request_load(Instant(2.0))

    frontier.add_host(HostId(7), record_of(7), [(front, [], float("inf")) for front in range(3)], 1, Instant(2.0))

    assert [host.host_id for host in frontier.take_retired()] == [7]
    frontier.on_commit(Report(2, [], [], [HostId(7)], [], []))
    assert frontier.is_quiet


def test_urls_that_are_withdrawn_are_not_visited_and_a_host_without_others_gives_up_its_back_queue() -> None:
    world = world_with(*[(host_id, n % 3) for host_id in (1, 2, 3, 4) for n in range(4)])
    by_host = {visit.host_id: visit for visit in (visit_in(world) for _ in range(4))}
    for host_id in (2, 3, 4):  # host 1 stays in flight, host 4 rests, the others are ready
        which = world.out.index(by_host[HostId(host_id)])
        world.finish(which, world.contact(0.0) if host_id == 4 else None, again=host_id != 4)
    kept = (world.key(HostId(2)), 2)

    gone = world.frontier.withdraw(lambda task, host: (host, task.front) != kept)
    visits = []
    while isinstance(turn := world.frontier.next_turn(world.instant), Visit):
        visits.append(turn)

    flying = by_host[HostId(1)].task
    assert flying not in gone and flying.url_id in world.frontier.unfinished()
    assert [(visit.host, visit.task.front) for visit in visits] == [kept]
    assert [host.host_id for host in world.frontier.take_retired()] == [3]


def test_ready_classes_are_served_by_the_ratios() -> None:
    world = world_with(*[(n, n % 3) for n in range(1, 301)], max_hosts=1000)

    fronts = [visit_in(world).task.front for _ in range(100)]

    assert [fronts.count(front) for front in range(3)] == [60, 30, 10]


def test_under_load_the_ratios_of_load_apply_and_are_shown() -> None:
    world = world_with(*[(n, n % 3) for n in range(1, 301)], max_hosts=1000)

    world.frontier.set_load(Load.HIGH)
    for _ in range(100):
        visit_in(world)

    shown = world.frontier.statistics()
    assert shown.load is Load.HIGH
    assert shown.drawn == (80, 15, 5)
    assert shown.shares == (80.0, 15.0, 5.0)
    assert replace(shown, drawn=(0, 0, 0)).shares == (0.0, 0.0, 0.0)


def test_statistics_show_more_classes_than_three_as_high_medium_and_low() -> None:
    frontier = Frontier(POLICY, ordering=Mercator())
    frontier.selector.drawn[:] = [12, 6, 1, 0, 0, 0, 0, 1]

    shown = frontier.statistics()

    assert shown.drawn == (12, 6, 2) and shown.shares == (60.0, 30.0, 10.0)
    assert shown.urls_by_front == (0, 0, 0)


def test_statistics_count_what_is_there() -> None:
    world = world_with((1, 0), (1, 2), (2, 1), (3, 1))
    world.take_turn()
    world.take_turn()
    world.finish(0, world.contact(took=0.1))

    shown = world.frontier.statistics()

    assert (shown.hosts, shown.ready, shown.waiting, shown.out) == (3, 1, 1, 1)
    assert shown.urls == sum(shown.urls_by_front) == 2
    assert shown.next_contact == world.now + 1.0


@pytest.mark.parametrize("state", ["ready", "waiting", "out", "empty"])
def test_a_delayed_host_waits_whatever_its_state(state: str) -> None:
    world = world_with((1, 0), (1, 0))
    if state != "ready":
        world.take_turn()
    if state == "waiting":
        world.finish(0, world.contact(took=0.1))
    elif state == "empty":
        world.finish(0, None)
        world.take_turn()
        world.finish(0, None)
        world.discover(1, 0)
    until = world.now + 50.0

    world.delay(HostId(1), 50.0)

    if state == "out":
        world.finish(0, world.contact(took=0.1))
    world.settle_everything()
    world.now = until - 1.0
    assert world.take_turn() == WaitUntil(Instant(until))
    world.settle_everything()
    world.now = until
    world.take_turn()
    world.settle_everything()
    if not world.out:
        world.take_turn()
    assert [visit.host_id for visit in world.out] == [1]


def test_a_delay_never_shortens_a_rest() -> None:
    world = world_with((1, 0), (1, 0))
    world.take_turn()
    world.finish(0, world.contact(took=0.1, retry_after=100.0))

    world.frontier.delay(HostId(1), Instant(world.now + 2.0))

    assert world.take_turn() == WaitUntil(Instant(world.now + 100.0))


def test_delaying_a_host_that_is_not_in_memory_does_nothing() -> None:
    world = world_with()

    world.frontier.delay(HostId(99), Instant(START + 100.0))

    assert world.take_turn() == Idle()


def test_a_restarted_frontier_keeps_the_rests_of_hosts_and_addresses() -> None:
    world = world_with((1, 0), (1, 0), (2, 0))
    world.take_turn()
    world.enter(0, "10.0.0.1")
    world.finish(0, world.contact(took=0.8))
    rested = world.now + 8.0
    world.settle_everything()
    world.table.clocks[2] = (0.0, 0.0, "10.0.0.1")

    world.crash()
    world.settle_everything()

    assert world.take_turn() == WaitUntil(Instant(rested))


def test_two_classes_of_one_host_are_loaded_apart() -> None:
    frontier = Frontier(POLICY)
    frontier.request_load(Instant(1.0))
    for front in range(3):
        frontier.add_front(front, [(0.5, HostId(1))] if front == 0 else [], float("inf"), 1)
    order = frontier.request_load(Instant(2.0))

    assert [(wanted.host_id, wanted.with_record) for wanted in order.hosts] == [(1, True)]
    assert [front for front, _, _ in order.hosts[0].classes] == [0, 1, 2]
    tasks = [task_of(Row(1, 1, 0, 0.5))]
    none = float("inf")
    frontier.add_host(HostId(1), record_of(1), [(0, tasks, none), (1, [], none), (2, [], none)], 1, Instant(2.0))
    assert not frontier.request_load(Instant(2.0)).hosts
