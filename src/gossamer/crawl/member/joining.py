"""Joins a crawl. A worker that was killed counts as alive until it has been silent for long enough, so whether a name
is free, and whether other workers take part, is decided only after that wait."""

from collections.abc import Callable, Iterable

from gossamer.clock import boot_time, sleep
from gossamer.cluster.lease import LeaseTerms
from gossamer.cluster.membership import Joined, Membership, WorkerInfo, end_silent_workers, list_workers
from gossamer.cluster.ports import Session
from gossamer.errors import NameInUse
from gossamer.model.units import Epoch, Seconds
from gossamer.observe.workers import WorkerFigures

Tell = Callable[[str], None]
"""Tells the operator what is waited for."""


def join(
    session: Session,
    membership: Membership,
    previous: Iterable[Epoch],
    terms: LeaseTerms,
    *,
    begins_run: bool,
    tell: Tell,
) -> Joined:
    """Become a member. `previous` are those of `Membership.join`. With `begins_run`, what this worker does depends on
    whether it is alone: others that have died are declared dead before, and then `terms` are those of the crawl. Raises
    NameInUse, naming its holder, and StoreFailed."""
    gone, ttl = frozenset(previous), terms.ttl if begins_run else None
    terms = LeaseTerms(Seconds(session.fetch_value("lease_time")))  # of those who may be alive

    def declare_dead(name: str | None = None) -> None:
        others = [
            worker for worker in list_workers(session) if worker.epoch not in gone and name in (None, worker.name)
        ]
        if others:
            named = ", ".join(sorted(worker.name for worker in others))
            tell(f"waiting for a heartbeat of {named}, for {terms.silence:g} seconds at most")
            end_silent_workers(session, terms, boot_time, sleep, among=frozenset(worker.epoch for worker in others))

    if begins_run:
        declare_dead()
    try:
        return membership.join(gone, ttl)
    except NameInUse:
        declare_dead(membership.name)
    try:
        return membership.join(gone, ttl)
    except NameInUse as error:
        holders = [describe(worker) for worker in list_workers(session) if worker.name == membership.name]
        raise NameInUse(membership.name, *holders) from error


def describe(worker: WorkerInfo) -> str:
    """A living worker for messages: its name and, if it has published them, its process and machine."""
    figures = WorkerFigures.decode(worker.stats)
    if figures.pid is None:
        return worker.name
    return f"{worker.name} (process {figures.pid} on {figures.machine})"
