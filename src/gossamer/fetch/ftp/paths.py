"""What a URL with the scheme `ftp` asks for. Pure."""

import re
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote_to_bytes

_AFTER_SCHEME: Final = len("ftp://")
_TYPE: Final = re.compile(r";type=([aid])\Z", re.IGNORECASE)
_UNSAFE: Final = re.compile(rb"[\x00-\x1f\x7f]").search
LONGEST_PATH: Final = 4096
"""Bytes. No server takes longer ones, and commands have one line."""


@dataclass(frozen=True, slots=True)
class FtpPath:
    """An absolute path as the server is to be given it. `directory`: the URL says that it is one."""

    path: bytes
    directory: bool


def as_directory(url: str) -> str:
    """The URL of the directory that turned out to stand at `url`."""
    return _TYPE.sub("", url) + "/"


def ftp_path(url: str) -> FtpPath | None:
    """The path of a canonical `ftp://` URL; None if no command can carry it.

    Paths begin at the server's root, not where the login lands: for anonymous users this is the same, and a URL then
    means the same on every visit. A path with a line break, NUL or another control character is refused: it would
    be more than one command. What follows a question mark belongs to the path: FTP knows no queries.
    """
    slash = url.find("/", _AFTER_SCHEME)
    text = url[slash:] if slash >= 0 else "/"
    kind = _TYPE.search(text)
    if kind is not None:
        text = text[: kind.start()]
    path = unquote_to_bytes(text)
    if _UNSAFE(path) or len(path) > LONGEST_PATH:
        return None
    listed = kind is not None and kind[1] in "dD"
    return FtpPath(path or b"/", directory=listed or path.endswith(b"/") or not path)
