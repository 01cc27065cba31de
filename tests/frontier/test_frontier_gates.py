"""Hosts that share an address share a gap."""

import pytest

from gossamer.frontier.address_gate import AddressGates
from gossamer.frontier.decisions import FrontierLimits, Idle, WaitUntil
from gossamer.model.task import Visit
from gossamer.model.units import HostId, Instant
from tests.frontier.frontier_world import World

HERE, THERE = "10.0.0.1", "10.0.0.2"


def sharing(hosts: int, urls: int = 3, *, max_hosts: int = 100, quantum: int = 100) -> World:
    """Hosts with known addresses, all the same, and URLs of class 0."""
    world = World(FrontierLimits(max_hosts=max_hosts, quantum=quantum))
    for _ in range(urls):
        for host_id in range(1, hosts + 1):
            world.discover(host_id, 0)
    for host_id in range(1, hosts + 1):
        world.batch.clocks[host_id] = (0.0, 0.0, HERE)
    world.begin_commit()
    world.now += 0.001
    world.settle_everything()
    return world


def test_two_hosts_on_one_address_are_never_visited_at_once() -> None:
    world = sharing(2)
    world.take_turn()

    assert not isinstance(world.take_turn(), Visit)
    assert len(world.out) == 1


def test_the_gap_of_an_address_is_kept_between_its_hosts() -> None:
    world = sharing(2)
    world.take_turn()
    finished = world.now
    world.finish(0, world.contact(took=0.4))

    assert world.take_turn() == WaitUntil(Instant(finished + 4.0))
    world.now = finished + 4.0
    turn = world.take_turn()
    assert isinstance(turn, Visit)


def test_a_host_waiting_for_a_resting_address_is_served_when_it_has_rested() -> None:
    world = sharing(1)
    world.frontier.rest_address(HERE, Instant(world.now + 7.0))

    assert world.take_turn() == WaitUntil(Instant(world.now + 7.0))
    world.now += 7.0
    assert isinstance(world.take_turn(), Visit)


def of_one_domain(hosts: int, urls: int = 3) -> World:
    """Hosts with addresses of their own, all of one domain."""
    world = World(FrontierLimits(max_hosts=100, quantum=100), domain_of=lambda host: "example.org")
    for number in range(hosts * urls):
        world.discover(number % hosts + 1, 0)
    for host_id in range(1, hosts + 1):
        world.batch.clocks[host_id] = (0.0, 0.0, f"10.0.0.{host_id}")
    world.begin_commit()
    world.now += 0.001
    world.settle_everything()
    return world


def test_hosts_of_one_domain_share_its_gap_and_take_turns_if_the_gap_is_per_domain() -> None:
    world = of_one_domain(3, urls=4)
    served: list[int] = []

    for _ in range(9):
        turn = world.take_turns()
        assert isinstance(turn, Visit)
        assert isinstance(world.take_turn(), WaitUntil | Idle)  # one at a time
        finished = world.now
        world.finish(0, world.contact(took=0.01, crawl_delay=3.0))
        assert world.take_turn() == WaitUntil(Instant(finished + 3.0))  # the whole gap, Crawl-delay included
        served.append(turn.host_id)
        world.now = finished + 3.0

    assert [sorted(served[at : at + 3]) for at in range(0, 9, 3)] == [[1, 2, 3]] * 3


def test_a_domain_rests_on_after_a_restart() -> None:
    world = of_one_domain(2)
    turn = world.take_turn()
    assert isinstance(turn, Visit)
    other = HostId(3 - turn.host_id)

    world.finish(0, world.contact(took=0.01, crawl_delay=30.0))
    world.crash()
    world.settle_everything()

    assert isinstance(world.take_turns(), Visit)
    assert world.now >= world.domain_rests["example.org"]
    assert other in world.frontier._hosts


def test_hosts_on_one_address_take_turns() -> None:
    world = sharing(5, urls=4)
    served: list[int] = []

    for _ in range(20):
        turn = world.take_turns()
        assert isinstance(turn, Visit)
        served.append(turn.host_id)
        world.finish(0, world.contact(took=0.01))

    assert [sorted(served[at : at + 5]) for at in range(0, 20, 5)] == [[1, 2, 3, 4, 5]] * 4


def test_a_host_with_a_longer_rest_of_its_own_does_not_block_its_address() -> None:
    world = sharing(3)
    world.take_turn()
    world.take_turn()
    world.delay(HostId(1), 0.0)
    parked = next(h for h in (2, 3) if world.frontier._hosts[HostId(h)].state.value == "parked")
    world.frontier.delay(HostId(parked), Instant(world.now + 1000.0))
    world.host_delays[HostId(parked)] = world.now + 1000.0
    world.finish(0, world.contact(took=0.1))

    world.now += 1.0
    turn = world.take_turn()

    assert isinstance(turn, Visit)
    assert turn.host_id == ({2, 3} - {parked}).pop()


def test_delaying_the_first_parked_host_does_not_block_the_others() -> None:
    world = sharing(3)
    first = world.take_turn()
    assert isinstance(first, Visit)
    world.take_turn()  # the others now stand in line
    world.finish(0, world.contact(took=0.1))
    head = next(h for h in (2, 3) if world.frontier._hosts[HostId(h)].state.value == "waiting")
    world.frontier.delay(HostId(head), Instant(world.now + 1000.0))
    world.frontier.delay(first.host_id, Instant(world.now + 1000.0))

    world.now += 1.0
    turn = world.take_turn()

    assert isinstance(turn, Visit)
    assert turn.host_id == ({2, 3} - {head}).pop()


def test_retiring_the_first_parked_host_does_not_block_the_others() -> None:
    world = sharing(3, urls=5, max_hosts=3, quantum=1)
    for _ in range(3):
        world.take_turns()
        world.finish(0, world.contact(took=0.1))
    world.take_turns()
    world.now += 5.0
    world.take_turn()  # the others now stand in line
    world.finish(0, world.contact(took=0.1))
    parked = [host for host in world.frontier._hosts.values() if host.state.value == "parked"]
    assert len(parked) == 1
    world.discover(4, 0)  # somebody else wants a back queue, and all three have had their quantum
    world.begin_commit()
    world.apply()
    world.report()

    world.now += 1.0
    world.take_turn()

    assert parked[0].state.value != "parked"


def test_a_visit_that_finds_its_new_address_busy_is_taken_back_and_comes_again() -> None:
    world = World(FrontierLimits())
    world.discover(1, 0)
    world.discover(2, 0)
    world.begin_commit()
    world.now += 0.001
    world.settle_everything()
    world.take_turn()
    world.take_turn()

    assert world.enter(0, HERE)
    taken_back = world.out[1]
    assert not world.enter(1, HERE)
    assert world.frontier.statistics().out == 1

    world.finish(0, world.contact(took=0.5))
    assert world.take_turn() == WaitUntil(Instant(world.now + 5.0))
    world.now += 5.0
    again = world.take_turn()
    assert isinstance(again, Visit)
    assert again.task == taken_back.task
    assert again.address == HERE


def test_a_host_that_moves_to_another_address_frees_the_old_one() -> None:
    world = sharing(2)
    world.take_turn()
    world.take_turn()

    assert world.enter(0, THERE)

    turn = world.take_turn()
    assert isinstance(turn, Visit)
    assert turn.address == HERE


def test_an_address_that_was_not_contacted_needs_no_rest() -> None:
    world = sharing(2)
    world.take_turn()
    world.take_turn()

    world.finish(0, None)

    turn = world.take_turn()
    assert isinstance(turn, Visit)


@pytest.mark.parametrize("quantum", [1, 2, 100])
@pytest.mark.parametrize("max_hosts", [1, 2, 3, 40])
def test_every_parked_host_is_served_even_if_the_first_one_retires(max_hosts: int, quantum: int) -> None:
    world = sharing(12, urls=3, max_hosts=max_hosts, quantum=quantum)

    world.run_dry()

    assert world.visits == 36


def test_open_gates_without_parked_hosts_are_dropped() -> None:
    gates = AddressGates()
    busy = gates.for_address("busy", Instant(0.0))
    busy.busy_with = HostId(1)
    parked = gates.for_address("parked", Instant(0.0))
    parked.parked.append(HostId(2))
    gates.close_until("resting", Instant(1e9))

    for n in range(10_000):
        gates.for_address(f"address {n}", Instant(float(n)))

    assert len(gates) <= 1100
    assert gates.for_address("busy", Instant(1e4)) is busy
    assert gates.for_address("parked", Instant(1e4)) is parked
    assert not gates.for_address("resting", Instant(1e4)).is_open(Instant(1e4))


class Elsewhere:
    """Other workers, who are at some addresses or have just been."""

    def __init__(self) -> None:
        self.closed: dict[str, Instant] = {}
        self.ours: set[str] = set()
        self.left: list[tuple[str, Instant]] = []

    def acquire(self, address: str, now: Instant) -> Instant | None:
        until = self.closed.get(address, Instant(0.0))
        if until > now:
            return until
        self.ours.add(address)
        return None

    def release(self, address: str, until: Instant) -> None:
        self.ours.remove(address)
        self.left.append((address, until))

    def close_until(self, address: str, until: Instant, now: Instant) -> None:
        self.closed[address] = until


def test_an_address_held_by_another_worker_is_tried_again() -> None:
    world, others = sharing(2), Elsewhere()
    world.frontier.gates.share_with(others, Instant(world.now))
    others.closed[HERE] = Instant(world.now + 3.0)

    assert world.take_turn() == WaitUntil(Instant(world.now + 3.0))
    world.now += 3.0
    assert isinstance(world.take_turn(), Visit)
    assert others.ours == {HERE}


def test_an_address_is_given_back_with_its_rest() -> None:
    world, others = sharing(2), Elsewhere()
    world.frontier.gates.share_with(others, Instant(world.now))
    world.take_turn()
    world.finish(0, world.contact(took=0.4))

    assert others.ours == set()
    assert others.left == [(HERE, Instant(world.now + 4.0))]


def test_other_workers_learn_of_the_rests_that_a_restart_knows() -> None:
    world, others = sharing(1), Elsewhere()
    world.frontier.rest_address(THERE, Instant(world.now + 9.0))
    world.frontier.gates.share_with(others, Instant(world.now))

    assert others.closed[THERE] == world.now + 9.0


def test_a_visit_that_finds_its_address_taken_elsewhere_comes_again() -> None:
    world, others = sharing(1), Elsewhere()
    world.frontier.gates.share_with(others, Instant(world.now))
    others.closed[THERE] = Instant(world.now + 2.0)
    turn = world.take_turn()
    assert isinstance(turn, Visit)

    assert not world.frontier.enter_address(turn, THERE, Instant(world.now))
    assert others.ours == set()
    assert world.frontier.next_turn(Instant(world.now)) == WaitUntil(Instant(world.now + 2.0))
