"""Heartbeats: a thread that renews the lease of a worker, and reads what the other workers do."""

import threading
from collections.abc import Callable
from typing import NamedTuple

from gossamer.cluster.fence import reason_of_end
from gossamer.cluster.lease import Lease, LeaseTerms
from gossamer.cluster.ports import Session
from gossamer.cluster.watch import Silent, Watch
from gossamer.errors import StoreFailed, WorkerEnded
from gossamer.model.units import Epoch

_LOOKS = 8
"""How often the list of living workers is read between two heartbeats. A read costs a fraction of a heartbeat."""


class Member(NamedTuple):
    """A living worker."""

    epoch: Epoch
    name: str
    beat: int
    weight: float
    draining: bool
    rules_version: int = 0  # of the rules that it has applied


class View(NamedTuple):
    """The crawl and its workers as of the last heartbeat."""

    state: str
    generation: int
    rules_version: int
    members: tuple[Member, ...]  # this worker too
    silent: tuple[Silent, ...]  # to be declared dead

    def weights(self) -> dict[Epoch, float]:
        """Of all workers that partitions are shared among."""
        return {member.epoch: member.weight for member in self.members if not member.draining}


class Heartbeat:
    """Sends heartbeats on a connection of its own, so that a slow commit does not delay them.

    `now` is a clock that counts the time that the machine is suspended, `turned` says when on this clock the event loop
    last turned, `stats` what operators see of this worker, `rules_version` which rules it has applied. `lease`, `view`,
    `end` and `failure` may be read by any thread.
    """

    def __init__(
        self,
        session: Session,
        epoch: Epoch,
        terms: LeaseTerms,
        *,
        now: Callable[[], float],
        turned: Callable[[], float],
        stats: Callable[[], str] = lambda: "{}",
        rules_version: Callable[[], int] = lambda: 0,
    ) -> None:
        self.lease = Lease(terms)
        self.view: View | None = None
        self.end: WorkerEnded | None = None
        """Why this life is over: the worker exits."""
        self.failure: StoreFailed | None = None
        """Why the last heartbeat was not answered."""
        self._session, self._epoch, self._terms = session, epoch, terms
        self._now, self._turned = now, turned
        self._stats, self._rules_version = stats, rules_version
        self._watch = Watch(terms)
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="gossamer-heartbeat", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Send no more heartbeats. The lease ends at once."""
        self.lease.revoke()
        self._stopping.set()
        if self._thread.ident is not None:
            self._thread.join()

    def _run(self) -> None:
        try:
            while not self._stopping.is_set() and self.end is None:
                self.send()
                self._pause()
        finally:
            self._session.close()

    def _pause(self) -> None:
        """Until the next heartbeat: sooner if a worker has joined, which gets its share when others know of it."""
        look = self._terms.heartbeat / _LOOKS
        if self.failure is not None:
            self._stopping.wait(2 * look)
            return
        until = self._now() + self._terms.heartbeat  # a slow server must not delay the next heartbeat
        for _ in range(_LOOKS):
            if self._now() >= until or self._stopping.wait(look) or self.membership_changed():
                return

    def membership_changed(self) -> bool:
        """Whether a worker has joined or died since the last heartbeat. Also true if the store does not answer."""
        if self.view is None:
            return False
        try:
            living = {epoch for (epoch,) in self._session.fetch_all("living")}
        except StoreFailed:
            return True  # the heartbeat tells
        return living != {member.epoch for member in self.view.members}

    def send(self) -> None:
        """Send one heartbeat, unless the event loop hangs, and wait for its answer."""
        sent = self._now()
        if not self.lease.may_renew(sent, self._turned()):
            return
        try:
            view = self._exchange()
        except StoreFailed as error:
            self.failure = error
            self._watch.restart()  # after an outage all can renew before anybody is declared dead
            return
        except WorkerEnded as end:
            self.lease.revoke()
            self.end = end
            return
        self.failure = None
        self.lease.renew(sent)
        others = {member.epoch: member.beat for member in view.members if member.epoch != self._epoch}
        # The clock is read after the counters: what was read had been sent before.
        self.view = view._replace(silent=tuple(self._watch.observe(others, self._now())))

    def _exchange(self) -> View:
        """Raises WorkerEnded, StoreFailed."""
        session = self._session
        with session.transaction():
            if session.fetch_value("confirm_alive", self._epoch) is None:
                raise reason_of_end(session, self._epoch)
            session.execute("beat", self._epoch, self._stats(), self._rules_version())
            state, generation, rules_version, _, _ = session.fetch_one("crawl_now") or ()
            members = tuple(Member(*row) for row in session.fetch_all("members"))
        return View(state, generation, rules_version, members, ())
