"""What the workers tell: carried from one to the other, and put together. Knows when nothing is left to do.

A worker tells that it works before it answers for what it was handed, and whoever handed it over counts as working
until then. All of it comes over one link from each, in order. So when all are known to rest, nothing is on its way.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from gossamer.errors import GossamerError
from gossamer.observe.snapshot import Snapshot
from gossamer.workers.messages import (
    ALLOW,
    BACK,
    ENDED,
    FAILED,
    GO,
    HAS,
    KEPT,
    OPEN,
    SHOWN,
    STATE,
    STOP,
    URLS,
    Doing,
)


class Ear(Protocol):
    """The end of a link to a worker."""

    def tell(self, *message: Any) -> None: ...


@dataclass(slots=True)
class Seat:
    """What is known of one worker."""

    link: Ear | None = None  # None: it has died
    is_open: bool = False
    doing: Doing = Doing.WORKING
    pages: int = 0
    allowed: int = 0  # pages, where there is a limit
    asked_back: bool = False  # what it may not need of that
    shown: Snapshot | None = None
    ended: bool = False


@dataclass(slots=True)
class Hub:
    """Sits in the supervisor, between all workers."""

    seats: list[Seat]
    max_pages: int | None
    on_open: Callable[[], None]  # every part is there, for the first time in this run
    on_done: Callable[[], None]  # nothing is left to do, or nothing more may be done
    on_failure: Callable[[GossamerError], None]
    finished: bool = False
    _went: bool = False  # all were open once
    _stopping: bool = False
    _spare: int = field(default=0)  # pages that nobody has been allowed

    # --- coming and going --------------------------------------------------------------------------------

    def seated(self, number: int, link: Ear) -> None:
        """A worker was started; it is not open yet."""
        seat = self.seats[number]
        seat.link, seat.is_open, seat.doing, seat.asked_back = link, False, Doing.WORKING, False

    def died(self, number: int) -> None:
        """The others go on; what is for this one waits in their outboxes."""
        seat = self.seats[number]
        seat.link, seat.is_open, seat.doing = None, False, Doing.WORKING

    def stop(self) -> None:
        """Everybody is to finish what is in flight; told again, to leave it."""
        self._stopping = True
        self.tell_all(STOP)

    def tell_all(self, *message: Any) -> None:
        for seat in self.seats:
            if seat.link is not None:
                seat.link.tell(*message)

    # --- messages ----------------------------------------------------------------------------------------

    def hear(self, number: int, what: str, *rest: Any) -> None:
        """One message of a worker."""
        seat = self.seats[number]
        if what in (URLS, HAS):
            self._carry(number, what, *rest)
        elif what == SHOWN:
            (seat.shown,) = rest
        elif what == STATE:
            seat.doing, seat.pages = rest
            self._look()
        elif what == OPEN:
            (seat.pages,) = rest
            seat.is_open = True
            self._opened(number)
        elif what == KEPT:
            self._kept(seat, *rest)
        elif what == ENDED:
            (seat.shown,) = rest
            seat.ended = True
        elif what == FAILED:
            self.on_failure(*rest)

    def _carry(self, number: int, what: str, to: int, load: Any) -> None:
        """What is for a worker that is not there is dropped: it is sent again when that one is back."""
        seat = self.seats[to]
        if seat.link is not None and seat.is_open:
            seat.link.tell(what, number, load)

    def _opened(self, number: int) -> None:
        if self._stopping:
            return
        if not self._went:
            if all(seat.is_open for seat in self.seats):
                self._went = True
                self.on_open()
                self._share_out()
                self.tell_all(GO)
            return
        seat = self.seats[number]
        assert seat.link is not None
        if self.max_pages is not None:
            seat.link.tell(ALLOW, seat.allowed)
        seat.link.tell(GO)
        for other in self.seats:
            if other is not seat and other.link is not None:
                other.link.tell(BACK, number)

    # --- how many pages ------------------------------------------------------------------------------------

    def _share_out(self) -> None:
        """Let everybody begin with an equal share of the pages that may still be stored; half of all is kept back."""
        if self.max_pages is None:
            return
        left = max(0, self.max_pages - sum(seat.pages for seat in self.seats))
        each = left // (2 * len(self.seats))
        self._spare = left - each * len(self.seats)
        for seat in self.seats:
            seat.allowed = seat.pages + each
            self._allow(seat)

    def _allow(self, seat: Seat) -> None:
        if seat.link is not None:
            seat.link.tell(ALLOW, seat.allowed)

    def _kept(self, seat: Seat, pages: int) -> None:
        """A worker will store no more than so many: what it gives back is somebody else's."""
        self._spare += seat.allowed - pages
        seat.allowed, seat.asked_back = pages, False
        self._look()

    def _look(self) -> None:
        """Is everything done? Does somebody need more?"""
        if self._stopping or not self._went or not all(seat.is_open for seat in self.seats):
            return
        full = [seat for seat in self.seats if seat.doing is Doing.FULL and seat.pages >= seat.allowed]
        resting = [seat for seat in self.seats if seat.doing is Doing.RESTING]
        if full and self._spare:
            each = -(-self._spare // (2 * len(full)))
            for seat in full:
                given = min(each, self._spare)
                self._spare -= given
                seat.allowed += given
                seat.doing = Doing.WORKING
                self._allow(seat)
            return
        if full:
            for seat in resting:
                if seat.allowed > seat.pages and not seat.asked_back and seat.link is not None:
                    seat.asked_back = True
                    seat.link.tell(ALLOW, seat.pages)
        if len(full) + len(resting) == len(self.seats) and not any(seat.asked_back for seat in self.seats):
            self.finished = not full
            self._stopping = True
            self.on_done()
