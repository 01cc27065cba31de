"""Debian's packages, unpacked beside the tests: real servers and real documents, and nothing installed.

What is there already (`wget`) is used from where it is. A package is downloaded once, by apt, into the user's cache.
"""

import os
import subprocess
from functools import cache
from pathlib import Path

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "gossamer-tests"


@cache
def unpacked(package: str) -> Path:
    """The folder that holds the files of a package, as from the root of a file system."""
    folder = CACHE / package
    if not (folder / ".whole").exists():
        folder.mkdir(parents=True, exist_ok=True)
        archive = _download(package, folder)
        _run("dpkg", "-x", str(archive), str(folder), cwd=folder)
        archive.unlink()
        (folder / ".whole").touch()
    return folder


def _download(package: str, folder: Path) -> Path:
    for attempt in range(2):
        if attempt:
            _run("apt-get", "update", cwd=folder)  # a new machine knows no packages yet
        done = subprocess.run(["apt-get", "download", package], cwd=folder, capture_output=True, timeout=120)
        if done.returncode == 0:
            return next(iter(folder.glob(f"{package}_*.deb")))
    raise RuntimeError(f"apt cannot download {package}: {done.stderr.decode(errors='replace').strip()}")


def _run(*command: str, cwd: Path) -> None:
    subprocess.run(command, cwd=cwd, check=True, capture_output=True, timeout=180)
