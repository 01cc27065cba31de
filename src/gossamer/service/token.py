"""The token that a caller must show: made once, readable by its owner only."""

import hmac
import os
import secrets
from contextlib import suppress
from pathlib import Path

from gossamer.errors import DirectoryError

FILE = "service.token"


def token_in(directory: Path) -> str:
    """The token of a crawl's directory; made if there is none. Raises DirectoryError for one that others may read, or
    that is none, or if it cannot be made."""
    path = directory / FILE
    if not os.path.lexists(path):
        try:
            _make(path)
        except OSError as error:
            raise DirectoryError(f"cannot make {path}: {error.strerror}") from error
    return _read(path)


def _make(path: Path) -> None:
    """The file has all of its token from the moment on at which it has its name, whatever happens meanwhile."""
    unnamed = path.with_name(f".{FILE}.{os.getpid()}")
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
                    f"{path} can be read by others than its owner; chmod 600 it, or remove it for a new one"
                )
            token = file.read().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise DirectoryError(f"cannot read {path}: {error}") from error
    if len(token) < 16:
        raise DirectoryError(f"{path} holds no token of at least 16 characters; remove it, and a new one is made")
    return token


def shows(token: str, authorization: str) -> bool:
    """Whether the value of an Authorization field is this token. Takes as long whatever is wrong."""
    scheme, _, given = authorization.partition(" ")
    same = hmac.compare_digest(token.encode("ascii"), given.strip().encode("utf-8", "replace"))
    return same and scheme.lower() == "bearer"
