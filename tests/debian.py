"""Debian's packages, unpacked next to the tests: real servers and real documents, and nothing installed.

What is there already (`wget`) is used from where it is. A package is downloaded once, by apt, into the user's cache.
Several test processes may need the same package at once: one of them fetches it, the others wait and find it.
"""

import fcntl
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "gossamer-tests"


@contextmanager
def only_one() -> Iterator[None]:
    """One process at a time downloads, unpacks or installs: apt does not wait while another updates its lists."""
    CACHE.mkdir(parents=True, exist_ok=True)
    with open(CACHE / "apt.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@cache
def unpacked(package: str) -> Path:
    """The folder that holds the files of a package, as from the root of a file system. It appears with all of them."""
    folder = CACHE / package
    if not (folder / ".whole").exists():
        with only_one():
            if not (folder / ".whole").exists():
                _unpack(package, folder)
    return folder


def apt(*command: str) -> None:
    """Run apt-get with the rights to change the system. The caller holds the lock."""
    before = [] if os.geteuid() == 0 else ["sudo", "-n"]
    waiting = ("-o", "DPkg::Lock::Timeout=300")
    _run(*before, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", *command, *waiting, cwd=CACHE)


def _unpack(package: str, folder: Path) -> None:
    part = CACHE / f"{package}.part"
    for rest in (part, folder):  # of a process that was killed
        shutil.rmtree(rest, ignore_errors=True)
    part.mkdir()
    archive = _download(package, part)
    _run("dpkg", "-x", str(archive), str(part), cwd=part)
    archive.unlink()
    (part / ".whole").touch()
    part.rename(folder)


def _download(package: str, folder: Path) -> Path:
    command = ("apt-get", "download", package)
    try:
        _run(*command, cwd=folder)
    except RuntimeError:
        apt("update")  # a new machine knows no packages yet
        _run(*command, cwd=folder)
    return next(iter(folder.glob(f"{package}_*.deb")))


def _run(*command: str, cwd: Path) -> None:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=600)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip()}")
