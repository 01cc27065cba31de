"""More hosts than back queues: which keep one, and which yield it?"""

import pytest

from gossamer.frontier.decisions import FrontierLimits, Idle, WaitUntil
from gossamer.frontier.politeness import PolitenessPolicy
from gossamer.model.task import Visit
from gossamer.model.units import HostId, Seconds
from tests.frontier.frontier_world import START, World


def crowd(hosts: int, urls: int, limits: FrontierLimits, policy: PolitenessPolicy | None = None) -> World:
    world = World(limits) if policy is None else World(limits, policy)
    for host_id in range(1, hosts + 1):
        for _ in range(urls):
            world.discover(host_id, host_id % 3)
    world.begin_commit()
    world.now += 0.001
    world.settle_everything()
    return world


def serve(world: World, visits: int, took: float = 0.05) -> list[HostId]:
    """The hosts of the next visits, each finished and committed before the next turn."""
    served: list[HostId] = []
    for _ in range(visits):
        turn = world.take_turns()
        assert isinstance(turn, Visit), f"only {len(served)} of {visits} visits"
        served.append(turn.host_id)
        world.finish(len(world.out) - 1, world.contact(took))
    return served


@pytest.mark.parametrize("max_hosts", [1, 3, 50])
def test_everybody_is_served_however_few_the_back_queues(max_hosts: int) -> None:
    world = crowd(20, 6, FrontierLimits(max_hosts=max_hosts, quantum=2))

    world.run_dry()

    assert world.visits == 120
    assert world.frontier.statistics().hosts == 0


def test_a_host_gives_its_back_queue_up_after_its_quantum_when_others_wait() -> None:
    world = crowd(3, 30, FrontierLimits(max_hosts=1, quantum=5))

    served = serve(world, 30)

    runs = [host for at, host in enumerate(served) if at == 0 or served[at - 1] != host]
    assert set(runs) == {1, 2, 3}
    assert len(runs) == 6


def test_no_host_starves_when_commits_are_slower_than_visits() -> None:
    """Outcomes are always on their way into the store, so the host is never found without one."""
    world = crowd(2, 40, FrontierLimits(max_hosts=1, quantum=3), PolitenessPolicy(min_delay=Seconds(0.0)))
    served: list[HostId] = []

    for step in range(400):
        turn = world.take_turn()
        if isinstance(turn, Visit):
            served.append(turn.host_id)
            world.finish(0, None)
        world.begin_load()
        world.read()
        world.deliver()
        if step % 3 == 0:
            world.report()
            world.apply()
            world.begin_commit()

    assert set(served[:20]) == {1, 2}


def test_a_host_keeps_its_back_queue_beyond_its_quantum_when_no_other_host_waits() -> None:
    world = crowd(1, 30, FrontierLimits(max_hosts=1, quantum=5))

    serve(world, 29)

    assert world.frontier.take_retired() == []


def test_a_host_that_asks_for_a_long_rest_makes_room_at_once() -> None:
    world = crowd(2, 3, FrontierLimits(max_hosts=1, quantum=100, long_rest=60.0))
    first = world.take_turn()
    assert isinstance(first, Visit)
    world.finish(0, world.contact(0.05, retry_after=3600.0))
    rested = world.now + 3600.0

    served = serve(world, 3)

    assert first.host_id not in served
    assert world.now < START + 60.0
    assert set(serve(world, 2)) == {first.host_id}
    assert world.now >= rested


def test_hosts_that_rest_already_make_room_when_others_come() -> None:
    world = crowd(2, 2, FrontierLimits(max_hosts=2, quantum=100, long_rest=60.0))
    for _ in range(2):
        world.take_turn()
        world.finish(0, world.contact(0.05, retry_after=86_400.0))
    world.settle_everything()
    assert isinstance(world.take_turn(), WaitUntil)
    for host_id in (3, 4, 5):
        world.discover(host_id, 0)

    served = serve(world, 3)

    assert sorted(served) == [3, 4, 5]
    assert world.now < START + 60.0


def test_a_host_that_retired_with_a_delay_keeps_it_when_a_new_url_is_found() -> None:
    world = crowd(2, 3, FrontierLimits(max_hosts=1, quantum=100, long_rest=60.0))
    first = world.take_turn()
    assert isinstance(first, Visit)
    world.finish(0, world.contact(0.05))
    world.delay(first.host_id, 3600.0)
    until = world.now + 3600.0
    serve(world, 3)

    world.discover(first.host_id, 0)

    assert set(serve(world, 3)) == {first.host_id}
    assert world.now >= until


def test_a_host_met_again_while_its_retirement_is_on_its_way_is_not_lost() -> None:
    world = crowd(1, 1, FrontierLimits(max_hosts=4))
    world.take_turn()
    world.finish(0, None)
    world.settle_everything()
    assert world.frontier.is_quiet
    world.discover(1, 0)
    world.begin_commit()
    world.apply()
    world.report()

    world.run_dry()

    assert world.visits == 2


def test_the_frontier_holds_no_more_hosts_and_urls_than_its_limits_allow() -> None:
    world = crowd(60, 100, FrontierLimits(max_hosts=5, quantum=10))

    for _ in range(200):
        serve(world, 1)
        shown = world.frontier.statistics()
        assert shown.hosts <= 5
        assert shown.urls <= 5 * 3 * 70


def test_a_rewound_frontier_finds_urls_that_were_not_reported() -> None:
    world = crowd(1, 1, FrontierLimits())
    world.run_dry()
    world.discover(9, 2)
    world.begin_commit()
    world.apply()
    world.applied = None  # somebody else committed it: nobody tells the frontier
    assert world.take_turn() == Idle()

    world.frontier.rewind()

    assert serve(world, 1) == [9]
