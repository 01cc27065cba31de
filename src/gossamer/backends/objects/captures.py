"""The port for writing captures, on object storage: the records of a commit are one object."""

from collections.abc import Mapping, Sequence

from gossamer.backends.objects.delivery import ObjectDelivery
from gossamer.backends.warc.captures import WarcEncoder
from gossamer.backends.warc.record import RecordIds, Warcinfo, build_warcinfo
from gossamer.clock import Clock
from gossamer.model.settlement import Capture
from gossamer.store.ports import Location


def object_name(epoch: int, commit: int) -> str:
    return f"{epoch}/{commit:08d}.warc.gz"


class ObjectCaptures:
    """`CaptureFiles`. Used from the store's thread only.

    An object is built in memory and put by `flush`. A name under which something was put is not used again: after
    `roll_back` the next object has the next number, and the one that was put is an orphan.
    """

    def __init__(self, delivery: ObjectDelivery, *, epoch: int, info: Warcinfo, ids: RecordIds, clock: Clock) -> None:
        """`epoch` is a number unique to one life of a worker."""
        self._delivery = delivery
        self._epoch = epoch
        self._info = info
        self._ids = ids
        self._clock = clock
        self._encoder = WarcEncoder(ids)  # for captures that come without their records
        self._commit = 1
        self._records: list[bytes] = []
        self._length = 0
        self._tried = False  # to put the object
        self._is_put = False
        self._spooled: str | None = None
        self._moves: dict[str, bool] = {}

    @property
    def _name(self) -> str:
        return object_name(self._epoch, self._commit)

    def append(self, capture: Capture) -> Location:
        """Add the records of a document; the location is that of the record with the content, or of the revisit."""
        assert not self._tried  # what was flushed is not changed
        if not self._records:
            now, name = self._clock.now(), self._name
            self._add((build_warcinfo(self._info, record_id=self._ids.next(), file_name=name, now=now),))
        records = capture.records or self._encoder.encode(capture)
        at = Location(self._name, self._length, len(records[0]))
        self._add(records)
        return at

    def _add(self, records: Sequence[bytes]) -> None:
        self._records += records
        self._length += sum(map(len, records))

    def flush(self) -> Mapping[str, int]:
        if self._records and not self._is_put:
            self._tried = True  # also if it fails: it may have arrived all the same
            if not self._delivery.put(self._name, b"".join(self._records)):
                self._spooled = self._name
            self._is_put = True
        return {self._name: self._length} if self._is_put else {}

    def moves(self) -> Mapping[str, bool]:
        for name in self._delivery.take_delivered():
            self._moves[name] = False
        if self._spooled is not None:
            self._moves.setdefault(self._spooled, True)  # unless it was delivered at once
        return self._moves

    def committed(self) -> None:
        self._moves = {}
        self._spooled = None
        self._turn_to_next()

    def roll_back(self) -> None:
        if self._spooled is not None:
            self._delivery.forget(self._spooled)
            self._moves.pop(self._spooled, None)
            self._spooled = None
        self._turn_to_next()

    def _turn_to_next(self) -> None:
        self._commit += self._tried
        self._records.clear()
        self._length = 0
        self._tried = self._is_put = False

    def close(self) -> None:
        """Stops delivering. What is in the spool stays there for the next start."""
        self._delivery.close()
