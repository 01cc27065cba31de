"""Processes of Gossamer that need not import it first: `Forked` is a `Popen` whose process `forker.py` has forked."""

import ctypes
import inspect
import itertools
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from tests.integration.fork_server import MOST_BYTES

_PR_SET_CHILD_SUBREAPER = 36  # prctl(2)
_standing: list["_Forker"] = []
_choosing = threading.Lock()


class _Forker:
    """A process that has imported what its kind of command needs. It ends with this process."""

    def __init__(self, kind: str) -> None:
        # What its processes' parents leave behind becomes ours.
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self.process = subprocess.Popen(
                [sys.executable, Path(__file__).with_name("fork_server.py"), kind, str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
            )
        _standing.append(self)
        self._lock = threading.Lock()

    def fork(self, order: dict[str, object], streams: Sequence[int]) -> int:
        """The id of a new process, a child of ours."""
        message = json.dumps(order).encode()
        assert len(message) <= MOST_BYTES
        with self._lock:
            socket.send_fds(self._socket, [message], streams)
            return int(self._socket.recv(20))


@cache
def _forkers(kind: str) -> "itertools.cycle[_Forker]":
    """Call with the lock held."""
    # Two that take turns: Python orders its sets by a number that each process draws, and a crawl that is resumed must
    # not rely on what it was before.
    return itertools.cycle([_Forker(kind), _Forker(kind)])


def standing() -> set[int]:
    """The ids of the processes that stay until the end of this one."""
    return {forker.process.pid for forker in _standing}


class Forked(subprocess.Popen[str]):
    """`gossamer` with these arguments, all its streams pipes. `constants`: other values for constants of the code, by
    their dotted names (`gossamer.config.policies.HOST_PATIENCE`)."""

    def __init__(self, arguments: Sequence[str], cwd: Path | None, constants: Mapping[str, object]) -> None:
        self._constants = constants
        pipe = subprocess.PIPE
        super().__init__(arguments, stdin=pipe, stdout=pipe, stderr=pipe, text=True, cwd=cwd)

    def _execute_child(self, *given: object) -> None:
        names = inspect.signature(subprocess.Popen._execute_child).parameters  # type: ignore[attr-defined]
        told = dict(zip(names, (self, *given), strict=True))
        arguments = told["args"]
        assert isinstance(arguments, list)
        order: dict[str, object] = {
            "arguments": arguments,
            "directory": os.path.abspath(str(told["cwd"] or ".")),
            "environment": dict(os.environ),
            "constants": self._constants,
        }
        pipes = [told[name] for name in ("p2cread", "p2cwrite", "c2pread", "c2pwrite", "errread", "errwrite")]
        with _choosing:
            forker = next(_forkers("serve" if "serve" in arguments[:1] else "crawl"))
        self.pid = forker.fork(order, [int(str(pipes[place])) for place in (0, 3, 5)])
        self._child_created = True
        self._close_pipe_fds(*pipes)  # type: ignore[attr-defined]
