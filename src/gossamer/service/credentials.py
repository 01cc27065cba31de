"""The credentials of a client: the token, or the session that a browser gets for it.

The token is created once, in a file that only its owner can read. A session is a signed cookie, so the service keeps no
state about it: it ends at its expiry, or when the token is replaced.
"""

import hashlib
import hmac
import os
import secrets
from contextlib import suppress
from pathlib import Path
from typing import Final

from gossamer.errors import DirectoryError

SESSION_COOKIE: Final = "gossamer"
SESSION_SECONDS: Final = 43_200
_MOST_DIGITS: Final = 12


def token_in(path: Path) -> str:
    """The token in a file, which is created if it does not exist. Raises DirectoryError for a file that others may
    read, or that has no token, or if it cannot be created."""
    if not os.path.lexists(path):
        try:
            _make(path)
        except OSError as error:
            raise DirectoryError(f"cannot make {path}: {error.strerror}") from error
    return _read(path)


def _make(path: Path) -> None:
    """Create the file atomically, with a complete token."""
    unnamed = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        descriptor = os.open(unnamed, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(secrets.token_urlsafe(32) + "\n")
            file.flush()
            os.fsync(file.fileno())
        os.rename(unnamed, path)
    except OSError:
        with suppress(FileNotFoundError):
            os.unlink(unnamed)
        raise


def _read(path: Path) -> str:
    try:
        with path.open(encoding="ascii") as file:
            if os.fstat(file.fileno()).st_mode & 0o077:
                raise DirectoryError(
                    f"{path} is readable by other users; run chmod 600 on it, or delete it to get a new token"
                )
            token = file.read().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise DirectoryError(f"cannot read {path}: {error}") from error
    if len(token) < 16:
        raise DirectoryError(f"{path} has no token of at least 16 characters; delete it to get a new token")
    return token


def token_matches(token: str, authorization: str) -> bool:
    """Whether an Authorization header has this token. Takes constant time."""
    scheme, _, given = authorization.partition(" ")
    same = hmac.compare_digest(token.encode("ascii"), given.strip().encode("utf-8", "replace"))
    return same and scheme.lower() == "bearer"


def session_value(token: str, expiry: int) -> str:
    """The cookie of a session that is valid until `expiry`, in Unix time: `v1.EXPIRY.HMAC`. The HMAC-SHA256 of the
    expiry is keyed with the token."""
    signature = hmac.new(token.encode("ascii"), str(expiry).encode("ascii"), hashlib.sha256).hexdigest()
    return f"v1.{expiry}.{signature}"


def session_expiry(token: str, cookies: str, now: float) -> int | None:
    """When the session of this token that a Cookie header has ends, in Unix time; None if there is none, or it has
    ended."""
    for cookie in cookies.split(";"):
        name, _, value = cookie.strip().partition("=")
        _, _, rest = value.partition(".")
        expiry = rest.partition(".")[0]
        if name == SESSION_COOKIE and expiry.isascii() and expiry.isdigit() and len(expiry) <= _MOST_DIGITS:
            known = session_value(token, int(expiry))
            if hmac.compare_digest(known.encode("ascii"), value.encode("utf-8", "replace")) and now < int(expiry):
                return int(expiry)
    return None
