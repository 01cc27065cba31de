"""Membership of a crawl: joining, declaring a silent worker dead, draining, leaving."""

from collections.abc import Callable, Container, Iterable
from typing import NamedTuple

from gossamer.cluster.handover import Released
from gossamer.cluster.lease import LeaseTerms
from gossamer.cluster.ports import Session
from gossamer.cluster.watch import Silent, Watch
from gossamer.errors import DirectoryInUse, NameInUse
from gossamer.model.units import Epoch, Seconds


class Taken(NamedTuple):
    """A partition that this worker owns from now on."""

    part: int
    released: Released


class TakenGate(NamedTuple):
    """An address that this worker holds from now on."""

    address: str
    released: Released
    rest: Seconds  # that was left when it was given up


class Joined(NamedTuple):
    """What a worker finds when it joins: the crawl, and what its last process in the same directory owned."""

    generation: int
    rules_version: int
    partitions: int
    owned: list[Taken]
    gates: list[TakenGate]
    ttl: Seconds  # of leases, for all workers
    alone: bool  # no other worker was alive; of several that join at the same time, this holds for the first only


class Membership:
    """One worker as a member: a name, a weight, and an epoch that it has drawn at random."""

    def __init__(
        self, session: Session, epoch: Epoch, name: str, terms: LeaseTerms, *, weight: float, version: str
    ) -> None:
        self._session, self._terms = session, terms
        self.epoch, self.name, self.weight, self.version = epoch, name, weight, version

    def join(self, previous: Iterable[Epoch] = (), ttl: Seconds | None = None) -> Joined:
        """Become a member. Called again after StoreFailed, it finds out whether it is one already.

        `previous` are the epochs of earlier processes in the same directory, whose lock proves that they are gone. They
        are declared dead, and what they owned passes to this one. A process records its epoch in the directory before
        it joins, so that the next one knows it even if the answer was lost. `ttl`: the duration of leases from now on,
        unless other workers are alive. Raises NameInUse, StoreFailed, and DirectoryInUse while a command changes the
        crawl that needs it without workers.
        """
        session = self._session
        with session.transaction():
            _, generation, rules_version, partitions, _ = session.fetch_one("crawl_now") or ()
            for gone in previous:
                if session.fetch_value("lock_fence", gone) is not None:
                    session.execute("take_partitions_back", self.epoch, gone)
                    session.execute("take_gates_back", self.epoch, gone)
                    _bury(session, gone, "dead")
            session.fetch_one("lock_crawl")  # until the commit: workers join one after the other
            if session.execute("join_fence", self.epoch):
                # In this order: a command that does not see our row yet is seen by us.
                if (holder := session.fetch_value("holder")) is not None:
                    raise DirectoryInUse(
                        f"the crawl is being repaired or changed by another process ({holder}); start the worker again "
                        "when that has ended"
                    )
                if not session.execute("join_workers", self.epoch, self.name, self.weight, self.version):
                    raise NameInUse(self.name)
            alone = all(epoch == self.epoch for (epoch,) in session.fetch_all("living"))
            if alone and ttl is not None:
                session.execute("set_lease_time", ttl)
            lease_time = Seconds(session.fetch_value("lease_time"))
            owned = [Taken(part, Released(how)) for part, how in session.fetch_all("owned_partitions", self.epoch)]
            gates = [TakenGate(a, Released(how), rest) for a, how, rest in session.fetch_all("held_gates", self.epoch)]
        return Joined(generation, rules_version, partitions, owned, gates, lease_time, alone)

    def declare_dead(self, silent: Silent) -> bool:
        """In a transaction behind the fence, or before joining, when the name is in use by a worker that has fallen
        silent: end a worker whose counter has not moved. Its partitions become free. False if it lives after all, or is
        dead already."""
        session = self._session
        if session.fetch_value("lock_fence", silent.epoch) is None:
            return False
        if session.fetch_value("beat_of", silent.epoch) != silent.beat:
            return False
        session.execute("free_partitions_of_dead", silent.epoch, self._terms.waits_after_deaths())
        _bury(session, silent.epoch, "dead")
        return True

    def drain(self) -> None:
        """In a transaction behind the fence: the others stop counting on this worker; it gives up all partitions."""
        self._session.execute("drain_worker", self.epoch)

    def leave(self) -> None:
        """In the last transaction behind the fence, after all partitions and addresses were given up."""
        _bury(self._session, self.epoch, "left")


class WorkerInfo(NamedTuple):
    """What operators see of a worker."""

    epoch: Epoch
    name: str
    state: str  # active, draining, left or dead
    alive: bool
    weight: float
    joined: float
    version: str
    commits: int
    stored: int  # pages
    partitions: int
    stats: str  # JSON, as of its last heartbeat
    now: float  # on the clock of the server


def list_workers(session: Session, *, gone: bool = False) -> list[WorkerInfo]:
    """The workers that are alive, or all that ever were, in the order in which they joined. Raises StoreFailed."""
    return [WorkerInfo(*row) for row in session.fetch_all("list_workers", gone)]


def drain_worker(session: Session, name: str) -> bool:
    """Ask a worker to leave: it finishes its visits and gives up its partitions. False if there is none of this name
    that is active. Raises StoreFailed."""
    return session.execute("drain_named", name) > 0


def end_silent_workers(
    session: Session,
    terms: LeaseTerms,
    now: Callable[[], float],
    pause: Callable[[float], None],
    *,
    among: Container[Epoch] | None = None,
) -> None:
    """Before a crawl is changed or joined: declare those workers dead that were killed, after waiting long enough to
    know it. Only those `among` these are looked at, if it is given. Returns at once if there are none, or as soon as
    one is seen to live. Raises StoreFailed."""
    watch, first = Watch(terms), dict[Epoch, int]()
    while True:
        found = {Epoch(epoch): int(beat) for epoch, beat in session.fetch_all("beats")}
        beats = {epoch: beat for epoch, beat in found.items() if among is None or epoch in among}
        first = first or beats
        if not beats or any(beat != first.get(epoch) for epoch, beat in beats.items()):
            return
        for silent in watch.observe(beats, now()):
            with session.transaction():
                Membership(session, silent.epoch, "", terms, weight=1.0, version="").declare_dead(silent)
        pause(terms.heartbeat / 2)


def _bury(session: Session, epoch: Epoch, state: str) -> None:
    session.execute("end_fence", epoch)
    session.execute("end_worker", epoch, state)
