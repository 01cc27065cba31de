"""Puts objects: at once if the storage answers, else into the spool, from which a thread delivers them in order."""

import threading
from collections import deque
from collections.abc import Callable
from typing import Final, Protocol

from gossamer.backends.objects.spool import Spool, Spooled
from gossamer.errors import SpoolFull, StoreFailed
from gossamer.model.delivery import DeliveryEvent, DeliveryStatistics

PUT_SECONDS: Final = 4.0
"""A put that takes longer has failed; the object then goes to the spool. Less than what a commit may take before it
counts as slow (`store.threads.SLOW_AFTER`)."""
LEAST_DELIVERY_SECONDS: Final = 30.0
"""The same for a put from the spool, if the object is small."""
SLOWEST_BYTES: Final = 50_000
"""In a second: how slow a put from the spool may be."""
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 10.0
"""Seconds between the tries to deliver; they double."""
SLOWS_AT: Final = 0.8
"""How full the spool is when fetching slows down."""
_MOST_EVENTS: Final = 1_000


class Storage(Protocol):
    """What objects are put into."""

    def put(self, name: str, data: bytes) -> None:
        """Raises StoreFailed."""
        ...


def delivery_seconds(length: int) -> float:
    """How long a put of this many bytes from the spool may take: one of a few values, since each needs a client."""
    seconds = LEAST_DELIVERY_SECONDS
    while seconds * SLOWEST_BYTES < length:
        seconds *= 2
    return seconds


class ObjectDelivery:
    """`store.ports.Delivery`. Puts objects for one thread, and delivers spooled ones in a thread of its own.

    While the spool is not empty, all objects go there: so they are delivered in order, and a storage that is down costs
    one timeout and not one for each commit.
    """

    def __init__(self, quick: Storage, patient: Callable[[float], Storage], spool: Spool, limit: int) -> None:
        """`quick` gives up soon, `patient` after this number of seconds."""
        self._quick = quick
        self._patient = patient
        self.spool = spool
        self._limit = limit
        self._waiting: deque[Spooled] = deque()
        self._delivered: list[str] = []
        self._events: deque[DeliveryEvent] = deque(maxlen=_MOST_EVENTS)
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._thread: threading.Thread | None = None
        self._closing = False
        self._failing: str | None = None
        self._slowed = self._is_full = False
        self._puts = 0
        self._count = 0

    def resume(self, left: list[Spooled]) -> None:
        """Deliver what an earlier life of the worker has left in the spool."""
        if left:
            self._event("spool.found", segments=len(left), bytes=sum(each.length for each in left))
        for each in left:
            self._wait_for(each)

    def note_delivered(self, name: str) -> None:
        """An object is in the storage that an earlier life of the worker has delivered without recording it."""
        with self._lock:
            self._delivered.append(name)

    def put(self, name: str, data: bytes) -> bool:
        """Store an object, durably. Returns whether it is in the storage; if not, it is in the spool. Raises
        StoreFailed if neither is possible, SpoolFull if there is no room."""
        if not self._waiting:
            try:
                self._quick.put(name, data)
            except StoreFailed as error:
                self._fail(error)
            else:
                self._puts += 1
                self._recover()
                return True
        try:
            self.spool.add(name, data)
        except SpoolFull:
            if not self._is_full:
                self._is_full = True
                self._event("spool.full", segments=len(self.spool), bytes=self.spool.bytes)
            raise
        self._is_full = False
        self._wait_for(Spooled(name, len(data)))
        return False

    def forget(self, name: str) -> None:
        """No row will refer to this object: do not deliver it, if it is in the spool."""
        with self._lock:
            if self._waiting and self._waiting[-1].name == name:
                self._waiting.pop()
        self.spool.remove(name)

    def take_delivered(self) -> list[str]:
        """The objects that have come from the spool into the storage since the last call."""
        with self._lock:
            taken, self._delivered = self._delivered, []
        return taken

    def take_events(self) -> list[DeliveryEvent]:
        taken = []
        while self._events:
            taken.append(self._events.popleft())
        return taken

    @property
    def pace(self) -> float:
        fill = self.spool.fill
        return 1.0 if fill <= SLOWS_AT else max(0.0, (1.0 - fill) / (1.0 - SLOWS_AT))

    def statistics(self) -> DeliveryStatistics:
        spool = self.spool
        return DeliveryStatistics(self._failing, len(spool), spool.bytes, self._limit, self._puts, self._count)

    @property
    def is_done(self) -> bool:
        return not self._waiting

    def announce_wait(self) -> None:
        self._event("spool.waiting", segments=len(self.spool), bytes=self.spool.bytes)

    def close(self) -> None:
        """Stop delivering, without waiting for the put under way, which may take minutes. What is left stays in the
        spool, for the next start."""
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        if self._waiting:
            self._event("spool.left", segments=len(self._waiting), bytes=self.spool.bytes)

    # --- the thread ------------------------------------------------------------------------------

    def _wait_for(self, spooled: Spooled) -> None:
        with self._changed:
            self._waiting.append(spooled)
            self._changed.notify_all()
        if not self._slowed and self.spool.fill > SLOWS_AT:
            self._slowed = True
            self._event("spool.filling", segments=len(self.spool), bytes=self.spool.bytes, limit=self._limit)
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="gossamer-spool", daemon=True)
            self._thread.start()

    def _run(self) -> None:
        pause = FIRST_PAUSE
        while True:
            with self._changed:
                while not self._waiting and not self._closing:
                    self._changed.wait()
                if self._closing:
                    return
                name = self._waiting[0].name
            try:
                self._deliver(name)
            except Exception as error:  # the thread has no supervisor, and without it the crawl would never end
                self._fail(error)
                with self._changed:
                    self._changed.wait_for(lambda: self._closing, pause)
                pause = min(2 * pause, LONGEST_PAUSE)
            else:
                pause = FIRST_PAUSE

    def _deliver(self, name: str) -> None:
        data = self.spool.read(name)
        if data is not None:  # else it was forgotten
            self._patient(delivery_seconds(len(data))).put(name, data)
            if self._closing:
                return  # the spool may have its next owner, who puts the same object again
            self.spool.remove(name)
        with self._lock:
            if self._waiting and self._waiting[0].name == name:
                self._waiting.popleft()
            if data is not None:
                self._delivered.append(name)
                self._count += 1
        if self._slowed and self.spool.fill <= SLOWS_AT:
            self._slowed = False
            self._event("spool.emptying", segments=len(self.spool), bytes=self.spool.bytes)
        if not self._waiting:
            self._recover()
            self._event("spool.delivered", segments=self._count)

    def _recover(self) -> None:
        if self._failing is not None:
            self._failing = None
            self._event("blobs.recovered")

    def _fail(self, error: Exception) -> None:
        """A failure of the storage, or an unexpected one, which is logged also while the storage fails."""
        is_expected = isinstance(error, StoreFailed)
        text = str(error) if is_expected else f"{type(error).__name__}: {error}"
        if self._failing is None or (not is_expected and text != self._failing):
            self._event("blobs.failing", error=text)
        self._failing = text

    def _event(self, name: str, **fields: str | int) -> None:
        self._events.append(DeliveryEvent(name, fields))
