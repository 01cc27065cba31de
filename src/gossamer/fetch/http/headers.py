"""The fields of an answer that we act on. Pure; never raises on what a server wrote."""

import re
from collections.abc import Mapping

_TOKEN = r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+"
_NAME = re.compile(_TOKEN)
_LONGEST_KNOWN_NAME = 64
_MAX_KNOWN_NAMES = 1024
_names: dict[str, str] = {}
"""A cache and nothing else: name as written -> in lower case, or "" if it is no name."""


def parse_fields(head: bytes) -> tuple[dict[str, str], int]:
    """The fields of a head, and how many of its lines are none.

    Names are in lower case; values of repeated fields are joined with ", ". The first line is the status line. Lines
    without a colon, with a name that is no token or with a NUL are left out; a space before the colon is forgiven.
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
        fields[key] = ", ".join(values)
    return fields, dropped


def _learnt(name: str) -> str:
    """A name in lower case, or "" for what is no name. Remembered: the same few dozen come with every answer."""
    key = name.strip().lower()
    key = key if _NAME.fullmatch(key) else ""
    if len(name) <= _LONGEST_KNOWN_NAME:
        if len(_names) >= _MAX_KNOWN_NAMES:
            _names.clear()
        _names[name] = key
    return key


def location_of(headers: Mapping[str, str]) -> str | None:
    """The target of a redirect as text. Raw bytes in it are UTF-8 if they can be, else each is escaped by itself.

    More than two slashes before a host are read as two, as browsers do; in links we do not believe in them.
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
