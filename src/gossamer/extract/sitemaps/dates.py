"""The two ways in which lists write dates: W3C's profile of ISO 8601, and RFC 822's. Both as moments in UTC."""

import re
from datetime import UTC, datetime, timedelta, timezone
from email.utils import parsedate_to_datetime
from functools import lru_cache
from typing import Final

from gossamer.model.units import Instant

LONGEST: Final = 64
"""Characters. No date is longer."""

# A zone is demanded after a time; sites that leave it out mean their own, and UTC is the nearest guess.
_W3C: Final = re.compile(
    r"(\d{4})(?:-(\d\d)(?:-(\d\d)(?:[Tt ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,9})\d*)?)?\s*([Zz]|[+-]\d\d:?\d\d)?)?)?)?",
    re.ASCII,
).fullmatch


@lru_cache(4096)
def w3c_date(text: str) -> Instant | None:
    """The moment that `2014`, `2014-06`, `2014-06-03` or `2014-06-03T10:30[:45[.5]]+01:00` names; its first where it
    names a day, a month or a year. None for anything else."""
    if text[4:5] == text[7:8] == "-" and text[10:11] in "T ":  # most are as Python likes them
        try:
            moment = datetime.fromisoformat(text)
        except ValueError:
            pass
        else:
            return Instant((moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)).timestamp())
    found = _W3C(text)
    if found is None:
        return None
    year, month, day, hour, minute, second, fraction, zone = found.groups()
    try:
        moment = datetime(
            int(year),
            int(month or 1),
            int(day or 1),
            int(hour or 0),
            int(minute or 0),
            min(int(second or 0), 59),  # a leap second
            tzinfo=_zone(zone),
        )
    except ValueError:
        return None
    return Instant(moment.timestamp() + (float(f"0.{fraction}") if fraction else 0.0))


def _zone(text: str | None) -> timezone:
    if text is None or text in "Zz":
        return UTC
    hours, minutes = int(text[1:3]), int(text[-2:])
    away = timedelta(hours=hours, minutes=minutes)
    return timezone(-away if text[0] == "-" else away)  # beyond a day: ValueError


@lru_cache(4096)
def rfc822_date(text: str) -> Instant | None:
    """The moment that `Thu, 05 Jan 2017 13:34:51 +0100` names, or None."""
    try:
        moment = parsedate_to_datetime(text)
        if moment.tzinfo is None:  # `-0000`: UTC, says RFC 5322
            moment = moment.replace(tzinfo=UTC)
        return Instant(moment.timestamp())
    except (ValueError, TypeError, OverflowError, IndexError):
        return None


def any_date(text: str) -> Instant | None:
    """A date in either manner: feeds mix them."""
    text = text.strip()
    if not text or len(text) > LONGEST:
        return None
    return w3c_date(text) if text[:4].isdigit() else rfc822_date(text)
