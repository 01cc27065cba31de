"""A visit that has to contact another host than its own is polite to that host."""

from gossamer.frontier.decisions import FrontierLimits, WaitUntil
from gossamer.model.task import Visit
from gossamer.model.units import HostId, Instant
from tests.frontier.frontier_world import World

HERE, THERE = "10.0.0.1", "10.0.0.2"
A, B, STRANGER = HostId(1), HostId(2), HostId(9)


def world_of(*hosts: int, urls: int = 3) -> World:
    world = World(FrontierLimits())
    for _ in range(urls):
        for host_id in hosts:
            world.discover(host_id, 0)
    world.begin_commit()
    world.now += 0.001
    world.settle_everything()
    return world


def out(world: World, host_id: HostId) -> int:
    """The place of a host's visit among those that are out."""
    while True:
        for place, visit in enumerate(world.out):
            if visit.host_id == host_id:
                return place
        assert isinstance(world.take_turns(), Visit)


def test_a_host_is_not_visited_while_somebody_asks_it() -> None:
    world = world_of(A, B)
    place = out(world, A)
    assert [visit.host_id for visit in world.out] == [A]

    assert world.begin_errand(place, B, THERE)

    assert not isinstance(world.take_turn(), Visit)


def test_a_cross_host_request_is_followed_by_the_gap_of_the_other_host_and_its_address() -> None:
    world = world_of(A, B)
    assert world.begin_errand(out(world, A), B, THERE)
    world.end_errand(A, world.contact(took=0.4))
    ended = world.now

    place = out(world, B)  # the world checks the gap

    assert world.now == ended + 4.0
    assert world.address_rests[THERE] == ended + 4.0
    assert world.enter(place, THERE)


def test_the_visit_that_asked_comes_again_at_once_because_its_own_host_saw_nothing() -> None:
    world = world_of(A)
    first = world.out[out(world, A)]
    assert world.begin_errand(0, STRANGER, THERE)
    world.end_errand(A, world.contact(took=0.4))

    again = world.take_turn()

    assert isinstance(again, Visit)
    assert again.task == first.task


def test_an_unknown_host_is_given_its_gap() -> None:
    world = world_of(A)
    assert world.begin_errand(out(world, A), STRANGER, THERE)
    world.end_errand(A, world.contact(took=0.4))
    ended = world.now
    visit = world.out[out(world, A)]

    answer = world.frontier.cross_host.begin(visit, world.key(STRANGER), None, Instant(0.0), "10.0.0.3", world.instant)

    assert answer == WaitUntil(Instant(ended + 4.0))


def test_a_host_that_is_out_is_waited_for() -> None:
    world = world_of(A, B)
    out(world, A)
    out(world, B)

    assert not world.begin_errand(out(world, A), B, THERE)


def test_a_host_whose_last_contact_is_not_on_record_yet_is_waited_for() -> None:
    world = world_of(A, B, urls=1)
    out(world, A)
    world.finish(out(world, B), world.contact(took=0.4))
    world.begin_commit()
    world.apply()
    world.report()
    world.begin_load()
    world.read()
    world.deliver()
    world.begin_commit()
    assert world.frontier.is_retiring(B)
    visit = world.out[out(world, A)]

    answer = world.frontier.cross_host.begin(visit, world.key(B), B, Instant(0.0), THERE, world.instant)

    assert isinstance(answer, WaitUntil)


def test_a_cross_host_request_to_a_busy_address_waits_its_turn() -> None:
    world = world_of(A, B)
    assert world.enter(out(world, B), THERE)

    assert not world.begin_errand(out(world, A), STRANGER, THERE)

    assert [visit.host_id for visit in world.out] == [B]
    assert world.frontier._hosts[A].state.value == "parked"


def test_a_busy_host_alternates_between_cross_host_requests_and_its_own_urls() -> None:
    world = world_of(A, B, urls=20)
    served = []
    for _ in range(12):
        turn = world.take_turns()
        assert isinstance(turn, Visit)
        if turn.host_id == A and world.begin_errand(len(world.out) - 1, B, THERE):
            served.append("errand")
            world.end_errand(A, world.contact(took=0.1))
        elif turn.host_id == B:
            served.append("visit")
            world.finish(len(world.out) - 1, world.contact(took=0.1))

    assert served.count("errand") >= 3
    assert served.count("visit") >= 3
