"""What the frontier costs for a URL, from loading to the commit of its outcome, and how that grows with the queue.

`python -m benchmarks.bench_frontier` from the root of the repository. CPU time of the frontier's own calls; the task
table is a stand-in whose time is taken off, and so is that of the loop that asks for turns and ends them. Every host
has 20 URLs; 80 visits are out at a time and commits come every 256 outcomes, so hosts wait out their gaps in the
politeness heap as in a crawl. Rows:

  * a million URLs over 50,000 hosts, and five million over 250,000, with the default bounds on what is in memory: the
    frontier as it runs;
  * a million with everything in memory at once, which no crawl does;
  * the same by score (`importance`), where every host is of another domain;
  * forty hosts on every address.
"""

import argparse
import gc
import math
import platform
import resource
import time
from collections import deque
from dataclasses import dataclass, field
from functools import cache
from typing import NamedTuple

from gossamer.frontier.decisions import FrontierLimits, WaitUntil
from gossamer.frontier.frontier import Frontier
from gossamer.frontier.orderings.ordering import Importance, Ordering
from gossamer.frontier.politeness import Contact, PolitenessPolicy
from gossamer.model.facts import DomainFacts
from gossamer.model.loads import LoadRequest
from gossamer.model.task import HostRecord, Task, Visit
from gossamer.model.units import Fingerprint, HostId, HostKey, Instant, Seconds, Url

_PER_HOST = 20
_FRONTS = 3
_COMMIT = 256
_CONCURRENCY = 80
_DUE = Instant(1.0)


@dataclass(slots=True)
class _Table:
    """Hosts that are all due, each with the same number of URLs; hands them out in pages."""

    hosts: int
    hosts_per_address: int | None
    by_score: bool = False
    cpu: float = 0.0
    given: dict[tuple[int, int], int] = field(default_factory=dict)  # (host, class) -> URLs handed out

    def answer(self, order: LoadRequest, frontier: Frontier, now: Instant) -> float:
        """Deliver what is asked for; returns the CPU time that the frontier took to take it in."""
        began = time.process_time()
        fronts, hosts = [], []
        for front in order.fronts:
            first = front.cursor[1] + 1
            last = min(first + front.count - 1, self.hosts)
            due = math.inf if last == self.hosts else None
            fronts.append((front.front, [(1.0, HostId(n)) for n in range(first, last + 1)], due))
        for wanted in order.hosts:
            host_id = wanted.host_id
            record = None
            if wanted.with_record:
                address = f"10.{host_id // self.hosts_per_address}" if self.hosts_per_address else None
                name = HostKey(f"h{host_id}.test")
                record = HostRecord(host_id, name, host_id, DomainFacts(), 1, Instant(0.0), 0.01, address)
            classes = [(front, *self._page(host_id, front, count)) for front, _, count in wanted.classes]
            hosts.append((host_id, record, classes))
        delivered = time.process_time()
        self.cpu += delivered - began
        for number, entries, due in fronts:
            frontier.add_front(number, entries, due, 1)
        for host_id, record, classes in hosts:
            frontier.add_host(host_id, record, classes, 1, now)
        frontier.end_load()
        return time.process_time() - delivered

    def _page(self, host_id: int, front: int, count: int) -> tuple[list[Task], float | None]:
        given = self.given.get((host_id, front), 0)
        if self.by_score:
            numbers = range(given, 0 if front else _PER_HOST)[:count]
        else:
            numbers = range(given * _FRONTS + front, _PER_HOST, _FRONTS)[:count]
        self.given[host_id, front] = given + len(numbers)
        first = host_id * _PER_HOST + 1
        tasks = []
        for n in numbers:
            score = float(_PER_HOST - n)
            place = -score if self.by_score else _DUE
            url = Url(f"http://h{host_id}.test/{n}")
            tasks.append(Task(first + n, Fingerprint(n), url, front, place, score, 1, 0, 0))
        return tasks, None if len(numbers) == count else math.inf


class Report(NamedTuple):
    """A commit that brought nothing but outcomes."""

    number: int
    settled: list[tuple[HostId, int]]
    retired: list[HostId]
    touched: tuple[()] = ()
    moved: tuple[()] = ()
    linked: tuple[()] = ()
    host_counts: tuple[()] = ()
    withdrawn: tuple[()] = ()


def drive(
    hosts: int,
    hosts_per_address: int | None = None,
    *,
    max_hosts: int = FrontierLimits().max_hosts,
    ordering: Ordering | None = None,
) -> tuple[float, float, int]:
    """Visit all URLs: (CPU seconds with those of this loop, the stand-in's CPU seconds, gaps waited for)."""
    policy = PolitenessPolicy(min_delay=Seconds(1.0))
    frontier = Frontier(policy, None, FrontierLimits(max_hosts=max_hosts), ordering)
    table = _Table(hosts, hosts_per_address, ordering is not None and ordering.by_score)
    now = Instant(1_000.0)
    urls = hosts * _PER_HOST
    done = waits = number = 0
    unsettled: list[tuple[HostId, int]] = []
    out: deque[Visit] = deque()
    took = Seconds(0.01)
    began = time.process_time()
    while done < urls:
        turn = frontier.next_turn(now) if len(out) < _CONCURRENCY else None
        if isinstance(turn, Visit):
            out.append(turn)
            continue
        if out:
            visit = out.popleft()
            frontier.finish(visit, Contact(now, took), now)
            unsettled.append((visit.host_id, visit.task.url_id))
            done += 1
            if len(unsettled) < _COMMIT:
                continue
        number += 1
        frontier.on_commit(Report(number, unsettled, [host.host_id for host in frontier.take_retired()]))
        unsettled.clear()
        order = frontier.request_load(now)
        if order:
            table.answer(order, frontier, now)
        elif isinstance(turn, WaitUntil) and not out:
            waits += 1
            now = turn.when
        elif turn is not None and not out:
            raise AssertionError(f"idle after {done} of {urls} URLs")
    return time.process_time() - began - table.cpu, table.cpu, waits


def _crawl(
    hosts: int,
    hosts_per_address: int | None = None,
    *,
    max_hosts: int = FrontierLimits().max_hosts,
    ordering: Ordering | None = None,
) -> tuple[float, float, int]:
    """(microseconds a URL, stand-in's microseconds a URL, gaps waited for)."""
    cpu, stand_in, waits = drive(hosts, hosts_per_address, max_hosts=max_hosts, ordering=ordering)
    each = 1e6 / (hosts * _PER_HOST)
    return cpu * each - _loop_cost(), stand_in * each, waits


@cache
def _loop_cost() -> float:
    """What asking, remembering and ending a visit costs by itself, with nobody who answers: microseconds a URL."""
    task = Task(1, Fingerprint(1), Url("http://h.test/"), 0, _DUE, 0.5, 1, 0, 0)
    visit = Visit(HostId(1), HostKey("h.test"), 1, task, None, 0.01)
    nobody = _Nobody(visit)
    took, now, turns = Seconds(0.01), Instant(1.0), 200_000
    unsettled: list[tuple[HostId, int]] = []
    out: deque[Visit] = deque()
    began = time.process_time()
    for _ in range(turns):
        turn = nobody.next_turn(now) if len(out) < _CONCURRENCY else None
        if isinstance(turn, Visit):
            out.append(turn)
        visit = out.popleft()
        nobody.finish(visit, Contact(now, took), now)
        unsettled.append((visit.host_id, visit.task.url_id))
        if len(unsettled) >= _COMMIT:
            unsettled.clear()
    return (time.process_time() - began) * 1e6 / turns


class _Nobody:
    def __init__(self, visit: Visit) -> None:
        self._visit = visit

    def next_turn(self, now: Instant) -> Visit | WaitUntil:
        return self._visit

    def finish(self, visit: Visit, contact: Contact, now: Instant) -> None:
        pass


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--hosts", type=int, default=50_000)
    hosts: int = arguments.parse_args().hosts
    everything = 10 * hosts
    # As a crawl has it (crawl/run/signals.py): objects that live long are not looked through again and again.
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)

    print(f"python {platform.python_version()} on {platform.machine()}, {_PER_HOST} URLs a host")
    one, stand_in, waits = min(_crawl(hosts) for _ in range(3))
    print(f"{hosts * _PER_HOST:>9} URLs  {one:6.2f} us a URL ({waits} waits, stand-in {stand_in:.2f} us)")
    five, _, _ = _crawl(5 * hosts)
    print(f"{5 * hosts * _PER_HOST:>9} URLs  {five:6.2f} us a URL: growth {five / one:.2f} for five times the queue")
    resident, _, _ = min(_crawl(hosts, max_hosts=everything) for _ in range(2))
    print(f"all in memory    {resident:6.2f} us a URL (ratio {resident / one:.2f})")
    scored, _, _ = min(_crawl(hosts, ordering=Importance()) for _ in range(2))
    print(f"by score         {scored:6.2f} us a URL (ratio {scored / one:.2f})")
    shared, _, _ = _crawl(hosts // 10, hosts_per_address=40)
    print(f"gates            {shared:6.2f} us a URL, forty hosts an address (ratio {shared / one:.2f})")
    print(f"largest memory  {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")


if __name__ == "__main__":
    main()
