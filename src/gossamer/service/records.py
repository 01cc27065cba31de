"""Records of the archive that were found whole are not read again for a while. Hot: benchmarks/bench_service.py."""

import os
from pathlib import Path
from typing import Final, NamedTuple

from gossamer.clock import Clock
from gossamer.explain.facts import RecordCheck, VisitFact
from gossamer.inquiries import checked_record

KEPT: Final = 60.0
"""Seconds for which a record that was whole is taken for whole."""
MOST_KEPT: Final = 2_000

_Place = tuple[str, int | None, int | None]


class _Whole(NamedTuple):
    check: RecordCheck
    file: int  # its number on the disk: another one under the same name is another one
    until: float


class Records:
    """Checks records as `checked_record` does. A file that is gone, was replaced or was cut is noticed at once; what
    changed within it, a minute later. Several threads may ask."""

    def __init__(self, archive: Path, clock: Clock, most: int = MOST_KEPT) -> None:
        self._archive = archive
        self._clock = clock
        self._most = most
        self._whole: dict[_Place, _Whole] = {}

    def __len__(self) -> int:
        return len(self._whole)

    def __call__(self, visit: VisitFact) -> RecordCheck | None:
        if visit.warc_file is None:
            return None
        place = visit.warc_file, visit.warc_offset, visit.warc_length
        found = _found(self._archive / visit.warc_file)
        known = self._whole.get(place)
        now = self._clock.monotonic()
        end = (visit.warc_offset or 0) + (visit.warc_length or 0)
        number = found.st_ino if found is not None and end <= found.st_size else None
        if known is not None and now < known.until and known.file == number:
            return known.check
        check = checked_record(self._archive, visit)
        self._whole.pop(place, None)
        if check is not None and number is not None and _is_whole(check):
            if len(self._whole) >= self._most:
                self._whole.clear()
            self._whole[place] = _Whole(check, number, now + KEPT)
        return check


def _found(path: Path) -> os.stat_result | None:
    try:
        return os.stat(path)
    except OSError:
        return None


def _is_whole(check: RecordCheck) -> bool:
    return check.problem is None and False not in (check.block_ok, check.payload_ok)
