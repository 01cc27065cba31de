"""Parses the header fields of a response and reads those that the crawl acts on. Pure; never raises for bad input."""

import re
from collections.abc import Mapping

from gossamer.model.http_dates import http_date, retry_after
from gossamer.model.outcome import Failed, FetchOutcome
from gossamer.model.units import Instant, Seconds

_TOKEN = r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+"
_NAME = re.compile(_TOKEN)
_LONGEST_KNOWN_NAME = 64
_MAX_KNOWN_NAMES = 1024
_names: dict[str, str] = {}
"""Cache: name as written -> in lower case, or "" if it is not a valid name."""


def parse_fields(head: bytes) -> tuple[dict[str, str], int]:
    """The header fields of a response head, and the number of lines that are not valid fields.

    Names are in lower case; values of repeated fields are joined with ", ", except that a Location sent twice counts
    once. The first line is the status line. Lines without a colon, with a name that is not a token or with a NUL are
    skipped; a space before the colon is tolerated.
    Linear in the size of the head.
    """
    fields: dict[str, str] = {}
    repeated: dict[str, list[str]] = {}
    dropped = 0
    names = _names
    for line in head.decode("latin-1").split("\n")[1:]:
        name, colon, value = line.partition(":")
        if not colon or "\0" in value:
            dropped += bool(line.strip())
            continue
        key = names.get(name)
        if key is None:
            key = _learnt(name)
        if not key:
            dropped += 1
        elif key not in fields:
            fields[key] = value.strip()
        elif key in repeated:
            repeated[key].append(value.strip())
        else:
            repeated[key] = [fields[key], value.strip()]
    for key, values in repeated.items():
        if key == "location":
            values = [value for value in dict.fromkeys(values) if value]
        fields[key] = ", ".join(values)
    return fields, dropped


def _learnt(name: str) -> str:
    """A field name in lower case, or "" if it is not valid. Cached: every response has the same few dozen."""
    key = name.strip().lower()
    key = key if _NAME.fullmatch(key) else ""
    if len(name) <= _LONGEST_KNOWN_NAME:
        if len(_names) >= _MAX_KNOWN_NAMES:
            _names.clear()
        _names[name] = key
    return key


def location_of(headers: Mapping[str, str]) -> str | None:
    """The target of a redirect as text. Raw bytes are decoded as UTF-8 if valid, else each is percent-encoded.

    More than two slashes before a host are read as two, as browsers do; in links they are taken literally.
    """
    value = headers.get("location")
    if value is not None and value.startswith("///"):
        value = "//" + value.lstrip("/")
    if value is None or value.isascii():
        return value
    raw = value.encode("latin-1", "replace")
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return "".join(chr(byte) if byte < 0x80 else f"%{byte:02X}" for byte in raw)


def requested_wait(outcome: FetchOutcome, now: Instant) -> Seconds | None:
    """The Retry-After of a response with any status; None if there is none. A date is relative to the server's own
    clock, if the response says what time it is there."""
    if isinstance(outcome, Failed) or "retry-after" not in outcome.headers:
        return None
    return retry_after(outcome.headers["retry-after"], http_date(outcome.headers.get("date", ""), now) or now)
