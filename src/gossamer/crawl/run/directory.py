"""The crawl's place on disk: who may use it, what is in it, and what a crash left behind.

Where the workers of a crawl are: DIR/worker-1, DIR/worker-2 and so on, and DIR/workers.json, which says how many.
"""

import errno
import fcntl
import json
import os
from collections.abc import Mapping
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


FILE = "workers.json"


def parts_of(directory: Path) -> list[Path]:
    """The directories of a crawl's parts: itself, if it is by one worker. Raises NotThisCrawl."""
    found = read_layout(directory)
    return [directory] if found is None else [part_directory(directory, number) for number in range(found[0])]


def part_directory(directory: Path, number: int) -> Path:
    """Of the part with this number, from 0; people count from 1."""
    return directory / f"worker-{number + 1}"


def holds_crawl(directory: Path) -> bool:
    """Whether a crawl is there, by one worker or by several."""
    return (directory / "crawl.db").exists() or (directory / FILE).exists()


def read_layout(directory: Path) -> tuple[int, dict[str, object]] | None:
    """How many workers a crawl has and what it remembers; None if it is by one worker, or there is none."""
    path = directory / FILE
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        workers, options = int(found["workers"]), dict(found["options"])
        if workers < 1:
            raise ValueError(workers)
        return workers, options
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise NotThisCrawl(f"{path} cannot be read ({error})") from error


def settle_layout(directory: Path, workers: int, options: Mapping[str, object]) -> None:
    """Write down how many workers there are; once, it stays so. Raises NotThisCrawl where it is otherwise already."""
    if (directory / "crawl.db").exists():
        raise NotThisCrawl(
            f"{directory} holds a crawl by one worker, not by {workers}; leave --workers out, or choose another --dir"
        )
    found = read_layout(directory)
    if found is not None and found[0] != workers:
        raise NotThisCrawl(
            f"{directory} holds a crawl by {found[0]} workers, not by {workers}; their parts cannot be joined: leave "
            "--workers out, or choose another --dir"
        )
    made = _was_made(directory)
    for part in parts_of(directory) if made else ():
        if not (part / "crawl.db").exists():
            # Made anew it would be empty, and what the others have handed over to it would be lost.
            raise NotThisCrawl(f"{part} is missing, which {directory} needs: bring it back, or begin in another --dir")
    _write(directory, workers, options, made=made)


def parts_were_made(directory: Path) -> None:
    """From now on every part is there, or something is wrong."""
    found = read_layout(directory)
    if found is not None and not _was_made(directory):
        _write(directory, *found, made=True)


def _was_made(directory: Path) -> bool:
    path = directory / FILE
    return path.exists() and bool(json.loads(path.read_text(encoding="utf-8")).get("made"))


def _write(directory: Path, workers: int, options: Mapping[str, object], *, made: bool) -> None:
    draft = directory / f".{FILE}.new"
    text = json.dumps({"workers": workers, "made": made, "options": options}, indent=1)
    draft.write_text(text + "\n", encoding="utf-8")
    os.replace(draft, directory / FILE)
