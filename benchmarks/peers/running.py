"""A crawler as a process: started where only it sees the web's names, measured, and ended if need be."""

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

_LOOK_SECONDS = 0.1
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_GRACE_SECONDS = 15.0


class End(Enum):
    ITSELF = "ended by itself"
    FAILED = "ended with an error"
    STOPPED = "was stopped"
    KILLED = "was killed"
    TIME = "ran out of time"


@dataclass(frozen=True, slots=True)
class Usage:
    """CPU seconds of the whole process tree, the most memory it had at once in bytes, wall seconds, how it ended."""

    cpu_seconds: float
    peak_bytes: int
    seconds: float
    end: End

    def plus(self, later: "Usage") -> "Usage":
        """Two runs, one after the other."""
        cpu, wall = self.cpu_seconds + later.cpu_seconds, self.seconds + later.seconds
        return Usage(cpu, max(self.peak_bytes, later.peak_bytes), wall, later.end)


def run(
    command: Sequence[str],
    *,
    hosts: Path | None,
    cwd: Path,
    output: Path,
    environment: Mapping[str, str],
    limit: float,
    until: Callable[[], bool] | None = None,
    kill: bool = False,
) -> Usage:
    """Run to the end, for at most `limit` seconds, or until `until` is true: then stop it, or kill it if so said.

    `hosts` takes the place of /etc/hosts for the command and nobody else. What it says goes to `output`.
    """
    began = time.monotonic()
    with output.open("ab") as out:
        process = subprocess.Popen(
            command if hosts is None else _in_own_namespace(command, hosts),
            cwd=cwd,
            env=dict(environment),
            stdout=out,
            stderr=out,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
            preexec_fn=_heed_interrupts,
        )
    peak, end = 0, End.TIME
    try:
        while time.monotonic() - began < limit:
            if _has_ended(process.pid):
                end = End.ITSELF
                break
            if until is not None and until():
                end = End.KILLED if kill else End.STOPPED
                break
            peak = max(peak, sum(map(_resident_bytes, tree(process.pid))))
            time.sleep(_LOOK_SECONDS)
        seconds = time.monotonic() - began
        if end in (End.STOPPED, End.TIME):
            _stop(process.pid)
    finally:
        # Whatever is left of it goes with it, also where we are interrupted ourselves.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if end is End.ITSELF and process.returncode != 0:
        end = End.FAILED
    return Usage(used.ru_utime + used.ru_stime, peak, seconds, end)


def tree(pid: int) -> list[int]:
    """A process and its descendants, as far as they live."""
    found, at = [pid], 0
    while at < len(found):
        with contextlib.suppress(OSError):
            for thread in Path(f"/proc/{found[at]}/task").iterdir():
                found += map(int, (thread / "children").read_text(encoding="ascii").split())
        at += 1
    return found


def _in_own_namespace(command: Sequence[str], hosts: Path) -> list[str]:
    rights = "-m" if os.geteuid() == 0 else "-rm"
    return ["unshare", rights, "sh", "-c", 'mount --bind "$0" /etc/hosts && exec "$@"', str(hosts), *command]


def _resident_bytes(pid: int) -> int:
    """Shares with others count in full: what else runs on the machine must not make anybody look small."""
    with contextlib.suppress(OSError):
        return int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1]) * _PAGE_BYTES
    return 0


def _stop(pid: int) -> None:
    """As Ctrl-C does, and wait a while for it."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGINT)
    deadline = time.monotonic() + _GRACE_SECONDS
    while time.monotonic() < deadline:
        if _has_ended(pid):
            return
        time.sleep(_LOOK_SECONDS)


def _heed_interrupts() -> None:
    """In the child: a shell that starts this program in the background makes it, and its children, ignore SIGINT."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def _has_ended(pid: int) -> bool:
    """Without burying it: its CPU time is still to be asked for."""
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
