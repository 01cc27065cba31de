"""Parses seeds from arguments, files, standard input and the API."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Protocol, runtime_checkable

from gossamer.errors import BadSeed, UsageError
from gossamer.model.states import meaning_of
from gossamer.model.units import HostKey, Url


class Accepted(Protocol):
    """A URL in canonical form."""

    @property
    def url(self) -> Url: ...

    @property
    def host(self) -> HostKey: ...


@runtime_checkable
class Refused(Protocol):
    """Text that is not a URL, and the reason."""

    @property
    def reason(self) -> str: ...


class Canonicalise(Protocol):
    """Turns text into a canonical URL. Never raises."""

    def __call__(self, text: str, /) -> Accepted | Refused: ...


_BOM = "\ufeff"
# `h.test:8080/x` has a port; `mailto:someone` has a scheme. Only the first gets the default scheme.
_HAS_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*:(?![0-9]+(?:[/?#]|\Z))", re.IGNORECASE).match
_OTHER_SCHEME = re.compile(r"[^/?#]*://").match
_COMMENT = re.compile(r"(?:\A|\s)#.*", re.DOTALL)
# White space or a new URL after a comma always makes it a separator; elsewhere it may be part of a URL.
_BEFORE_URL = re.compile(r",(?=\s*[a-z][a-z0-9+.-]*://)|,\s+|[\r\n]+", re.IGNORECASE)
_HOST_NAME = re.compile(r"(?:[^\W_](?:[\w-]{0,62})\.)+[^\W\d_][\w-]{1,62}(?=\.?(?:[,/?#]|:[0-9]|\Z))")


@dataclass(frozen=True, slots=True)
class Seed:
    """A URL given by a user."""

    url: Url
    host: HostKey
    where: str
    """Where it was given, for the record: `seeds.txt, line 3`, `argument 1`."""


def read_seeds(lines: Iterable[str], where: str, canonicalise: Canonicalise) -> list[Seed]:
    """One seed per line; blank lines and comments (`#` at the start or after white space) are skipped.

    A line without scheme is read as https: `example.org/x` means `https://example.org/x`. For a host with plain HTTP
    only, write `http://`. A URL given twice counts once, at its first position. Raises BadSeed with the line and its
    text.
    """
    seeds: dict[Url, Seed] = {}
    for number, line in enumerate(lines, start=1):
        text = _COMMENT.sub("", line.removeprefix(_BOM) if number == 1 else line).strip()
        if text:
            seed = _read(text, f"{where}, line {number}", canonicalise)
            seeds.setdefault(seed.url, seed)
    return list(seeds.values())


def read_arguments(arguments: Iterable[str], canonicalise: Canonicalise) -> list[Seed]:
    """The seeds of a command line or of a list sent to the API, one URL each. Raises BadSeed."""
    seeds: dict[Url, Seed] = {}
    for number, text in enumerate(arguments, start=1):
        seed = _read(text.strip(), f"argument {number}", canonicalise)
        seeds.setdefault(seed.url, seed)
    return list(seeds.values())


def read_seed_file(name: str, canonicalise: Canonicalise, stdin: BinaryIO) -> list[Seed]:
    """The seeds of the file `name`, or of `stdin` if the name is `-`.

    Raises UsageError if the file cannot be read, is not UTF-8 or holds no URL, BadSeed for an invalid line.
    """
    where = "standard input" if name == "-" else name
    try:
        content = stdin.read() if name == "-" else Path(name).read_bytes()
    except OSError as error:
        raise UsageError(f"cannot read seeds from {where}: {error.strerror or error}") from error
    except ValueError as error:  # a NUL in the name
        raise UsageError(f"cannot read seeds from {where!r}: {error}") from error
    lines: list[str] = []
    # Split as bytes: in text, characters such as U+2028 would also end a line.
    for number, line in enumerate(content.splitlines(), start=1):
        try:
            lines.append(line.decode("utf-8"))
        except UnicodeDecodeError as error:
            raise UsageError(f"cannot read seeds from {where}: line {number} is not UTF-8") from error
    seeds = read_seeds(lines, where, canonicalise)
    if not seeds:
        raise UsageError(f"{where} holds no URL")
    return seeds


def blocked_seeds(seeds: Sequence[Seed], refused_as: Callable[[HostKey], str | None]) -> list[str]:
    """A warning for each seed whose address may not be dialled. `refused_as` says what a host is in that case. Raises
    BadSeed if there are no other seeds."""
    found = [BadSeed(seed.url, "blocked_address", why) for seed in seeds if (why := refused_as(seed.host)) is not None]
    if found and len(found) == len(seeds):
        raise found[0]
    return [str(each) for each in found]


def split_seed_string(text: str, is_domain: Callable[[str], bool]) -> list[str]:
    """The URLs of one comma-separated string, as the API accepts it.

    A comma inside the path of a URL is kept (`http://a.test/0,36-1.html`). It separates before white space, before
    another `scheme://`, after text without a path (`a.test,b.test`), and before a host name: after a slash any name
    with a dot, elsewhere one under a known top-level domain, which `is_domain` decides.
    """
    pieces: list[str] = []
    for piece in _BEFORE_URL.split(text):
        start = 0
        for at in (found.start() for found in re.finditer(",", piece)):
            if _separates(piece, start, at, is_domain):
                pieces.append(piece[start:at])
                start = at + 1
        pieces.append(piece[start:])
    return [stripped for piece in pieces if (stripped := piece.strip().rstrip(",").rstrip())]


def _separates(piece: str, start: int, at: int, is_domain: Callable[[str], bool]) -> bool:
    after_scheme = piece.find("://", start, at)
    if piece.find("/", start if after_scheme < 0 else after_scheme + 3, at) < 0:
        return True  # no path yet, and a host name has no commas
    name = _HOST_NAME.match(piece, at + 1)
    return name is not None and (piece[at - 1] == "/" or is_domain(name[0]))


def _read(text: str, where: str, canonicalise: Canonicalise) -> Seed:
    if _OTHER_SCHEME(text) and not _HAS_SCHEME(text):
        raise BadSeed(text, "bad_url", "not a valid URL: what precedes :// is not a scheme", where)
    found = canonicalise(with_scheme(text))
    if isinstance(found, Refused):
        raise BadSeed(text, found.reason, meaning_of(found.reason), where)
    return Seed(found.url, found.host, where)


def with_scheme(text: str) -> str:
    """`text` with `https:` in front if it has no scheme."""
    if _HAS_SCHEME(text):
        return text
    return f"https:{text}" if text.startswith("//") else f"https://{text}"
