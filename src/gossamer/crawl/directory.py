"""The crawl's place on disk: who may use it, what is in it, and what a crash left behind."""

import errno
import fcntl
import os
from pathlib import Path

from gossamer.clock import CLOCK_FILE
from gossamer.errors import DirectoryError, DirectoryInUse, NotThisCrawl

_WORKERS = "workers.json"
_OURS = frozenset(
    {
        *("crawl.db", "crawl.db-wal", "crawl.db-shm", "crawl.lock", "status.json", "warc", "service.token"),
        *(_WORKERS, CLOCK_FILE),
    }
)


class CrawlDirectory:
    """A crawl's directory, held by this process until `close`. The lock dies with the process, however that dies."""

    def __init__(self, path: Path, *, archive: bool = True) -> None:
        """Make or take over the directory, and a place for its `archive` if it is to have one of its own, as all have
        but that of several workers. Raises a DirectoryError, and has then changed nothing."""
        self.path = path
        self.database = path / "crawl.db"
        self.warcs = path / "warc"
        self.log = path / "crawl.log"
        try:
            if path.exists() and not path.is_dir():
                raise DirectoryError(f"{path} is not a directory")
            if archive and (path / _WORKERS).exists():
                raise NotThisCrawl(f"{path} holds a crawl by several workers; go on with it by gossamer crawl")
            self._check_contents()
            path.mkdir(parents=True, exist_ok=True)
            self._lock = os.open(path / "crawl.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
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
                self.warcs.mkdir(exist_ok=True)
        except OSError as error:
            os.close(self._lock)
            raise DirectoryError(f"cannot write to {path}: {error.strerror}") from error

    def _check_contents(self) -> None:
        """A directory with other things in it and no crawl is somebody else's: do not spread out in it."""
        if not self.path.exists() or self.database.exists() or (self.path / _WORKERS).exists():
            return
        others = sorted(entry.name for entry in self.path.iterdir() if entry.name not in _OURS)
        others = [name for name in others if not name.startswith(("crawl.log", "contacts.", "worker-", "."))]
        if others:
            raise NotThisCrawl(
                f"{self.path} holds no crawl but other files ({', '.join(others[:3])}); choose another --dir"
            )

    @property
    def is_new(self) -> bool:
        return not self.database.exists()

    def close(self) -> None:
        os.close(self._lock)
