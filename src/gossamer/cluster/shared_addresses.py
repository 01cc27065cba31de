"""Shared addresses: of all workers, only the one that holds an address contacts it.

`SharedAddresses` implements `frontier.ports.OtherWorkers` in memory, on the event loop, and never waits. Between its
`plan` and its `apply`, `exchange` runs the statements in a thread, on a connection that no commit delays.
"""

from dataclasses import dataclass, field
from typing import NamedTuple

from gossamer.cluster.fence import reason_of_end
from gossamer.cluster.handover import Released, RestPolicy
from gossamer.cluster.membership import TakenGate
from gossamer.cluster.ports import Session
from gossamer.model.units import Epoch, Instant, Seconds

ASK_AGAIN = Seconds(0.05)
"""When to ask for an address again that was requested."""
KEPT_CONTACTS = 10
"""An address that another worker wants is given up after this number of further contacts at the latest."""
IDLE = Seconds(30.0)
"""An address is given up when it was not contacted for this long."""
LOOK = Seconds(1.0)
"""Between two exchanges at most, also if this worker knows of nothing to exchange: the table may know of an address
that is its own, because an answer was lost, and that others want."""


@dataclass(slots=True)
class _Held:
    not_before: Instant
    used: Instant
    busy: bool = False
    wanted: Instant | None = None
    contacts: int = 0  # since it is wanted


class GatePlan(NamedTuple):
    """What to do in the table."""

    take: tuple[str, ...]
    release: tuple[tuple[str, Seconds], ...]  # with the seconds that are left of the rest


class GateAnswer(NamedTuple):
    """What came of a plan."""

    plan: GatePlan
    taken: tuple[TakenGate, ...]
    wanted: tuple[str, ...]  # of those held


@dataclass(slots=True)
class SharedAddresses:
    """The addresses that this worker holds or asks for."""

    policy: RestPolicy
    min_gap: Seconds
    """The shortest rest after a contact."""
    kept_for: Seconds = Seconds(10.0)
    """An address that another worker wants is given up after this time at the latest."""
    held: dict[str, _Held] = field(default_factory=dict)
    _asked: set[str] = field(default_factory=set)
    _leaving: set[str] = field(default_factory=set)
    _closed: dict[str, Instant] = field(default_factory=dict)
    _looked: Instant = Instant(0.0)

    def acquire(self, address: str, now: Instant) -> Instant | None:
        """None: it is ours until `release`. Otherwise, when to try again."""
        held = self.held.get(address)
        if held is None or address in self._leaving or self._has_had_its_turn(held, now):
            self._asked.add(address)
            return Instant(now + ASK_AGAIN)
        if held.busy or now < held.not_before:
            return max(held.not_before, Instant(now + ASK_AGAIN)) if held.busy else held.not_before
        held.busy = True
        return None

    def release(self, address: str, until: Instant) -> None:
        """Our contact is over; no worker may contact the address before `until`."""
        held = self.held.get(address)
        if held is not None:
            held.busy = False
            held.not_before = max(held.not_before, until)
            held.used = until
            held.contacts += held.wanted is not None

    def end_contacts(self, now: Instant) -> None:
        """All contacts have ended. Those that were not reported were cut off: their addresses rest as after a death."""
        for address, held in self.held.items():
            if held.busy:
                self.release(address, Instant(now + self.policy.rest(Released.DEAD, self.min_gap)))

    def close_until(self, address: str, until: Instant, now: Instant) -> None:
        """Not before `until`, because of contacts before this worker was started."""
        if (held := self.held.get(address)) is not None:
            held.not_before = max(held.not_before, until)
        elif until > now:
            self._closed[address] = max(until, self._closed.get(address, until))

    def plan(self, now: Instant) -> GatePlan | None:
        """What the next exchange should do; None: nothing. One exchange at a time. If it fails, it may have come to
        something or not: what it was to give up stays closed, and the next plan gives it up again."""
        self._leaving = {
            address
            for address, held in self.held.items()
            if not held.busy and (self._has_had_its_turn(held, now) or now >= held.used + IDLE)
        }
        release = tuple((a, Seconds(max(self.held[a].not_before - now, 0.0))) for a in sorted(self._leaving))
        take = tuple(sorted(self._asked - self.held.keys()))
        self._asked.clear()
        if not (take or release or self.held) and 0 <= now - self._looked < LOOK:
            return None
        self._looked = now
        return GatePlan(take, release)

    @property
    def has_requests(self) -> bool:
        """Whether an address is asked for that the next plan takes."""
        return bool(self._asked)

    def rests(self, now: Instant) -> tuple[tuple[str, Seconds], ...]:
        """All addresses that this worker holds, with the seconds that are left of their rest."""
        return tuple((a, Seconds(max(held.not_before - now, 0.0))) for a, held in sorted(self.held.items()))

    def apply(self, answer: GateAnswer, now: Instant) -> None:
        """What the exchange has come to. `now` is later than its commit."""
        for address, _ in answer.plan.release:
            del self.held[address]
        self._leaving.clear()
        self.adopt(answer.taken, now)
        for address in answer.wanted:
            if (held := self.held.get(address)) is None:
                self._asked.add(address)  # ours by an exchange whose answer was lost; its rest is asked for again
            elif held.wanted is None:
                held.wanted = now

    def adopt(self, taken: tuple[TakenGate, ...], now: Instant) -> None:
        """Addresses are ours now."""
        for address, released, rest in taken:
            gap = Seconds(max(rest, self.min_gap))
            closed = self._closed.pop(address, now)
            not_before = Instant(max(closed, now + self.policy.rest(released, gap)))
            self.held[address] = _Held(not_before, used=not_before)

    def _has_had_its_turn(self, held: _Held, now: Instant) -> bool:
        return held.wanted is not None and (held.contacts >= KEPT_CONTACTS or now >= held.wanted + self.kept_for)


def exchange(session: Session, epoch: Epoch, plan: GatePlan) -> GateAnswer:
    """Run a plan, in one transaction. Raises WorkerEnded, StoreFailed."""
    with session.transaction():
        if session.fetch_value("confirm_alive", epoch) is None:
            raise reason_of_end(session, epoch)
        if plan.release:
            addresses, rests = zip(*plan.release, strict=True)
            session.execute("release_gates", epoch, list(addresses), list(rests))
        taken: list[TakenGate] = []
        if plan.take:
            rows = session.fetch_all("take_gates", epoch, list(plan.take))
            taken = [TakenGate(address, Released(how), rest) for address, how, rest in rows]
            if missing := sorted(set(plan.take) - {gate.address for gate in taken}):
                session.execute("want_gates", epoch, missing)
        wanted = [row[0] for row in session.fetch_all("wanted_gates", epoch)]
    return GateAnswer(plan, tuple(taken), tuple(wanted))
