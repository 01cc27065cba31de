"""A folder for objects that could not be put yet. What is in it survives the death of the process and of the machine,
not the loss of the disk.

Each life of the worker has a folder of its own in it, `NUMBER/EPOCH-COMMIT.warc.gz`. By these two numbers, and not by
the clock, objects are in the order in which they were written."""

import os
import re
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple

from gossamer.backends.warc.writer import sync_directory
from gossamer.errors import NO_ROOM, SpoolFull, StoreFailed

_NAME: Final = re.compile(r"[0-9]+-([0-9]+)\.warc\.gz")
_LIFE: Final = re.compile(r"[0-9]{8,}")
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
        """What is in each spool, in the order in which it was written."""
        return [entry for folder in self._lives() for entry in _entries_in(folder)]

    def _lives(self) -> Iterator[Path]:
        for folder in self._folders():
            yield from _lives_in(folder)

    def read(self, name: str) -> bytes | None:
        """The whole object; None if it is not here, or no longer."""
        opened = self.open(name)
        if opened is None:
            return None
        with opened, _our_errors(Path(opened.name)):
            return opened.read()

    def open(self, name: str) -> BinaryIO | None:
        """The same as a file."""
        for folder in self._lives():
            with _our_errors(folder), suppress(FileNotFoundError):
                return _path_in(folder, name).open("rb")
        return None

    def remove(self, name: str) -> None:
        """Nothing happens if it is not here."""
        for folder in self._lives():
            with _our_errors(folder):
                _path_in(folder, name).unlink(missing_ok=True)


class Spool(SpooledObjects):
    """The spool of a worker: one thread adds objects, another removes them. Raises StoreFailed."""

    def __init__(self, folder: Path, limit: int) -> None:
        """`limit` in bytes. Reads what is there; creates nothing."""
        super().__init__(lambda: (folder,))
        self._folder = folder
        self._life = folder / f"{max((int(life.name) for life in _lives_in(folder)), default=0) + 1:08d}"
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
        path = _path_in(self._life, name)
        draft = path.with_name(path.name + _DRAFT)
        with _our_errors(self._folder):
            try:
                if not self._life.is_dir():
                    self._life.mkdir(parents=True)
                    sync_directory(self._folder)
                    sync_directory(self._folder.parent)
                with draft.open("wb") as file:
                    file.write(data)
                    file.flush()
                    os.fsync(file.fileno())
                os.replace(draft, path)
            except OSError as error:
                with suppress(OSError):
                    draft.unlink(missing_ok=True)
                    self._life.rmdir()  # if it is new: it may not have been synced
                if error.errno in NO_ROOM:
                    raise SpoolFull(
                        f"object storage is away, and there is no room for its spool on the disk of {path}"
                    ) from error
                raise
            sync_directory(self._life)
        with self._lock:
            self.bytes += len(data) - self._lengths.get(name, 0)
            self._lengths[name] = len(data)

    def remove(self, name: str) -> None:
        super().remove(name)
        with self._lock:
            self.bytes -= self._lengths.pop(name, 0)

    def tidy(self) -> None:
        """Remove what an interrupted `add` has left, and the folders of former lives that are empty. Not while `add`
        runs."""
        for folder in self._lives():
            with _our_errors(folder):
                for path in folder.glob(f"*{_DRAFT}"):
                    path.unlink(missing_ok=True)
                if not any(folder.iterdir()):
                    folder.rmdir()


def _lives_in(folder: Path) -> list[Path]:
    with _our_errors(folder), suppress(FileNotFoundError):
        return [folder / name for name in sorted(filter(_LIFE.fullmatch, os.listdir(folder)), key=int)]
    return []


def _entries_in(life: Path) -> list[Spooled]:
    found: list[tuple[int, Spooled]] = []
    with _our_errors(life), suppress(FileNotFoundError), os.scandir(life) as entries:
        for entry in entries:
            if (match := _NAME.fullmatch(entry.name)) is not None:
                with suppress(FileNotFoundError):  # delivered meanwhile
                    spooled = Spooled(entry.name.replace("-", "/"), entry.stat().st_size)
                    found.append((int(match[1]), spooled))
    return [spooled for _, spooled in sorted(found)]


def _path_in(life: Path, name: str) -> Path:
    return life / name.replace("/", "-")


@contextmanager
def _our_errors(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StoreFailed(f"{folder}: {error.strerror or error}") from error
