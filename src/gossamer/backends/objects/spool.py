"""A folder for objects that could not be put yet. What is in it survives the death of the process and of the machine,
not the loss of the disk."""

import os
import re
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple

from gossamer.backends.warc.writer import sync_directory
from gossamer.errors import NO_ROOM, SpoolFull, StoreFailed

_NAME: Final = re.compile(r"([0-9]+)-([0-9]+\.warc\.gz)")
_DRAFT: Final = ".new"


class Spooled(NamedTuple):
    """An object in the spool."""

    name: str
    length: int


class SpooledObjects:
    """The objects in some spools, for any number of readers. Raises StoreFailed."""

    def __init__(self, folders: Callable[[], Iterable[Path]]) -> None:
        """`folders` of the spools at this moment; one that does not exist is empty."""
        self._folders = folders

    def entries(self) -> list[Spooled]:
        """What is in each folder, in the order in which it was written."""
        return [entry for folder in self._folders() for entry in _entries_in(folder)]

    def read(self, name: str) -> bytes | None:
        """The whole object; None if it is not here, or no longer."""
        opened = self.open(name)
        if opened is None:
            return None
        with opened, _our_errors(Path(opened.name)):
            return opened.read()

    def open(self, name: str) -> BinaryIO | None:
        """The same as a file."""
        for folder in self._folders():
            with _our_errors(folder), suppress(FileNotFoundError):
                return _path_in(folder, name).open("rb")
        return None

    def remove(self, name: str) -> None:
        """Nothing happens if it is not here."""
        for folder in self._folders():
            with _our_errors(folder):
                _path_in(folder, name).unlink(missing_ok=True)


class Spool(SpooledObjects):
    """The spool of a worker: one thread adds objects, another removes them. Raises StoreFailed."""

    def __init__(self, folder: Path, limit: int) -> None:
        """`limit` in bytes. Reads what is there; creates nothing."""
        super().__init__(lambda: (folder,))
        self._folder = folder
        self._limit = limit
        self._lengths = {entry.name: entry.length for entry in self.entries()}
        self._lock = threading.Lock()
        self.bytes = sum(self._lengths.values())
        """In use."""

    @property
    def fill(self) -> float:
        """1.0: full."""
        return self.bytes / self._limit

    def __len__(self) -> int:
        return len(self._lengths)

    def add(self, name: str, data: bytes) -> None:
        """The object is in the folder afterwards, and stays there if the machine fails. Raises SpoolFull, also if the
        disk is."""
        if self.bytes + len(data) > self._limit:
            raise SpoolFull(
                f"object storage is away, and its spool in {self._folder} is full ({self.bytes} of {self._limit} bytes)"
            )
        path = _path_in(self._folder, name)
        draft = path.with_name(path.name + _DRAFT)
        with _our_errors(self._folder):
            if not self._folder.is_dir():
                self._folder.mkdir(parents=True, exist_ok=True)
                sync_directory(self._folder.parent)
            try:
                with draft.open("wb") as file:
                    file.write(data)
                    file.flush()
                    os.fsync(file.fileno())
                os.replace(draft, path)
            except OSError as error:
                with suppress(OSError):
                    draft.unlink(missing_ok=True)
                if error.errno in NO_ROOM:
                    raise SpoolFull(
                        f"object storage is away, and there is no room for its spool on the disk of {path}"
                    ) from error
                raise
            sync_directory(self._folder)
        with self._lock:
            self.bytes += len(data) - self._lengths.get(name, 0)
            self._lengths[name] = len(data)

    def remove(self, name: str) -> None:
        super().remove(name)
        with self._lock:
            self.bytes -= self._lengths.pop(name, 0)

    def tidy(self) -> None:
        """Remove what an interrupted `add` has left. Not while `add` runs."""
        with _our_errors(self._folder):
            for path in self._folder.glob(f"*{_DRAFT}"):
                path.unlink(missing_ok=True)


def _entries_in(folder: Path) -> list[Spooled]:
    with _our_errors(folder):
        found: list[tuple[int, str, int]] = []
        with suppress(FileNotFoundError), os.scandir(folder) as entries:
            for entry in entries:
                if _NAME.fullmatch(entry.name):
                    with suppress(FileNotFoundError):  # delivered meanwhile
                        about = entry.stat()
                        found.append((about.st_mtime_ns, entry.name, about.st_size))
        return [Spooled(name.replace("-", "/"), length) for _, name, length in sorted(found)]


def _path_in(folder: Path, name: str) -> Path:
    return folder / name.replace("/", "-")


@contextmanager
def _our_errors(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StoreFailed(f"{folder}: {error.strerror or error}") from error
