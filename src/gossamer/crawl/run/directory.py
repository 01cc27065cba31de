"""The files in a crawl's directory: what they are called, and which process may use them.

In a crawl by several workers each has a directory of its own, DIR/worker-1, DIR/worker-2 and so on, for its lock, its
log and its contact journal.
"""

import errno
import fcntl
import os
import shutil
from contextlib import suppress
from pathlib import Path
from typing import Final

from gossamer.clock import CLOCK_FILE
from gossamer.errors import DirectoryError, DirectoryInUse, NotThisCrawl

DATABASE: Final = "crawl.db"
ARCHIVE: Final = "warc"
SPOOL: Final = "spool"
"""Captures that wait for object storage."""
SERVER: Final = "postgres"
"""The private server of a crawl by several workers."""
LOCK: Final = "crawl.lock"
LOG: Final = "crawl.log"
STATUS: Final = "status.json"
TOKEN: Final = "service.token"
_OLD_WORKERS: Final = "workers.json"
"""Of crawls by several workers of earlier versions."""
WORKER: Final = "worker.json"
"""The name of the worker, where workers share a crawl, and its last epochs."""
INDEX: Final = "index.cdxj"
CONTACTS: Final = ("contacts.0", "contacts.1")
OWNER: Final = "crawl.id"
"""Which crawl the files are of, where its store is not in the directory."""
_WORKER: Final = "worker-"
_OURS = frozenset(
    {
        *(DATABASE, f"{DATABASE}-wal", f"{DATABASE}-shm", LOCK, STATUS, ARCHIVE, SPOOL, SERVER, TOKEN, WORKER),
        *(CLOCK_FILE, OWNER),
    }
)


class CrawlDirectory:
    """A crawl's directory, held by this process until `close`. The lock dies with the process, however that dies."""

    def __init__(
        self, path: Path, *, archive: bool = True, blobs: Path | None = None, chosen_by: str = "--dir"
    ) -> None:
        """Create or take over the directory, with a folder for its archive (`blobs`, by default one in the directory)
        unless `archive` is false, as it is for the directory of several workers. `chosen_by`: the option that names
        it. Raises a DirectoryError, and has then changed nothing."""
        self.path = path
        self.database = path / DATABASE
        self.warcs = blobs or path / ARCHIVE
        self.log = path / LOG
        self.contacts = (path / CONTACTS[0], path / CONTACTS[1])
        self.status = path / STATUS
        self.token = path / TOKEN
        try:
            for folder in (path, *path.parents):
                if folder.exists() and not folder.is_dir():
                    raise DirectoryError(f"{folder} is not a directory")
            refuse_old_workers(path)
            self._check_contents()
            wanted = (path / LOCK, self.warcs, path, *path.parents)
            self._created = [each for each in wanted if not each.exists()]
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
            what = "name" if chosen_by == "--name" else "directory"
            raise DirectoryInUse(
                f"{path} is in use{by}; wait for it, or choose another {what} with {chosen_by}"
            ) from error
        if not _is_at(self._lock, path / LOCK):  # another process has discarded it meanwhile
            os.close(self._lock)
            raise DirectoryInUse(f"{path} is in use; try again")
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
        if not self.path.exists() or any((self.path / name).exists() for name in (DATABASE, OWNER)):
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

    def discard(self) -> None:
        """Close what was refused: the lock and empty folders that were created for it are removed."""
        with suppress(OSError):
            for created in self._created:
                if created.is_dir():
                    created.rmdir()
                else:
                    created.unlink(missing_ok=True)
        self.close()

    def owner(self) -> str | None:
        """The crawl whose files these are, if its store is elsewhere. Raises DirectoryError."""
        try:
            return (self.path / OWNER).read_text(encoding="utf-8").strip()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise DirectoryError(f"cannot read {self.path / OWNER}: {error.strerror}") from error

    def check_owner(self, crawl_id: str, store: str) -> None:
        """Raises NotThisCrawl unless these are the files of a crawl whose store is elsewhere, at `store`, or of its
        workers."""
        if holds_files_of(self.path, crawl_id):
            return
        if self.owner() is None and not self.database.exists():
            raise NotThisCrawl(
                f"{self.path} has no files of the crawl in {store}; give the directory with its files on this machine "
                "with --dir"
            )
        raise NotThisCrawl(
            f"{self.path} is not a directory of the crawl in {store} but of another one; choose one of that crawl, "
            "or a new one, with --dir"
        )

    def settle_owner(self, crawl_id: str, store: str) -> None:
        """Note whose files these are, if there are none yet. Raises NotThisCrawl if they are another crawl's."""
        own_archive = self.path / ARCHIVE
        if self.owner() is not None or self.database.exists() or (own_archive.is_dir() and any(own_archive.iterdir())):
            return self.check_owner(crawl_id, store)
        draft = self.path / f".{OWNER}.new"
        try:
            draft.write_text(crawl_id + "\n", encoding="utf-8")
            os.replace(draft, self.path / OWNER)
        except OSError as error:
            raise DirectoryError(f"cannot write to {self.path}: {error.strerror}") from error

    def refuse_other_store(self) -> None:
        """Raises NotThisCrawl if the files are of a crawl whose store is elsewhere."""
        refuse_other_store(self.path)

    def remove_crawl(self) -> None:
        """Remove everything but the lock. What makes this a crawl directory goes last, so that it can be done again if
        it is interrupted. Raises NotThisCrawl if there are other files, and has then changed nothing; DirectoryError if
        a file cannot be removed."""
        if others := [name for name in self._other_files() if name != INDEX]:
            raise NotThisCrawl(
                f"{self.path} holds other files besides its crawl ({', '.join(others[:3])}); move them, or choose "
                "another directory"
            )
        last = [f"{DATABASE}-wal", f"{DATABASE}-shm", DATABASE, SERVER, OWNER]
        first = [ARCHIVE, SPOOL, STATUS, TOKEN, INDEX, CLOCK_FILE, WORKER, *CONTACTS]
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


def refuse_other_store(directory: Path) -> None:
    """Raises NotThisCrawl if a directory has files of a crawl whose store is elsewhere."""
    if (directory / OWNER).exists() and not (directory / DATABASE).exists():
        raise NotThisCrawl(
            f"{directory} holds the files of a crawl whose store is elsewhere; name that with --store, or choose "
            "another --dir"
        )


def holds_files_of(directory: Path, crawl_id: str) -> bool:
    """Whether a directory has files of a crawl whose store is elsewhere, or those of its workers. Raises
    DirectoryError."""
    try:
        notes = (directory / OWNER, *sorted(directory.glob(f"*/{OWNER}")))
        return any(note.read_text(encoding="utf-8").strip() == crawl_id for note in notes if note.exists())
    except OSError as error:
        raise DirectoryError(f"cannot read {directory}: {error.strerror}") from error


def spool_folders(directory: Path) -> list[Path]:
    """The spool of a crawl's directory, and those of the workers that have their directories in it."""
    workers = [directory / name / SPOOL for name in (os.listdir(directory) if directory.is_dir() else ())]
    return [directory / SPOOL, *(folder for folder in sorted(workers) if os.path.isdir(folder))]


def _is_at(descriptor: int, path: Path) -> bool:
    with suppress(FileNotFoundError):
        return os.path.samestat(os.fstat(descriptor), path.stat())
    return False


def holder_of(directory: Path) -> int | None:
    """The process that is using the crawl, 0 if it does not say, None if there is none. Of several workers it is the
    one that started them."""
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


def refuse_old_workers(directory: Path) -> None:
    """Raises NotThisCrawl for a crawl by several workers of an earlier version, each of which had a database of its
    own, and for the directory of one of them."""
    whole = directory.absolute()
    if whole.name.startswith(_WORKER) and (whole.parent / _OLD_WORKERS).exists():
        whole = whole.parent
    if (whole / _OLD_WORKERS).exists():
        raise NotThisCrawl(
            f"{whole} holds a crawl by several workers of an earlier version, with a database for each of them. This "
            "version cannot open it: export it with the version that wrote it, and start a new crawl in another --dir "
            f"(its WARC files, in {whole / _WORKER}*/{ARCHIVE}, can be read by any tool)"
        )
