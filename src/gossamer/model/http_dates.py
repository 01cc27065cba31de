"""Dates and delays in HTTP header fields: HTTP-date (RFC 9110, 5.6.7) and Retry-After. Pure."""

import re
from datetime import UTC, datetime
from functools import lru_cache

from gossamer.model.units import DAY, Instant, Seconds

RETRY_AFTER_CAP = Seconds(DAY)


_MONTH_NAMES = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")


_MONTHS = {name: number for number, name in enumerate(_MONTH_NAMES, 1)}


_TIME = r"(?P<hour>\d\d):(?P<minute>\d\d):(?P<second>\d\d)"


_DATES = (
    # The three forms of RFC 9110, 5.6.7: IMF-fixdate, RFC 850, asctime. The day of the week is not checked.
    re.compile(rf"[a-z]{{3}}, (?P<day>\d\d) (?P<month>[a-z]{{3}}) (?P<year>\d{{4}}) {_TIME} gmt"),
    re.compile(rf"[a-z]{{6,9}}, (?P<day>\d\d)-(?P<month>[a-z]{{3}})-(?P<year>\d\d) {_TIME} gmt"),
    re.compile(rf"[a-z]{{3}} (?P<month>[a-z]{{3}}) (?P<day>[ \d]\d) {_TIME} (?P<year>\d{{4}})"),
)


_LENGTH = len("Sun, 06 Nov 1994 08:49:37 GMT")


_HOURS = {f"{n:02}": n * 3600.0 for n in range(24)}


_MINUTES = {f"{n:02}": n * 60.0 for n in range(60)}


_SECONDS = {f"{n:02}": float(n) for n in range(60)}


_LONGEST_VALUE = 64  # no valid delay or date is longer


_DIGITS = re.compile(r"[0-9]+", re.ASCII)


_BETWEEN_VALUES = re.compile(r"(?:(?<=[0-9])|(?<=gmt)) *, *", re.ASCII | re.IGNORECASE)  # not the comma within a date


_MAX_VALUES = 8


def retry_after(value: str, now: Instant) -> Seconds | None:
    """The delay that a Retry-After value asks for: the longest, if the field was sent several times. None if the value
    is invalid, empty or in the past.

    Never more than 24 hours: a host that asks for a year is probed once a day.
    """
    if "," not in value:
        return _one_delay(value, now)
    values = _BETWEEN_VALUES.split(value.strip(), _MAX_VALUES)[:_MAX_VALUES]
    return max((wait for each in values if (wait := _one_delay(each, now)) is not None), default=None)


def _one_delay(value: str, now: Instant) -> Seconds | None:
    text = value.strip()
    if _DIGITS.fullmatch(text):
        if len(text) > 9:  # above the cap anyway; never parse a number of unbounded length
            return RETRY_AFTER_CAP
        wait = float(int(text))
    else:
        date = http_date(text, now)
        if date is None:
            return None
        wait = date - now
    return Seconds(min(wait, RETRY_AFTER_CAP)) if wait > 0 else None


def http_date(value: str, now: Instant) -> Instant | None:
    """A date in any of the three forms HTTP allows, or None. `now` decides the century of a two-digit year."""
    if len(value) == _LENGTH and value[25:] == " GMT" and value[19] == value[22] == ":":
        # The usual form, `Sun, 06 Nov 1994 08:49:37 GMT`; a cache of a few thousand days covers it.
        midnight = _midnight(value[:17])
        try:
            if midnight is not None:
                return Instant(midnight + _HOURS[value[17:19]] + _MINUTES[value[20:22]] + _SECONDS[value[23:25]])
        except KeyError:
            pass  # no such time, or a leap second
    return _any_date(value, now)


@lru_cache(maxsize=4096)
def _midnight(day: str) -> Instant | None:
    """The start of a day written as `Sun, 06 Nov 1994 `."""
    return _any_date(f"{day}00:00:00 GMT", Instant(0.0))


def _any_date(value: str, now: Instant) -> Instant | None:
    if len(value) > _LONGEST_VALUE:
        return None
    text = value.strip().lower()
    for form in _DATES:
        if match := form.fullmatch(text):
            break
    else:
        return None
    day, name, of_year, hour, minute, second = match.group("day", "month", "year", "hour", "minute", "second")
    month = _MONTHS.get(name)
    if month is None:
        return None
    year = int(of_year)
    if len(of_year) == 2:
        # RFC 9110: a two-digit year that seems more than 50 years ahead is the most recent past one.
        this_year = datetime.fromtimestamp(now, UTC).year
        year += this_year - this_year % 100
        if year > this_year + 50:
            year -= 100
        elif year <= this_year - 50:
            year += 100
    try:
        date = datetime(
            year,
            month,
            int(day),
            int(hour),
            int(minute),
            min(int(second), 59),  # a leap second is legal and `datetime` has none
            tzinfo=UTC,
        )
    except ValueError:
        return None
    return Instant(date.timestamp())
