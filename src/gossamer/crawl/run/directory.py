"""The files in a crawl's directory: what they are called, and which process may use them.

A crawl by several workers has a directory for each of them, DIR/worker-1, DIR/worker-2 and so on, and DIR/workers.json,
which says how many there are.
"""

import errno
import fcntl
import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from gossamer.clock import CLOCK_FILE
from gossamer.errors import DirectoryError, DirectoryInUse, NotThisCrawl

DATABASE: Final = "crawl.db"
ARCHIVE: Final = "warc"
SPOOL: Final = "spool"
"""Captures that wait for object storage."""
LOCK: Final = "crawl.lock"
LOG: Final = "crawl.log"
STATUS: Final = "status.json"
TOKEN: Final = "service.token"
WORKERS: Final = "workers.json"
WORKER: Final = "worker.json"
"""The name of the worker, where workers share a crawl, and its last epochs."""
INDEX: Final = "index.cdxj"
CONTACTS: Final = ("contacts.0", "contacts.1")
OWNER: Final = "crawl.id"
"""Which crawl the files are of, where its store is not in the directory."""
_WORKER: Final = "worker-"
_OURS = frozenset(
    {
        *(DATABASE, f"{DATABASE}-wal", f"{DATABASE}-shm", LOCK, STATUS, ARCHIVE, SPOOL, TOKEN, WORKERS, WORKER),
        *(CLOCK_FILE, OWNER),
    }
)


class CrawlDirectory:
    """A crawl's directory, held by this process until `close`. The lock dies with the process, however that dies."""

    def __init__(self, path: Path, *, archive: bool = True, blobs: Path | None = None) -> None:
        """Create or take over the directory, with a folder for its archive (`blobs`, by default one in the directory)
        unless `archive` is false, as it is for the directory of several workers. Raises a DirectoryError, and has then
        changed nothing."""
        self.path = path
        self.database = path / DATABASE
        self.warcs = blobs or path / ARCHIVE
        self.log = path / LOG
        self.contacts = (path / CONTACTS[0], path / CONTACTS[1])
        self.status = path / STATUS
        self.token = path / TOKEN
        try:
            if path.exists() and not path.is_dir():
                raise DirectoryError(f"{path} is not a directory")
            if archive and (path / WORKERS).exists():
                raise NotThisCrawl(f"{path} holds a crawl by several workers; continue it with gossamer crawl")
            self._check_contents()
            path.mkdir(parents=True, exist_ok=True)
            self._lock = os.open(path / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise DirectoryError(f"cannot use {path}: {error.strerror}") from error
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            holder = os.read(self._lock, 32).decode("ascii", "replace").strip()
            os.close(self._lock)
            if error.errno not in (errno.EWOULDBLOCK, errno.EACCES):
                raise DirectoryError(f"cannot lock {path}: {error.strerror}") from error
            by = f" by process {holder}" if holder else ""
            raise DirectoryInUse(
                f"{path} is in use{by}; wait for it, or choose another directory with --dir"
            ) from error
        try:
            os.ftruncate(self._lock, 0)
            os.pwrite(self._lock, f"{os.getpid()}\n".encode(), 0)
            if archive:
                self.warcs.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            os.close(self._lock)
            raise DirectoryError(f"cannot write to {path}: {error.strerror}") from error

    def _check_contents(self) -> None:
        """A directory with other files in it and no crawl belongs to something else: write nothing into it."""
        if not self.path.exists() or any((self.path / name).exists() for name in (DATABASE, WORKERS, OWNER)):
            return
        if others := self._other_files():
            raise NotThisCrawl(
                f"{self.path} contains other files and no crawl ({', '.join(others[:3])}); choose another --dir"
            )

    def _other_files(self) -> list[str]:
        """Files that no crawl has made, sorted."""
        names = [entry.name for entry in self.path.iterdir() if entry.name not in _OURS]
        return sorted(name for name in names if not name.startswith((LOG, *CONTACTS, _WORKER, ".")))

    def close(self) -> None:
        os.close(self._lock)

    def owner(self) -> str | None:
        """The crawl whose files these are, if its store is elsewhere. Raises DirectoryError."""
        try:
            return (self.path / OWNER).read_text(encoding="utf-8").strip()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise DirectoryError(f"cannot read {self.path / OWNER}: {error.strerror}") from error

    def check_owner(self, crawl_id: str) -> None:
        """Raises NotThisCrawl unless these are the files of a crawl whose store is elsewhere."""
        if self.owner() != crawl_id:
            raise NotThisCrawl(
                f"{self.path} is not the directory of the crawl in that store; choose the one that it was started with "
                "by --dir"
            )

    def settle_owner(self, crawl_id: str) -> None:
        """Note whose files these are, if there are none yet. Raises NotThisCrawl if they are another crawl's."""
        own_archive = self.path / ARCHIVE
        if self.owner() is not None or self.database.exists() or (own_archive.is_dir() and any(own_archive.iterdir())):
            return self.check_owner(crawl_id)
        draft = self.path / f".{OWNER}.new"
        try:
            draft.write_text(crawl_id + "\n", encoding="utf-8")
            os.replace(draft, self.path / OWNER)
        except OSError as error:
            raise DirectoryError(f"cannot write to {self.path}: {error.strerror}") from error

    def refuse_other_store(self) -> None:
        """Raises NotThisCrawl if the files are of a crawl whose store is elsewhere."""
        if self.owner() is not None and not self.database.exists():
            raise NotThisCrawl(
                f"{self.path} holds the files of a crawl whose store is elsewhere; name that with --store, or choose "
                "another --dir"
            )

    def remove_crawl(self) -> None:
        """Remove everything but the lock. What makes this a crawl directory goes last, so that it can be done again if
        it is interrupted. Raises NotThisCrawl if there are other files, and has then changed nothing; DirectoryError if
        a file cannot be removed."""
        if others := [name for name in self._other_files() if name != INDEX]:
            raise NotThisCrawl(
                f"{self.path} holds other files besides its crawl ({', '.join(others[:3])}); move them, or choose "
                "another directory"
            )
        last = [f"{DATABASE}-wal", f"{DATABASE}-shm", DATABASE, WORKERS]
        first = [ARCHIVE, SPOOL, STATUS, TOKEN, INDEX, CLOCK_FILE, *CONTACTS]
        first += [entry.name for entry in self.path.iterdir() if entry.name.startswith((LOG, _WORKER))]
        try:
            for name in first + last:
                path = self.path / name
                if path.is_dir():
                    shutil.rmtree(path)
                else:
                    path.unlink(missing_ok=True)
        except OSError as error:
            raise DirectoryError(f"cannot empty {self.path}: {error.strerror}") from error


def holder_of(directory: Path) -> int | None:
    """The process that is using the crawl, 0 if it does not say, None if there is none. Of several workers it is the
    one that started them, or one of them that has outlived it."""
    holder = _lock_holder(directory)
    if holder is None and (directory / WORKERS).exists():
        return next((found for part in parts_of(directory) if (found := _lock_holder(part)) is not None), None)
    return holder


def _lock_holder(directory: Path) -> int | None:
    try:
        descriptor = os.open(directory / LOCK, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        words = os.read(descriptor, 32).strip()
        return int(words) if words.isdigit() else 0
    finally:
        os.close(descriptor)  # gives the shared lock back at once
    return None


# --- several workers -------------------------------------------------------------------------------------


def parts_of(directory: Path) -> list[Path]:
    """The directories of a crawl's workers: itself, if there is one worker. Raises NotThisCrawl."""
    found = read_layout(directory)
    return [directory] if found is None else [part_directory(directory, number) for number in range(found[0])]


def part_directory(directory: Path, number: int) -> Path:
    """Of the worker with this number, from 0; people count from 1."""
    return directory / f"{_WORKER}{number + 1}"


def existing_parts(directory: Path) -> list[Path]:
    """As `parts_of`. Raises NotThisCrawl where the store of a worker is missing."""
    parts = parts_of(directory)
    for part in parts:
        if parts != [directory] and not (part / DATABASE).exists():
            running = (
                "; the crawl is running and may be about to make it" if _lock_holder(directory) is not None else ""
            )
            raise NotThisCrawl(
                f"{directory} holds a crawl by {len(parts)} workers, and the part of one worker is missing: "
                f"{part / DATABASE} does not exist{running}"
            )
    return parts


def holds_crawl(directory: Path) -> bool:
    """Whether there is a crawl, by one worker or by several."""
    return (directory / DATABASE).exists() or (directory / WORKERS).exists()


def refuse_worker_share(directory: Path) -> None:
    """Raises NotThisCrawl for the directory of one worker of several: alone, it would crawl the domains of the others
    as well."""
    whole = directory.absolute().parent
    if (whole / WORKERS).exists() and directory.absolute() in parts_of(whole):
        raise NotThisCrawl(f"{directory} is the part of one worker; the crawl is in {whole}: choose that with --dir")


def read_layout(directory: Path) -> tuple[int, dict[str, object]] | None:
    """The number of workers and the remembered options; None for a crawl by one worker, or no crawl."""
    path = directory / WORKERS
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        workers, options = int(found["workers"]), dict(found["options"])
        if workers < 1:
            raise ValueError(workers)
        return workers, options
    except FileNotFoundError:
        return None
    except NotADirectoryError as error:
        file = next(each for each in (directory, *directory.parents) if each.exists())
        raise NotThisCrawl(f"{file} is not a directory") from error
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise NotThisCrawl(f"{path} cannot be read ({error})") from error


def settle_layout(directory: Path, workers: int, options: Mapping[str, object], key: int) -> int | None:
    """Write down the number of workers, which never changes. Raises NotThisCrawl where another number is on record.

    Returns the fingerprint key of all workers, which is `key` for a new crawl; None if each has drawn its own, as they
    did in older crawls."""
    if (directory / DATABASE).exists():
        raise NotThisCrawl(
            f"{directory} holds a crawl by one worker, not by {workers}; omit --workers, or choose another --dir"
        )
    found = read_layout(directory)
    if found is not None and found[0] != workers:
        raise NotThisCrawl(
            f"{directory} holds a crawl by {found[0]} workers, not by {workers}; their parts cannot be joined: leave "
            "--workers out, or choose another --dir"
        )
    made = _was_made(directory)
    for part in parts_of(directory) if made else ():
        if not (part / DATABASE).exists():
            # A new one would be empty, and what the others have handed over to the old one would be lost.
            raise NotThisCrawl(f"{part} is missing: restore it, or start a new crawl in another --dir")
    shared = key if found is None else _shared_key(directory)
    _write(directory, workers, options, made=made, key=shared)
    return shared


def parts_were_made(directory: Path) -> None:
    """From now on a worker whose store is missing is an error."""
    found = read_layout(directory)
    if found is not None and not _was_made(directory):
        _write(directory, *found, made=True, key=_shared_key(directory))


def _was_made(directory: Path) -> bool:
    path = directory / WORKERS
    return path.exists() and bool(json.loads(path.read_text(encoding="utf-8")).get("made"))


def _shared_key(directory: Path) -> int | None:
    found: int | None = json.loads((directory / WORKERS).read_text(encoding="utf-8")).get("fingerprint_key")
    return found


def _write(directory: Path, workers: int, options: Mapping[str, object], *, made: bool, key: int | None) -> None:
    draft = directory / f".{WORKERS}.new"
    layout: dict[str, object] = {"workers": workers, "made": made, "options": options}
    if key is not None:
        layout["fingerprint_key"] = key
    draft.write_text(json.dumps(layout, indent=1) + "\n", encoding="utf-8")
    os.replace(draft, directory / WORKERS)
