"""Which of the ready hosts is served next?"""

from gossamer.frontier.back_queue import HostQueue, HostState
from gossamer.frontier.ready import ReadyClasses
from gossamer.frontier.selector import Selector, SelectorRatios
from gossamer.model.units import HostId
from tests.frontier.frontier_table import Row, task_of


def always_open(host: HostQueue) -> bool:
    return False


def host_with(host_id: int, *urls: tuple[int, int, float]) -> HostQueue:
    """A host with URLs given as (class, url_id, place)."""
    host = HostQueue(HostId(host_id), 3)
    for front, url_id, at in urls:
        host.fronts[front].insert(0, task_of(Row(url_id, host_id, front, at)))
    return host


def ready_hosts(*hosts: HostQueue) -> ReadyClasses:
    ready = ReadyClasses(Selector(SelectorRatios()), 3)
    for host in hosts:
        ready.push(host)
    return ready


def popped(ready: ReadyClasses) -> tuple[int, int] | None:
    found = ready.pop(always_open)
    return None if found is None else (found[0].host_id, found[1])


def test_the_host_with_the_oldest_url_of_the_class_goes_first() -> None:
    ready = ready_hosts(host_with(1, (1, 10, 5.0)), host_with(2, (1, 11, 3.0)), host_with(3, (1, 12, 4.0)))

    assert [popped(ready) for _ in range(4)] == [(2, 1), (3, 1), (1, 1), None]


def test_among_urls_of_one_date_the_first_discovered_goes_first() -> None:
    ready = ready_hosts(host_with(1, (0, 12, 5.0)), host_with(2, (0, 11, 5.0)))

    assert [popped(ready) for _ in range(2)] == [(2, 0), (1, 0)]


def test_a_host_served_through_one_class_is_gone_from_the_others() -> None:
    ready = ready_hosts(host_with(1, (0, 10, 1.0), (1, 11, 1.0), (2, 12, 1.0)))

    assert popped(ready) == (1, 0)
    assert popped(ready) is None
    assert len(ready) == 0


def test_a_host_that_left_is_not_served() -> None:
    host = host_with(1, (0, 10, 1.0))
    ready = ready_hosts(host, host_with(2, (0, 11, 2.0)))

    ready.leave(host)

    assert [popped(ready) for _ in range(2)] == [(2, 0), None]


def test_a_ready_host_that_gets_its_first_url_of_a_class_is_served_through_it_too() -> None:
    host = host_with(1, (2, 10, 1.0))
    ready = ready_hosts(host)
    host.fronts[0].append(task_of(Row(11, 1, 0, 2.0)))

    ready.push_front(host, 0)

    assert popped(ready) == (1, 0)


def test_a_closed_host_is_passed_over_and_costs_its_class_no_turn() -> None:
    closed, other = host_with(1, (0, 10, 1.0)), host_with(2, (0, 11, 2.0))
    closed.address = "10.0.0.1"
    selector = Selector(SelectorRatios())
    ready = ReadyClasses(selector, 3)
    ready.push(closed)
    ready.push(other)

    def shut(host: HostQueue) -> bool:
        if host is closed:
            host.turn += 1
            host.state = HostState.PARKED
        return host is closed

    found = ready.pop(shut)

    assert found is not None and found[0] is other
    assert selector.drawn == [1, 0, 0]
    assert len(ready) == 0


def test_stale_entries_do_not_pile_up() -> None:
    """A host that is served through its highest class again and again while its lowest never gets a turn."""
    busy = host_with(1, (0, 1, 1.0), (2, 2, 50.0))
    oldest = host_with(2, (2, 3, 1.0))
    ready = ready_hosts(oldest)

    for _ in range(20_000):
        ready.push(busy)
        ready.leave(busy)

    assert sum(len(heap) for heap in ready._heaps) < 5000
    assert popped(ready) == (2, 2)


def test_classes_are_served_by_the_ratios_while_all_have_something() -> None:
    ready = ReadyClasses(Selector(SelectorRatios()), 3)
    served = [0, 0, 0]
    hosts = [host_with(n, (n % 3, n, float(n))) for n in range(3000)]
    for host in hosts:
        ready.push(host)

    for _ in range(1000):
        found = ready.pop(always_open)
        assert found is not None
        host, front = found
        served[front] += 1
        ready.push(host)

    assert served == [600, 300, 100]
